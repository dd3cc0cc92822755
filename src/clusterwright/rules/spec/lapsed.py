"""CW567 and CW568: expired exceptions and operators.

Nothing ends by itself: the rendered files never depend on the clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path


@dataclass(frozen=True, slots=True)
class Lapsed:
    """An expired exception or operator: its place in the spec, a sentence about it, and the action to take."""

    path: Path
    message: str
    hint: str


def lapsed_exceptions(spec: ClusterSpec, on: date) -> Iterator[Lapsed]:
    """The exceptions with a last day before ``on``."""
    for item in spec.exceptions:
        if item.until is None or item.until >= on:
            continue
        target = item.device or item.group or ""
        if item.port:
            target = f"{target} {item.port}".lstrip()
        state = item.state or f"with the image {item.image}"
        action = "Remove the exception"
        if item.state == "drained" and item.device:
            action = f"`clusterwright undrain` gives {target} back"
        yield Lapsed(
            path=(*item.path, "until"),
            message=f"{target} was to be {state} until {item.until}, {_ago(item.until, on)}: {item.reason}",
            hint=f"{action}, or ask for a new date.",
        )


def lapsed_operators(spec: ClusterSpec, on: date) -> Iterator[Lapsed]:
    """The operators with a last day before ``on``."""
    for operator in spec.site.operators:
        if operator.until is None or operator.until >= on:
            continue
        yield Lapsed(
            path=(*operator.path, "until"),
            message=f"{operator.name} was to log in until {operator.until}, {_ago(operator.until, on)}; the account "
            "stays until an `up` without it.",
            hint="Remove the operator and run `clusterwright up`, or write a new day.",
        )


def lapsed(spec: ClusterSpec, on: date) -> Iterator[Lapsed]:
    """All exceptions and operators expired before ``on``."""
    yield from lapsed_exceptions(spec, on)
    yield from lapsed_operators(spec, on)


def _ago(day: date, on: date) -> str:
    days = (on - day).days
    unit = "day" if days == 1 else "days"
    return f"{days:,} {unit} ago"


@rule("CW567", Severity.WARNING)
def lapsed_exception(subject: Subject) -> Iterator[Problem]:
    """Exceptions with a last day before the day of the check; none without a day."""
    if subject.day is None:
        return
    for item in lapsed_exceptions(subject.spec, subject.day):
        yield Problem(item.path, item.message, item.hint)


@rule("CW568", Severity.WARNING)
def lapsed_operator(subject: Subject) -> Iterator[Problem]:
    """Operators with a last day before the day of the check; none without a day."""
    if subject.day is None:
        return
    for item in lapsed_operators(subject.spec, subject.day):
        yield Problem(item.path, item.message, item.hint)
