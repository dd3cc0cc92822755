"""The audit log of keys: one line an event, chained, so that no line can be changed or moved.

A chain alone does not show that its end was cut off: the ledger holds how many lines there were and the last digest,
and ``keys audit`` prints both, to be kept where who changes the files does not come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from clusterwright import chain
from clusterwright.chain import EMPTY, ChainError, Head

__all__ = ["EMPTY", "AuditError", "AuditLog", "Head"]

AuditError = ChainError


@dataclass(frozen=True, slots=True)
class AuditLog:
    """A file of JSON lines that only grows."""

    path: Path

    def append(self, head: Head, on: date, event: Mapping[str, str | int]) -> Head:
        """Write one event behind ``head`` and flush it; returns the new end. Raises ClusterwrightError."""
        return chain.append(self.path, head, {"on": on.isoformat(), **event})

    def check(self, known: Head) -> Head:
        """The log's end, after every line was compared with the one before.

        A log may be one event ahead of ``known``, which a crash leaves; it is never behind. Raises AuditError.
        """
        entries = chain.read(self.path)
        if len(entries) < known.count:
            raise AuditError(
                f"{self.path}: {len(entries)} lines, but {known.count} were written; the end of the log was cut off"
            )
        if chain.head_of(entries[: known.count]) != known:
            raise AuditError(f"{self.path}:{known.count}: not the line that the ledger knows; the log was rewritten")
        return chain.head_of(entries)
