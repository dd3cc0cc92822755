"""Verdicts on reports of real tools."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.finding import ClusterwrightError


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measured port or pair.

    ``subject`` is its label, ``cable`` its cable ("" without one), ``reasons`` are the missed thresholds; ``remarks``
    are shown without a verdict.
    """

    tool: str
    subject: str
    cable: str
    reasons: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """True without a missed threshold."""
        return not self.reasons


@dataclass(frozen=True, slots=True)
class CheckedReport:
    """The verdicts on one tool's output, and a summary with the number of checked ports or pairs."""

    tool: str
    summary: str
    verdicts: tuple[Measurement, ...]

    @property
    def holds(self) -> bool:
        """True if every verdict holds."""
        return all(verdict.holds for verdict in self.verdicts)


class UnreadableReportError(ClusterwrightError):
    """A report in an unknown format, or a truncated one: no verdict on half a report."""
