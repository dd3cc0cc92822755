"""The audit log: one line an event, each with the digest of the line before, so that no line can be changed or moved.

A chain alone does not show that its end was cut off: the ledger holds how many lines there were and the last digest,
and ``keys audit`` prints both, to be kept where who changes the files does not come.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from clusterwright.finding import ClusterwrightError
from clusterwright.keys.durable import flush_folder

_START = "0" * 64


class AuditError(ClusterwrightError):
    """The log is not what was written."""


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a log: how many lines, and the last one's digest."""

    count: int = 0
    digest: str = _START


EMPTY = Head()


@dataclass(frozen=True, slots=True)
class AuditLog:
    """A file of JSON lines that only grows."""

    path: Path

    def append(self, head: Head, on: date, event: Mapping[str, str | int]) -> Head:
        """Write one event behind ``head`` and flush it; returns the new end. Raises ClusterwrightError."""
        body = {"sequence": head.count + 1, "on": on.isoformat(), **event, "previous": head.digest}
        digest = _digest(body)
        line = json.dumps({**body, "digest": digest}) + "\n"
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, line.encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            flush_folder(self.path.parent)
        except OSError as error:
            raise ClusterwrightError(f"{self.path}: {error.strerror}") from error
        return Head(head.count + 1, digest)

    def check(self, known: Head) -> Head:
        """The log's end, after every line was compared with the one before.

        A log may be one event ahead of ``known``, which a crash leaves; it is never behind. Raises AuditError.
        """
        head = Head()
        passed_known = known.count == 0
        try:
            lines = self.path.read_text().split("\n")[:-1] if self.path.exists() else []
        except (OSError, UnicodeDecodeError) as error:
            raise AuditError(f"{self.path} cannot be read: {error}") from error
        for number, line in enumerate(lines, 1):
            head = self._next(head, number, line)
            if head.count == known.count:
                if head.digest != known.digest:
                    raise AuditError(f"{self.path}:{number}: not the line that the ledger knows; the log was rewritten")
                passed_known = True
        if not passed_known:
            raise AuditError(
                f"{self.path}: {head.count} lines, but {known.count} were written; the end of the log was cut off"
            )
        return head

    def _next(self, head: Head, number: int, line: str) -> Head:
        try:
            body = json.loads(line)
            digest = body.pop("digest")
            sequence, previous = body["sequence"], body["previous"]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise AuditError(f"{self.path}:{number}: not a line of this log; it was changed") from None
        if digest != _digest(body):
            raise AuditError(f"{self.path}:{number}: the line was changed after it was written")
        if sequence != number or previous != head.digest:
            raise AuditError(f"{self.path}:{number}: a line before it is missing, or stands elsewhere")
        return Head(number, digest)


def _digest(body: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
