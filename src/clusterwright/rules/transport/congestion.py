"""CW415 to CW417: marking thresholds, and classes that are served first."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule


@rule(
    code="CW415",
    severity=Severity.ERROR,
    title="marking without thresholds, or thresholds without marking",
    why="A switch marks between two queue lengths; without them, or with the lower one above, it marks nothing or all.",
    mend="Give a class with `ecn: mark` a `marking` whose lower threshold is the smaller, and no other class one.",
    docs="`ecn: mark` turns DCQCN on: switches mark packets between the thresholds, receivers answer with congestion"
    " notifications, senders slow down. `ecn: count` leaves DCQCN off and only counts; Meta ran its 400G fabric so,"
    " with PFC alone (SIGCOMM 2024, 6.2).",
)
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


@rule(
    code="CW416",
    severity=Severity.ERROR,
    title="strict class that is lossless",
    why="A class that is served first and may pause its senders can starve every other class for good.",
    mend="Take `strict` or `priority` away.",
)
def strict_and_lossless(subject: Subject) -> Iterator[Problem]:
    """Classes with strict priority and a PFC priority."""
    for fabric in subject.spec.fabrics:
        for item in fabric.classes:
            if item.strict and item.priority is not None:
                message = f"{item.name} is served before all others and is lossless too."
                yield Problem((*item.path, "strict"), message, "Give it a `weight` instead.")


@rule(
    code="CW417",
    severity=Severity.ERROR,
    title="strict class below one with a weight",
    why="A switch that shares bandwidth by weight in one queue does so in all lower ones too, strict or not.",
    mend="Give strict classes the highest queues.",
    docs="EOS takes every queue below one with `no priority` for one without priority (EOS user manual, quality of"
    " service). The other systems serve strict queues from the highest number down.",
)
def strict_below_weighted(subject: Subject) -> Iterator[Problem]:
    """Strict classes whose queue is below that of a weighted class."""
    for fabric in subject.spec.fabrics:
        weighted = max((item.queue for item in fabric.classes if not item.strict), default=-1)
        for item in fabric.classes:
            if item.strict and item.queue < weighted:
                message = f"{item.name} is strict in queue {item.queue}, and queue {weighted} has a weight."
                yield Problem((*item.path, "queue"), message, f"Use a queue above {weighted}.")
