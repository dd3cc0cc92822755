"""The ledger: every version of every key of the schedule, its date and its wrapping.

It holds no key in clear. Wrapping keys exist only in the service; a destroyed data key keeps its number and the
wrapping version that could still unwrap old copies of it.

The audit log beside it has one line an event, chained to detect changed or moved lines. A chain alone does not show
that its end was cut off: the ledger records the number of lines and the last digest, and ``keys audit`` prints both, to
be kept out of reach of programs with access to the files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from clusterwright import chain, durable
from clusterwright.chain import EMPTY, ChainError, Head
from clusterwright.finding import ClusterwrightError


@dataclass(frozen=True, slots=True)
class AuditLog:
    """An append-only file of JSON lines."""

    path: Path

    def append(self, head: Head, on: date, event: Mapping[str, str | int]) -> Head:
        """Write one event behind ``head`` and flush it; returns the new end. Raises ClusterwrightError."""
        return chain.append(self.path, head, {"on": on.isoformat(), **event})

    def check(self, recorded: Head) -> Head:
        """The log's end, after each line was compared with the one before.

        After a crash the log may hold one event more than ``recorded``, never fewer. Raises ChainError.
        """
        entries = chain.read(self.path)
        if len(entries) < recorded.count:
            raise ChainError(
                f"{self.path}: {len(entries)} lines, but {recorded.count} were written; the end of the log was cut off"
            )
        if chain.head_of(entries[: recorded.count]) != recorded:
            raise ChainError(f"{self.path}:{recorded.count}: not the line that the ledger knows; the log was rewritten")
        return chain.head_of(entries)


_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a key.

    ``wrapped`` is None for wrapping keys and for destroyed versions; ``under`` is the last version of the wrapping key
    used for it."""

    number: int
    born: date
    wrapped: str | None = None
    under: int | None = None
    destroyed: date | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """Versions by key, oldest first, and the end of the audit log."""

    versions: dict[str, tuple[Version, ...]]
    head: Head = EMPTY

    def of(self, key: str) -> tuple[Version, ...]:
        """All versions of a key, destroyed ones too."""
        return self.versions.get(key, ())

    def live(self, key: str) -> tuple[Version, ...]:
        """The versions not destroyed."""
        return tuple(version for version in self.of(key) if version.destroyed is None)

    def with_version(self, key: str, version: Version) -> Ledger:
        """This ledger with ``version`` added, or replacing the one of the same number."""
        versions = {existing.number: existing for existing in self.of(key)}
        versions[version.number] = version
        ordered = tuple(versions[number] for number in sorted(versions))
        return replace(self, versions={**self.versions, key: ordered})


def read_ledger(path: Path) -> Ledger:
    """The ledger at ``path``, empty if there is no file. Raises ClusterwrightError for a damaged one."""
    if not path.exists():
        return Ledger({})
    try:
        document = json.loads(path.read_bytes())
        if document["format"] != _FORMAT:
            raise ClusterwrightError(f"{path}: written by another release of clusterwright; use that one")
        versions = {}
        for key, rows in document["keys"].items():
            versions[key] = tuple(_version(row) for row in rows)
        return Ledger(versions, Head(document["audit"]["count"], document["audit"]["digest"]))
    except OSError as error:
        raise ClusterwrightError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ClusterwrightError(f"{path}: the ledger is damaged. Restore it from a copy.") from None


def _version(row: Mapping[str, Any]) -> Version:
    return Version(
        number=row["number"],
        born=date.fromisoformat(row["born"]),
        wrapped=row["wrapped"],
        under=row["under"],
        destroyed=None if row["destroyed"] is None else date.fromisoformat(row["destroyed"]),
    )


def _row(version: Version) -> dict[str, Any]:
    return {
        "number": version.number,
        "born": version.born.isoformat(),
        "wrapped": version.wrapped,
        "under": version.under,
        "destroyed": None if version.destroyed is None else version.destroyed.isoformat(),
    }


def write_ledger(path: Path, ledger: Ledger) -> None:
    """Replace the ledger. Raises ClusterwrightError."""
    rows_by_key = {}
    for key, versions in sorted(ledger.versions.items()):
        rows_by_key[key] = [_row(version) for version in versions]
    document = {
        "format": _FORMAT,
        "audit": {"count": ledger.head.count, "digest": ledger.head.digest},
        "keys": rows_by_key,
    }
    durable.replace(path, (json.dumps(document, indent=1) + "\n").encode())
