"""The log that only grows: a line that was torn off is no obstacle, and a full disk leaves none."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from clusterwright import chain
from clusterwright.finding import ClusterwrightError


def test_a_torn_last_line_is_taken_out_by_the_next(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    head = chain.append(log, chain.EMPTY, {"event": "one"})
    with log.open("a") as file:
        file.write('{"sequence": 2, "event": "to' + "r" * 100_000)

    assert [entry["event"] for entry in chain.read(log)] == ["one"]
    chain.append(log, head, {"event": "two"})

    assert [entry["event"] for entry in chain.read(log)] == ["one", "two"]


def test_a_disk_that_takes_half_a_line_keeps_none_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log.jsonl"
    head = chain.append(log, chain.EMPTY, {"event": "one"})
    whole = log.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:20]))

    with pytest.raises(ClusterwrightError, match=os.strerror(errno.ENOSPC)):
        chain.append(log, head, {"event": "two"})

    assert log.read_bytes() == whole
