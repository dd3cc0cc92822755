"""Systems: every one that the catalogue may name has a file, and says where its figures come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright.finding import Finding, SpecError
from clusterwright.spec.hardware.catalogue import load_catalogue
from clusterwright.spec.hardware.systems import UNMANAGED, systems

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", [*systems(), UNMANAGED])
def test_the_catalogue_may_name_every_system_that_has_a_file(name: str, tmp_path: Path) -> None:
    assert not _findings(tmp_path, name)


@pytest.mark.parametrize(("name", "fix"), [("soniq", 'Did you mean "sonic"?'), ("xyz", "Use one of: eos, external")])
def test_another_system_is_refused_on_its_line(name: str, fix: str, tmp_path: Path) -> None:
    (finding,) = _findings(tmp_path, name)
    assert finding.message == f'"{name}" is no system that is known.'
    assert finding.hint.startswith(fix)
    assert finding.position.line == 34


def _findings(folder: Path, system: str) -> tuple[Finding, ...]:
    """What is wrong with a catalogue of which one switch, without a chip's name, runs ``system``."""
    text = (CHECKOUT / "inventory/hardware/nvidia-infiniband.yaml").read_text(encoding="utf-8")
    runs = "network_os: unmanaged\n    asic: quantum\n"
    assert runs in text
    (folder / "own.yaml").write_text(text.replace(runs, f"network_os: {system}\n", 1))
    try:
        load_catalogue(folder)
    except SpecError as error:
        return error.findings
    return ()


def test_a_file_is_called_like_its_system() -> None:
    assert sorted(systems()) == sorted(path.stem for path in (CHECKOUT / "inventory/systems").glob("*.yaml"))
