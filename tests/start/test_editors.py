"""Specs as editors and hooks see them: whole ones and such as extend another, by the schema their first line names."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.golden_files import REFRESH
from tests.start.language_server import LanguageServer, language_server, why_there_is_none

from clusterwright.cli.start.schema import model_names
from clusterwright.spec.hardware.catalogue import load_catalogue
from clusterwright.spec.schema.check import accepts
from clusterwright.spec.schema.overlay import overlay_of
from clusterwright.spec.text.reader import read_document

REPOSITORY = Path(__file__).parents[2]
SCHEMAS = REPOSITORY / "inventory/schema"
SPECS = tuple(sorted((REPOSITORY / "inventory").glob("*.yaml")))
EXAMPLES = tuple(
    file
    for file in sorted((REPOSITORY / "tests/rules/examples").glob("*/good.yaml"))
    if "kind: hardware" not in file.read_text()
)
SCHEMA_LINE = "# yaml-language-server: $schema=schema/cluster.schema.json\n"
# What is wrong in a file that extends another is as wrong there.
SLIPS = {
    "a key of another name": ("extends: lab-roce.yaml\nnodes:\n  - {name: compute, cuont: 3}\n", "cuont"),
    "a text for a number": ('extends: lab-roce.yaml\nnodes:\n  - {name: compute, count: "3"}\n', "integer"),
    "a choice that is none": ("extends: lab-roce.yaml\nscheduler: {kind: slum}\n", "slurm"),
    "a key of another name in a list or one": (
        "extends: lab-roce.yaml\nnccl:\n  - {name: a, versoin: '2'}\n",
        "versoin",
    ),
    "nothing is said of the rest": ("version: 1\nname: lab\n", "site"),
}


def same_or_refresh(file: Path, content: Any) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    if REFRESH:
        file.write_text(text)
    assert file.read_text() == text, f"{file.relative_to(REPOSITORY)} is stale; `make golden` writes it"


def test_the_published_schemas_name_the_models_and_what_extends_a_spec() -> None:
    cluster = json.loads((SCHEMAS / "cluster.schema.json").read_text())
    for (place, key), names in model_names(load_catalogue()).items():
        cluster["$defs"][place]["properties"][key]["examples"] = names
    same_or_refresh(SCHEMAS / "cluster.schema.json", cluster)
    same_or_refresh(SCHEMAS / "overlay.schema.json", overlay_of(cluster))


def judged(folder: Path, *files: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("check-jsonschema")
    command = [str(program), "--schemafile", str(folder / "cluster.schema.json"), *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_check_jsonschema_takes_specs_and_what_extends_one() -> None:
    done = judged(SCHEMAS, *(SCHEMAS.parent / f"{name}.yaml" for name in ("lab-sonic", "lab-tenants", "rsc")))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("files", [SPECS, EXAMPLES], ids=["references", "examples of rules"])
def test_the_schema_takes_every_sound_file_as_it_is_written(files: tuple[Path, ...]) -> None:
    assert not [file for file in files if not accepts(read_document(file).data, "cluster")]


@pytest.mark.parametrize(("text", "word"), SLIPS.values(), ids=SLIPS)
def test_check_jsonschema_sees_slips_in_both(text: str, word: str, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(text)
    done = judged(SCHEMAS, tmp_path / "spec.yaml")
    assert done.returncode == 1
    assert word in done.stdout


@pytest.fixture(scope="module")
def editor() -> Iterator[LanguageServer]:
    if reason := why_there_is_none():
        pytest.skip(reason)
    with language_server() as server:
        yield server


@pytest.mark.parametrize("file", SPECS, ids=lambda file: file.stem)
def test_an_editor_underlines_nothing_in_a_sound_spec(file: Path, editor: LanguageServer) -> None:
    assert file.read_text().startswith(SCHEMA_LINE)
    assert editor.objections(file) == []


@pytest.mark.parametrize(("name", "slip"), SLIPS.items(), ids=SLIPS)
def test_an_editor_underlines_slips(name: str, slip: tuple[str, str], editor: LanguageServer) -> None:
    text, word = slip
    file = REPOSITORY / "inventory" / f"slip-{name.replace(' ', '-')}.yaml"
    assert any(word in said for said in editor.objections(file, SCHEMA_LINE + text))


@pytest.mark.parametrize("first", ["version: 1\nname: lab\n", "extends: lab-roce.yaml\n"], ids=["whole", "extends"])
def test_an_editor_completes_models(first: str, editor: LanguageServer) -> None:
    lines = ["fabrics:", "  - name: backend", "    tiers:", "      - role: rtsw", "        model: "]
    text = SCHEMA_LINE + first + "\n".join(lines) + "\n"
    file = REPOSITORY / "inventory" / f"completed-{len(first)}.yaml"
    editor.objections(file, text)
    offered = editor.completions(file, text.count("\n") - 1, len(lines[-1]))
    assert {"minipack2", "sn5600", "dcs-7804r3"} <= set(offered)
    assert "dgx-h100" not in offered
