"""The QoS profile and maps of an EOS switch.

EOS takes no size for headroom: chips with deep buffers set it themselves by the port's speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError
from clusterwright.intent.traffic_classes import traffic_classes
from clusterwright.spec.hardware.systems import systems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.traffic_classes import NumberedClass
    from clusterwright.spec.ethernet import Marking

SYSTEM = "eos"


@dataclass(frozen=True, slots=True)
class EosQueue:
    """A traffic class: its DSCPs, transmit queue and share of the bandwidth in percent, None with strict priority.

    ``marking`` are its thresholds; ``counts_marks``: the queue's counter of marked packets is on.
    """

    traffic_class: int
    dscp: str
    queue: int
    percent: int | None
    marking: Marking | None
    counts_marks: bool


@dataclass(frozen=True, slots=True)
class EosQos:
    """The QoS profile of the fabric's ports; ``lossless`` are PFC priorities, times are in seconds.

    ``queue_word`` opens a queue in the profile, ``count_marks`` are the additional words for counters of marks, "" for
    none.
    """

    profile: str
    queue_word: str
    count_marks: str
    queues: tuple[EosQueue, ...]
    lossless: tuple[int, ...]
    watchdog_timeout: str
    watchdog_recovery: str
    watchdog_polling: str


def eos_qos(view: SwitchView) -> EosQos | None:
    """The profile of the fabric's ports; None for a fabric without classes."""
    classes = traffic_classes(view.fabric)
    if not classes:
        return None
    percents = _percents(classes)
    watchdog = view.fabric.pfc_watchdog
    words = systems()[SYSTEM].queues_on(view.model.asic)
    if words is None:
        raise ClusterwrightError(
            f"No source tells how EOS names the queues of {view.model.name}'s chip (CW443), so {view.fabric.name} can "
            "have no classes on it. Take another model, or name its chip."
        )
    counts_marks = any(item.entry.ecn != "none" for item in classes)
    return EosQos(
        profile=view.fabric.name.upper(),
        queue_word=words.word,
        count_marks=words.count_marks if counts_marks else "",
        queues=tuple(_queue(item, percents.get(item.number)) for item in classes),
        lossless=tuple(item.number for item in classes if item.is_lossless),
        watchdog_timeout=f"{watchdog.detection_ms / 1000:.2f}",
        watchdog_recovery=f"{watchdog.recovery_ms / 1000:.2f}",
        watchdog_polling=f"{watchdog.detection_ms / 2000:.3f}".removesuffix("0"),
    )


def _percents(classes: Sequence[NumberedClass]) -> dict[int, int]:
    """Whole percents of the bandwidth by the number of a class with a weight: at least 1 each, and 100 at most in all.

    The largest gives up the excess of the smallest.
    """
    weighted = [item for item in classes if not item.entry.strict]
    total = sum(item.entry.weight for item in weighted)
    percents = {item.number: max(1, 100 * item.entry.weight // total) for item in weighted}
    while sum(percents.values()) > 100:
        percents[max(percents, key=lambda number: percents[number])] -= 1
    return percents


def _queue(item: NumberedClass, percent: int | None) -> EosQueue:
    return EosQueue(
        traffic_class=item.number,
        dscp=" ".join(map(str, item.dscp)),
        queue=item.entry.queue,
        percent=percent,
        marking=item.entry.marking,
        counts_marks=item.entry.ecn != "none",
    )
