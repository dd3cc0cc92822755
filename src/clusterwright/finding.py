"""Findings: mistakes in a spec, with place and fix.

A finding is data. It is produced by reading, by the schema and by rules, and printed by the formatters under
``clusterwright.cli``; nothing in between formats text for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, IntEnum

MOST_TOLD = 20
"""Findings of one kind about a file, after which nobody reads on."""


class Severity(IntEnum):
    """How bad a finding is; ordered, so that ``--fail-on`` can compare."""

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
    """A mistake with one right answer, which ``lint --fix`` writes."""

    RENAME_KEY = "rename the key"
    DROP_REPEATED = "drop what a list says again"
    SORT = "sort a list whose order means nothing"
    STATE_ORIGIN = "mark that a figure lacks its origin"
    ADD_FLOW = "open what a machine needs, and nothing more"


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake.

    ``code`` is the stable rule code (``CW203``), ``message`` one sentence on what is wrong and why it matters, ``hint``
    one sentence on how to fix it, ``path`` the place in the data (``fabrics[backend].tiers[ctsw].up.links``) as people
    read it, and ``place`` the same as keys and indexes: what stands there is in doubt when the finding is an error.
    ``amendment`` is what may be done about it by a program, with the ``instead`` of a key, or the flow to add as JSON.
    """

    code: str
    severity: Severity
    message: str
    hint: str
    position: Position
    path: str = ""
    place: tuple[str | int, ...] = field(default=(), compare=False, repr=False)
    amendment: Amendment | None = field(default=None, compare=False, repr=False)
    instead: str = field(default="", compare=False, repr=False)

    def sort_key(self) -> tuple[Position, str, str]:
        """Findings are shown in the order of the file, then by code."""
        return (self.position, self.code, self.message)


class ClusterwrightError(Exception):
    """Base of every error that a user can cause; the CLI prints its text, never a traceback."""


class SpecError(ClusterwrightError):
    """A spec could not be read. Carries every finding of the stage that failed, never just the first."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings: tuple[Finding, ...] = tuple(sorted(findings, key=Finding.sort_key))
        super().__init__("\n".join(f"{f.position}: {f.code} {f.message} {f.hint}" for f in self.findings))


class VerifyError(ClusterwrightError):
    """A tree cannot be judged: it is not what its manifest says, or a file of it does not parse."""
