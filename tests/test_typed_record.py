"""Records from JSON: a field of another type is told, whatever the file says."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from clusterwright.deploy.pulumi.units import Stack
from clusterwright.finding import ClusterwrightError
from clusterwright.rollout import deployed, ledger
from clusterwright.rollout.approval import load_approval
from clusterwright.rollout.deployed import Deployed
from clusterwright.typed_record import checked

VALUES: tuple[object, ...] = (None, [], {}, 3, True, "x", [1], [{}], {"a": 1})
DEPLOYED = {"spec": "a", "program": "0.1", "trees": {"gpu": "b"}}
UNDER_WAY = {"name": "x", "manifest": "y", "stacks": ["z"], "waves": [], "finished": [1], "paused": ""}
APPROVED = {"format": 1, "manifest": "a", "base": "b", "manifests": {"x": "y"}, "text": "t"}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("key", DEPLOYED)
def test_a_note_of_a_stack(tmp_path: Path, key: str, value: object) -> None:
    stack = Stack(name="lab-pod0", layer="pod0", pod="pod0", units=())
    file = tmp_path / deployed.FOLDER / "lab-pod0.json"
    file.parent.mkdir()
    file.write_text(json.dumps({**DEPLOYED, key: value}))
    _read_or_refused(lambda: deployed.recorded(tmp_path, [stack]))


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("key", UNDER_WAY)
def test_a_rollout_that_is_under_way(tmp_path: Path, key: str, value: object) -> None:
    file = tmp_path / ledger.FOLDER / "under-way.json"
    file.parent.mkdir()
    file.write_text(json.dumps({**UNDER_WAY, key: value}))
    _read_or_refused(lambda: ledger.load(tmp_path))


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("key", APPROVED)
def test_an_approval(tmp_path: Path, key: str, value: object) -> None:
    file = tmp_path / "approved.json"
    file.write_text(json.dumps({**APPROVED, key: value}))
    _read_or_refused(lambda: load_approval(file))


def _read_or_refused(read: Callable[[], object]) -> None:
    """Nothing but one clear error; a string in the place of a list, say, may be read as one."""
    with suppress(ClusterwrightError):
        read()


def test_a_field_of_another_type_is_refused() -> None:
    assert checked(Deployed("a", "b", {"c": "d"})).spec == "a"
    for wrong in (Deployed(1, "b", {}), Deployed("a", "b", {"c": 1}), Deployed("a", "b", [])):  # type: ignore[arg-type, dict-item]
        with pytest.raises(TypeError):
            checked(wrong)
