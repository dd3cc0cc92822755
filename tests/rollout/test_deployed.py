"""What stacks were brought to: notes on disk that a preview compares with, and what is said when one is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.units import Stack
from clusterwright.deploy.store import Store
from clusterwright.finding import ClusterwrightError
from clusterwright.rollout.deployed import keep_spec, kept_spec, recorded
from clusterwright.spec.load import load_spec

STACK = Stack("lab-roce-pod0", "pod0", "pod0", ())


@pytest.mark.parametrize(
    ("content", "told"),
    [("{", "JSONDecodeError"), ("{}", "KeyError"), ('{"spec": "", "program": "", "trees": 7}', "TypeError")],
)
def test_a_damaged_note_is_named_with_what_to_do(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "deployed" / "lab-roce-pod0.json"
    file.parent.mkdir()
    file.write_text(content)

    with pytest.raises(ClusterwrightError) as refused:
        recorded(tmp_path, [STACK])

    assert str(refused.value) == (
        f"{file}: cannot be read ({told}). It only serves previews: remove it, and the next "
        "`clusterwright up` writes it again."
    )


def test_a_stack_without_a_note_is_left_out(tmp_path: Path) -> None:
    assert recorded(tmp_path, [STACK]) == {}


def test_a_kept_spec_brings_all_files_that_it_names(tmp_path: Path) -> None:
    examples = Path(__file__).parents[1] / "rules" / "examples"
    file = tmp_path / "spec.yaml"
    catalogue = (examples / "CW180" / "known-model.yaml").read_text().replace("port_config.ini", "vendor/ports.ini")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "models.yaml").write_text(catalogue)
    (tmp_path / "own" / "vendor").mkdir()
    (tmp_path / "own" / "vendor" / "ports.ini").write_text((examples / "CW180" / "port_config.ini").read_text())
    (tmp_path / "own" / "base.yaml").write_text(
        f"extends: {folder('inventory')}/lab-sonic.yaml\nhardware: [models.yaml]\n"
        "chip_settings: [{name: minipack2, file: fuji.json}]\n"
    )
    (tmp_path / "own" / "fuji.json").write_text((examples / "CW433" / "fuji.json").read_text())
    file.write_text("extends: own/base.yaml\n")
    store = Store(tmp_path / "objects")
    digest = keep_spec(store, load_spec(file))
    for path in (tmp_path / "own").rglob("*.*"):
        path.unlink()

    with kept_spec(store, digest) as kept:
        spec = load_spec(kept)

    assert spec.catalogue["switch-of-ours"].blocks[0].name == "osfp"
    assert spec.chip_settings[0].platform is not None
