"""CW415 to CW417: marking thresholds, and classes that are served first."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule


@rule("CW415", Severity.ERROR)
def marking_thresholds(subject: Subject) -> Iterator[Problem]:
    """Classes whose `ecn` and `marking` do not belong together."""
    for fabric in subject.spec.fabrics:
        for item in fabric.classes:
            if item.ecn == "mark" and item.marking is None:
                message = f"{item.name} marks packets and has no thresholds."
                yield Problem((*item.path, "ecn"), message, "Add `marking: {min_kbytes, max_kbytes, percent}`.")
            elif item.ecn != "mark" and item.marking is not None:
                message = f"{item.name} has thresholds and does not mark."
                yield Problem((*item.path, "marking"), message, "Write `ecn: mark`, or take `marking` away.", key=True)
            elif item.marking is not None and item.marking.min_kbytes >= item.marking.max_kbytes:
                low, high = item.marking.min_kbytes, item.marking.max_kbytes
                message = f"{item.name} marks from {low} kB and fully from {high} kB, which is not later."
                yield Problem((*item.path, "marking", "min_kbytes"), message, f"Use less than {high}.")


@rule("CW416", Severity.ERROR)
def strict_and_lossless(subject: Subject) -> Iterator[Problem]:
    """Classes with strict priority and a PFC priority."""
    for fabric in subject.spec.fabrics:
        for item in fabric.classes:
            if item.strict and item.priority is not None:
                message = f"{item.name} is served before all others and is lossless too."
                yield Problem((*item.path, "strict"), message, "Give it a `weight` instead.")


@rule("CW417", Severity.ERROR)
def strict_below_weighted(subject: Subject) -> Iterator[Problem]:
    """Strict classes whose queue is below that of a weighted class."""
    for fabric in subject.spec.fabrics:
        weighted = max((item.queue for item in fabric.classes if not item.strict), default=-1)
        for item in fabric.classes:
            if item.strict and item.queue < weighted:
                message = f"{item.name} is strict in queue {item.queue}, and queue {weighted} has a weight."
                yield Problem((*item.path, "queue"), message, f"Use a queue above {weighted}.")
