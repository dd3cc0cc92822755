"""Append-only logs of JSON lines, each with the digest of the one before: a changed or moved line is detected.

A chain alone does not show that its end was cut off: keep its head (the number of lines and the last digest) out of
reach of programs with access to the log.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.durable import flush_folder
from clusterwright.finding import ClusterwrightError
from clusterwright.given_file import read_given

_START = "0" * 64
_BLOCK = 65536
_MOST_BYTES = 1 << 30  # a rollout of 24,576 GPUs writes less than a thousandth of it


class ChainError(ClusterwrightError):
    """The log differs from the lines that were written."""


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a log: the number of lines, and the last one's digest."""

    count: int = 0
    digest: str = _START


EMPTY = Head()


def append(path: Path, head: Head, entry: Mapping[str, Any]) -> Head:
    """Write one entry behind ``head`` and flush it; returns the new end. Raises ClusterwrightError.

    An incomplete last line, left by a power failure or a full disk, is removed first.
    """
    body = {"sequence": head.count + 1, **entry, "previous": head.digest}
    digest = _digest(body)
    line = json.dumps({**body, "digest": digest}) + "\n"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            end = _end_of_last_line(descriptor)
            os.ftruncate(descriptor, end)
            if os.write(descriptor, line.encode()) < len(line.encode()):
                os.ftruncate(descriptor, end)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        flush_folder(path.parent)
    except OSError as error:
        raise ClusterwrightError(f"{path}: {error.strerror}") from error
    return Head(head.count + 1, digest)


def _end_of_last_line(descriptor: int) -> int:
    """Length in bytes of the whole lines of an open log."""
    end = os.fstat(descriptor).st_size
    while end:
        start = max(end - _BLOCK, 0)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def read(path: Path) -> list[dict[str, Any]]:
    """Every entry, each compared with the one before; none if there is no file. Raises ChainError."""
    if not path.exists():
        return []
    try:
        lines = read_given(path, _MOST_BYTES).decode().split("\n")[:-1]
    except UnicodeDecodeError as error:
        raise ChainError(f"{path} cannot be read: {error}") from error
    except ClusterwrightError as error:
        raise ChainError(str(error)) from error
    head, entries = EMPTY, []
    for number, line in enumerate(lines, 1):
        entries.append(_checked(path, head, number, line))
        head = head_of(entries)
    return entries


def head_of(entries: list[dict[str, Any]]) -> Head:
    """The end of a log with these entries."""
    return Head(len(entries), entries[-1]["digest"]) if entries else EMPTY


def _checked(path: Path, head: Head, number: int, line: str) -> dict[str, Any]:
    try:
        entry: dict[str, Any] = json.loads(line)
        body = {name: value for name, value in entry.items() if name != "digest"}
        digest, sequence, previous = entry["digest"], entry["sequence"], entry["previous"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ChainError(f"{path}:{number}: not a line of this log; it was changed") from None
    if digest != _digest(body):
        raise ChainError(f"{path}:{number}: the line was changed after it was written")
    if sequence != number or previous != head.digest:
        raise ChainError(f"{path}:{number}: a line before it is missing, or stands elsewhere")
    return entry


def _digest(body: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
