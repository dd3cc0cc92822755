"""The audit log shows every change, also one that nobody sees in a single line."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from clusterwright.chain import EMPTY, ChainError, Head
from clusterwright.keys.ledger import AuditLog

DAY = date(2026, 1, 1)


def written(tmp_path: Path) -> tuple[AuditLog, Head]:
    log, head = AuditLog(tmp_path / "audit.jsonl"), EMPTY
    for number in range(5):
        head = log.append(head, DAY, {"event": "rotate", "key": "kek", "version": number})
    return log, head


def test_an_untouched_log_is_sound(tmp_path: Path) -> None:
    log, head = written(tmp_path)
    assert log.check(head) == head


def test_one_event_that_a_crash_left_ahead_of_the_ledger_is_sound(tmp_path: Path) -> None:
    log, head = written(tmp_path)
    ahead = log.append(head, DAY, {"event": "forget", "key": "kek", "version": 6})
    assert log.check(head) == ahead


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [lines[0], lines[1].replace("kek", "kex"), *lines[2:]], ":2: the line was changed"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], ":2: a line before it is missing"),
        (lambda lines: [lines[0], *lines[2:]], ":2: a line before it is missing"),
        (lambda lines: lines[:-1], "4 lines, but 5 were written; the end of the log was cut off"),
        (lambda lines: [], "0 lines, but 5 were written"),
        (lambda lines: [*lines[:2], "{}", *lines[3:]], ":3: not a line of this log"),
        (lambda lines: [*lines[:2], "\x00", *lines[3:]], ":3: not a line of this log"),
    ],
)
def test_tampering_is_found(tmp_path: Path, change: object, message: str) -> None:
    log, head = written(tmp_path)
    lines = log.path.read_text().splitlines()
    log.path.write_text("".join(f"{line}\n" for line in change(lines)))  # type: ignore[operator] # a lambda of the table above
    with pytest.raises(ChainError, match=message):
        log.check(head)


def test_a_log_that_was_written_anew_in_whole_is_found(tmp_path: Path) -> None:
    log, head = written(tmp_path)
    log.path.unlink()
    forged = EMPTY
    for number in range(5):
        forged = log.append(forged, DAY, {"event": "rotate", "key": "kek", "version": number + 1})
    with pytest.raises(ChainError, match="the log was rewritten"):
        log.check(head)


def test_every_line_names_day_event_key_and_version(tmp_path: Path) -> None:
    log, _ = written(tmp_path)
    body = json.loads(log.path.read_text().splitlines()[2])
    assert {name: body[name] for name in ("sequence", "on", "event", "key", "version")} == {
        "sequence": 3,
        "on": "2026-01-01",
        "event": "rotate",
        "key": "kek",
        "version": 2,
    }
