"""The report's chapter on rollouts, from entries as the audit log holds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from tests.report.handmade import handmade_plan

from clusterwright import chain
from clusterwright.cli.stacks.audit import audit
from clusterwright.report.html import report_files
from clusterwright.report.rollout_history import rollouts
from clusterwright.report.sections.rollouts import rollouts_section
from clusterwright.rollout.audit import path_of

NAME = "20260301T021109-4bfb52aa"


def entry(event: str, **body: Any) -> dict[str, Any]:
    return {"at": "2026-03-01T02:11:09.000+00:00", "rollout": NAME, "event": event, **body}


STARTED = entry(
    "started",
    who="ines",
    host="control",
    reason="deeper <queues>",
    manifest="4bfb52aa" * 8,
    revision={"commit": "0123456789abcdef", "is_modified": False},
    waves=[
        {"layer": "pod0", "is_canary": True, "devices": ["a", "b"]},
        {"layer": "pod0", "is_canary": False, "devices": ["c"]},
    ],
    answers=[{"what": "policy: r1 keeps 50%", "reason": "night of maintenance", "who": "ines"}],
    gates=[
        {"gate": "files", "asks": "every device is read back", "deadline_s": None, "budget": None},
        {"gate": "isolation", "asks": "every node is closed", "deadline_s": 60, "budget": 0},
    ],
    left_out=[{"gate": "verdicts", "why": "left out by its operator: hosts of a lab, without GPUs"}],
)


def test_a_rollout_is_put_together_from_its_entries() -> None:
    first = entry("wave", wave=1, devices={"a": "ok", "b": "full disk"}, duration_s=2.0, stopped="1 devices")
    again = entry("wave", wave=1, devices={"a": "ok", "b": "ok"}, duration_s=3.0, stopped="")

    (found,) = rollouts([STARTED, first, again])

    assert (found.end, found.waves, found.waves_done, found.failed, found.duration_s) == ("open", 2, 1, {}, 5.0)


def test_whoever_had_a_rollout_go_on_is_named_with_why() -> None:
    again = {**STARTED, "event": "resumed", "who": "ben", "reason": "the host is back"}

    (found,) = rollouts([STARTED, again, {**again}])

    assert (found.by, found.reason) == ("ines@control; ben@control", "deeper <queues>; the host is back")


def test_what_is_exported_is_what_the_report_shows(tmp_path: Path) -> None:
    head = chain.EMPTY
    path_of(tmp_path).parent.mkdir()
    for each in (STARTED, AGAIN, entry("ended", end="done", stacks=[])):
        head = chain.append(path_of(tmp_path), head, each)
    done = CliRunner().invoke(audit, ["export", str(tmp_path)])
    assert done.exit_code == 0, done.output

    exported = json.loads(done.output)
    assert exported["head"] == {"count": head.count, "digest": head.digest}
    (again,) = exported["rollouts"]
    (shown,) = rollouts(chain.read(path_of(tmp_path)))
    assert rollouts(again["entries"]) == (shown,)
    page = report_files(handmade_plan(), (), (shown,))["index.html"]
    for text in (again["rollout"], "ines@control", "4bfb52aa4bfb", "0123456789ab", "1 of 2", "done"):
        assert text in page


def test_a_spec_with_changes_beyond_its_commit_is_shown_as_such() -> None:
    (clean,) = rollouts([STARTED])
    (changed,) = rollouts([{**STARTED, "revision": {**STARTED["revision"], "is_modified": True}}])

    assert "0123456789ab, changed" not in report_files(handmade_plan(), (), (clean,))["index.html"]
    assert "0123456789ab, changed" in report_files(handmade_plan(), (), (changed,))["index.html"]


def test_the_report_shows_rollouts_and_what_somebody_answered_for() -> None:
    ended = entry("ended", end="stopped", stacks=[])

    page = report_files(handmade_plan(), (), rollouts([STARTED, ended]))["index.html"]

    assert "deeper &lt;queues&gt;" in page
    assert "night of maintenance" in page
    assert 'id="rollouts"' in page
    assert 'id="rollouts"' not in report_files(handmade_plan(), ())["index.html"]


def test_waves_that_were_added_and_warnings_are_in_the_report() -> None:
    lost = "done by svc-v02n0: svc-v01n0: the mesh has had no route to it for 16 s"
    added = entry("wave", wave=3, layer="pod1", is_canary=False, devices={"z": "ok"}, duration_s=1.0, stopped="")
    warned = {**added, "warnings": {"p00r00": [lost], "p00r01": [lost]}}
    stacks = [{"stack": "c-pod0", "ok": True, "counts": {}, "duration_s": 1.0, "warnings": {"p00r09": [lost]}}]

    (found,) = rollouts([STARTED, warned, entry("ended", end="done", stacks=stacks)])

    assert (found.waves, found.attempts[0].layer) == (3, "pod1")
    assert found.warnings == (("wave 3", lost, ("p00r00", "p00r01")), ("c-pod0", lost, ("p00r09",)))
    page = report_files(handmade_plan(), (), (found,))["index.html"]
    assert "p00r00 and 1 more" in page
    assert lost in page


def answer(gate: str, asked: int, *told: str, **wrong: str) -> dict[str, Any]:
    return {"gate": gate, "asked": asked, "wrong": wrong, "told": list(told), "duration_s": 1.0}


STOPPED = entry(
    "wave",
    wave=1,
    devices={"a": "full disk", "b": "is open: egress (answers)"},
    duration_s=61.2,
    stopped="1 devices failed the gate isolation, 0 are allowed",
    gates=[answer("files", 1), answer("isolation", 1, "b was seen late", b="is open: egress (answers)")],
)
RESUMED = {
    **STARTED,
    "event": "resumed",
    "answers": [{"what": "gate not asked: isolation", "reason": "the watch is mended at night", "who": "jan"}],
    "gates": STARTED["gates"][:1],
    "left_out": [{"gate": "isolation", "why": "left out by its operator: the watch is mended at night"}],
}
AGAIN = entry("wave", wave=1, devices={"a": "ok", "b": "ok"}, duration_s=4.0, stopped="", gates=[answer("files", 2)])


def tables_of(*entries: dict[str, Any]) -> dict[str, list[str]]:
    """The tables of the chapter by name, each row as its cells' text, in the order of the page."""
    section = rollouts_section(rollouts(entries))
    assert section is not None
    return {
        table.name: [" | ".join(cell.text for cell in row) for row in table.rows] + ([table.note] if table.note else [])
        for block in section.blocks
        for table in block.tables
    }


