"""The kernel's limits are the machine's: the last lab to go puts back what the first one found."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright.extras.lab import running
from clusterwright.extras.lab.cut import Cut
from clusterwright.extras.lab.running import LabState, raise_limits, read_state, remove_lab, write_state


@pytest.fixture
def limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(running, "LABS", tmp_path / "labs")
    monkeypatch.setattr(running, "_LIMITS", tmp_path / "labs" / "limits.json")
    path = tmp_path / "gc_thresh3"
    path.write_text("1024\n")
    return path


def test_limits_come_back_with_the_last_lab(limit: Path) -> None:
    for name, wanted in (("one.backend", 4096), ("two.backend", 8192)):
        write_state(name, LabState("spec.yaml", "backend", Cut()))
        raise_limits({str(limit): wanted})
        assert int(limit.read_text()) == wanted
    remove_lab("one.backend")
    assert int(limit.read_text()) == 8192
    remove_lab("two.backend")
    assert limit.read_text() == "1024\n"


def test_a_limit_that_suffices_stays(limit: Path) -> None:
    write_state("one.backend", LabState("spec.yaml", "backend", Cut()))
    raise_limits({str(limit): 512})
    assert limit.read_text() == "1024\n"


@pytest.mark.usefixtures("limit")
def test_a_state_is_read_as_written() -> None:
    state = LabState(
        "spec.yaml", "backend", Cut(("pod0",), 3, None, 8), (("ctsw-p00-00", None), ("rtsw-p00r00", "eth8/1/1"))
    )
    write_state("one.backend", state)
    assert read_state("one.backend") == state
