"""The ledger: every version of every key that the schedule rules, when it was born, and how it is wrapped.

It holds no key in clear. Versions of wrapping keys have no text here, the service has them; a destroyed data key keeps
its number and the wrapping version that could still have unwrapped old copies of it.

Beside it lies the audit log: one line an event, chained, so that no line can be changed or moved. A chain alone does
not show that its end was cut off: the ledger holds how many lines there were and the last digest, and ``keys audit``
prints both, to be kept where who changes the files does not come.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from clusterwright import chain, durable
from clusterwright.chain import EMPTY, ChainError, Head
from clusterwright.finding import ClusterwrightError


@dataclass(frozen=True, slots=True)
class AuditLog:
    """A file of JSON lines that only grows."""

    path: Path

    def append(self, head: Head, on: date, event: Mapping[str, str | int]) -> Head:
        """Write one event behind ``head`` and flush it; returns the new end. Raises ClusterwrightError."""
        return chain.append(self.path, head, {"on": on.isoformat(), **event})

    def check(self, known: Head) -> Head:
        """The log's end, after every line was compared with the one before.

        A log may be one event ahead of ``known``, which a crash leaves; it is never behind. Raises ChainError.
        """
        entries = chain.read(self.path)
        if len(entries) < known.count:
            raise ChainError(
                f"{self.path}: {len(entries)} lines, but {known.count} were written; the end of the log was cut off"
            )
        if chain.head_of(entries[: known.count]) != known:
            raise ChainError(f"{self.path}:{known.count}: not the line that the ledger knows; the log was rewritten")
        return chain.head_of(entries)


_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a key. ``wrapped`` is None for wrapping keys and for destroyed versions; ``under`` is the version
    of the wrapping key that wraps it, or did last."""

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
        """The versions that were not destroyed."""
        return tuple(version for version in self.of(key) if version.destroyed is None)

    def with_version(self, key: str, version: Version) -> Ledger:
        """This ledger with a version added, or with the one of the same number replaced."""
        others = [other for other in self.of(key) if other.number != version.number]
        ordered = tuple(sorted((*others, version), key=lambda other: other.number))
        return replace(self, versions={**self.versions, key: ordered})


def read_ledger(path: Path) -> Ledger:
    """The ledger at ``path``, an empty one when there is none. Raises ClusterwrightError for a damaged one."""
    if not path.exists():
        return Ledger({})
    try:
        document = json.loads(path.read_bytes())
        if document["format"] != _FORMAT:
            raise ClusterwrightError(f"{path}: written by another release of clusterwright; use that one")
        return Ledger(
            {
                key: tuple(
                    Version(
                        number=row["number"],
                        born=date.fromisoformat(row["born"]),
                        wrapped=row["wrapped"],
                        under=row["under"],
                        destroyed=None if row["destroyed"] is None else date.fromisoformat(row["destroyed"]),
                    )
                    for row in rows
                )
                for key, rows in document["keys"].items()
            },
            Head(document["audit"]["count"], document["audit"]["digest"]),
        )
    except OSError as error:
        raise ClusterwrightError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ClusterwrightError(f"{path}: the ledger is damaged. Restore it from a copy.") from None


def write_ledger(path: Path, ledger: Ledger) -> None:
    """Replace the ledger. Raises ClusterwrightError."""
    document = {
        "format": _FORMAT,
        "audit": {"count": ledger.head.count, "digest": ledger.head.digest},
        "keys": {
            key: [
                {
                    "number": version.number,
                    "born": version.born.isoformat(),
                    "wrapped": version.wrapped,
                    "under": version.under,
                    "destroyed": None if version.destroyed is None else version.destroyed.isoformat(),
                }
                for version in versions
            ]
            for key, versions in sorted(ledger.versions.items())
        },
    }
    durable.replace(path, (json.dumps(document, indent=1) + "\n").encode())
