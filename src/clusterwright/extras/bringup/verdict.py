"""Verdicts on reports of real tools."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.finding import ClusterwrightError


@dataclass(frozen=True, slots=True)
class Measurement:
    """A port or a pair that was measured.

    ``subject`` names it as its label does, ``cable`` the cable at it ("" where there is none), ``reasons`` name the
    unmet demands; ``remarks`` are shown without a verdict.
    """

    tool: str
    subject: str
    cable: str
    reasons: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """True when nothing speaks against it."""
        return not self.reasons


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdicts on one tool's output, and how much of it was in order without a line of its own."""

    tool: str
    summary: str
    verdicts: tuple[Measurement, ...]

    @property
    def holds(self) -> bool:
        """True when every verdict does."""
        return all(verdict.holds for verdict in self.verdicts)


class UnreadableReportError(ClusterwrightError):
    """A report that its tool does not write, or that ends early: half a report gets no verdict."""
