"""Refreshing and destroying leave a record: who, why, from which manifest, what was found or removed, how it ended."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import command

from clusterwright import chain
from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.automation import Ran
from clusterwright.deploy.pulumi.events import Event, EventKind
from clusterwright.deploy.pulumi.recorded_stack import RecordedStack
from clusterwright.rollout.stack_change import MOST_LINES, UnitReports, destroyed, refreshed

SPEC = folder("inventory") / "lab-roce.yaml"


@pytest.mark.usefixtures("pulumi_on_the_path")
def test_a_refresh_and_a_removal_are_in_the_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = partial(command, cwd=tmp_path)
    root = tmp_path / "up"
    here = (SPEC, "--root", root, "--pod", "services-rack0")
    assert run("up", *here, "--upper", "--reason", "a test").returncode == 0
    device = root / "flash" / "svc-v00n0"
    file = next(path for path in sorted((device / "etc").rglob("*.conf")) if path.is_file())
    file.write_text(file.read_text() + "# by hand\n")

    watched = run("refresh", *here, "--reason", "night watch")
    assert watched.returncode == 0
    assert "1 of 2 devices hold something else: svc-v00n0. The lines stand above" in watched.stderr
    assert watched.stdout.count("# by hand") == 1
    refused = run("destroy", SPEC, "--root", root, "--upper", "--yes")
    assert refused.returncode == 2
    assert "lab-roce-services-rack0 depends on lab-roce-upper" in refused.stderr
    monkeypatch.delenv("CLUSTERWRIGHT_REASON")
    silent = run("destroy", *here, "--yes")
    assert silent.returncode == 2
    assert "say why for the audit log" in silent.stderr
    assert run("destroy", *here, "--yes", "--reason", "moves to another hall").returncode == 0

    entries = chain.read(root / "audit" / "rollouts.jsonl")
    begun = [(entry["action"], entry["reason"]) for entry in entries if entry["event"] == "started"]
    assert begun == [("up", "a test"), ("refresh", "night watch"), ("destroy", "moves to another hall")]
    found, removed = (entry for entry in entries if entry["event"] == "stack")
    assert found["devices"][device.name] == "differs"
    assert [line for lines in found["said"].values() for line in lines if "# by hand" in line]
    assert set(removed["devices"].values()) == {"removed"}
    assert removed["devices"].keys() == found["devices"].keys()
    assert found["manifest"] == removed["manifest"] != ""
    assert entries[-1]["end"] == "done"

    document: dict[str, Any] = json.loads(run("audit", "export", root).stdout)
    assert [each["entries"][0]["action"] for each in document["rollouts"]] == ["up", "refresh", "destroy"]
    shown = run("audit", "show", root).stdout
    assert "refresh  done" in shown
    assert "1 differs" in shown
    assert f"devices {len(removed['devices'])} removed" in shown


BEFORE = RecordedStack({"a": "1", "b": "2", "c": "3"}, {})


def test_what_a_refresh_found_is_told_device_by_device() -> None:
    after = RecordedStack({"a": "1", "b": ""}, {})
    ran = Ran("s", True, {}, 1.0)

    assert refreshed(BEFORE, after, ran, UnitReports()).devices == {"a": "as given", "b": "differs", "c": "gone"}
    assert set(refreshed(BEFORE, None, ran, UnitReports()).devices.values()) == {"not known"}


def test_what_was_not_removed_is_told_with_its_reason() -> None:
    after = RecordedStack({"b": "2", "c": "3"}, {"c": "unreachable"})
    ran = Ran("s", False, {}, 1.0, "b and c failed")

    assert destroyed(BEFORE, after, ran, UnitReports()).devices == {"a": "removed", "b": "kept", "c": "unreachable"}


def test_lines_in_the_record_are_bounded_and_counted() -> None:
    said = UnitReports()
    for unit in ("r1", "r2"):
        said(Event(EventKind.MESSAGE, "s", unit, text="\n".join(map(str, range(MOST_LINES - 10)))))

    found = said.of("s")

    assert len(found["r1"]) == MOST_LINES - 10
    assert found["r2"] == (*map(str, range(10)), f"... and {MOST_LINES - 20} more lines")
