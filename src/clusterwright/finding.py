"""Findings: mistakes in a spec, with place and fix.

A finding is data. Reading, the schema and rules produce findings, and the formatters under ``clusterwright.cli`` print
them; no other code formats text for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, IntEnum

MOST_TOLD = 20
"""Findings of one kind shown for a file; further ones are only counted."""


class Severity(IntEnum):
    """The weight of a finding, ordered for the comparison with ``--fail-on``."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        """The lower-case word used in every output format."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a source file: line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Amendment(Enum):
    """A mistake with one right answer, written by ``lint --fix``."""

    RENAME_KEY = "rename the key"
    DROP_REPEATED = "drop what a list says again"
    SORT = "sort a list whose order means nothing"
    STATE_ORIGIN = "mark that a figure lacks its origin"
    ADD_FLOW = "open what a machine needs, and nothing more"


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake."""

    code: str
    """The stable rule code (``CW203``)."""
    severity: Severity
    message: str
    """One sentence on the mistake and its consequence."""
    hint: str
    """One sentence on its fix."""
    position: Position
    path: str = ""
    """The readable place in the data (``fabrics[backend].tiers[ctsw].up.links``)."""
    place: tuple[str | int, ...] = field(default=(), compare=False, repr=False)
    """The same as keys and indexes: a value at the place of an error must not be relied on."""
    amendment: Amendment | None = field(default=None, compare=False, repr=False)
    """The fix that a program may write."""
    instead: str = field(default="", compare=False, repr=False)
    """For the fix: the right name of a key, or the flow to add as JSON."""

    def sort_key(self) -> tuple[Position, str, str]:
        """Order of findings in output: by place in the file, then by code."""
        return (self.position, self.code, self.message)


class ClusterwrightError(Exception):
    """Base of all errors caused by input; the CLI prints its text, never a traceback."""


class SpecError(ClusterwrightError):
    """A spec could not be read. Carries every finding of the failed stage, never just the first."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings: tuple[Finding, ...] = tuple(sorted(findings, key=Finding.sort_key))
        super().__init__("\n".join(f"{f.position}: {f.code} {f.message} {f.hint}" for f in self.findings))


class VerifyError(ClusterwrightError):
    """A tree cannot be checked: it differs from its manifest, or one of its files does not parse."""