def test_the_gates_of_a_rollout_are_shown_with_their_limits_answers_and_reasons() -> None:
    tables = tables_of(STARTED, STOPPED, RESUMED, AGAIN)

    assert tables[f"gates-{NAME}"] == [
        "files | every device is read back | – | the rollout's | 3 | 0",
        "isolation | every node is closed | 60 s | 0 | 1 | 1",
        "verdicts | not asked: left out by its operator: hosts of a lab, without GPUs | – | – | – | –",
        "isolation | not asked: left out by its operator: the watch is mended at night | – | – | – | –",
    ]
    assert tables[f"gate-waves-{NAME}"][:2] == [
        f"1, canary | pod0 | 2 | 1 well | 1 of 1 not well | 61 | stopped: {STOPPED['stopped']}",
        "1, canary | pod0 | 2 | 2 well | not asked | 4 | finished",
    ]
    assert tables[f"complaints-{NAME}"] == [
        "1 | did not take its files | a | yes | full disk",
        "1 | isolation | b | yes | is open: egress (answers)",
        "1 | isolation | – | no | b was seen late",
        f"All in full: clusterwright audit show ROOT {NAME}",
    ]
    assert [row.split(" | ")[1:] for row in tables["overrides"]] == [
        ["policy: r1 keeps 50%", "night of maintenance", "ines"],
        ["gate not asked: isolation", "the watch is mended at night", "jan"],
    ]


def test_a_record_without_its_gates_shows_those_that_answered() -> None:
    old = {key: value for key, value in STARTED.items() if key not in ("gates", "left_out")}
    bare = {key: value for key, value in AGAIN.items() if key != "gates"}

    answered = tables_of(old, AGAIN)

    assert answered[f"gates-{NAME}"] == ["files | not noted in this record | – | the rollout's | 2 | 0"]
    assert f"gates-{NAME}" not in tables_of(old, bare)


def test_many_complaints_and_many_rollouts_stay_readable() -> None:
    wrong = {f"n{number:02d}": "is open " * 40 for number in range(30)}
    many = entry("wave", wave=1, devices=wrong, duration_s=1.0, stopped="30", gates=[answer("isolation", 30, **wrong)])
    log = [{**STARTED, "rollout": f"{NAME}-{number:02d}"} for number in range(12)]

    tables = tables_of(STARTED, many)[f"complaints-{NAME}"]
    section = rollouts_section(rollouts(log))

    assert tables[19].endswith(" …")
    assert len(tables[19]) < 240
    assert tables[20:] == [f"10 more, and all in full: clusterwright audit show ROOT {NAME}"]
    assert section is not None
    assert [block.heading for block in section.blocks[1:]] == [
        f"Between the waves of {NAME}-{number:02d}" for number in range(11, 1, -1)
    ]
    assert "Of the 12 that went in waves the last 10 are shown" in section.blocks[0].text
