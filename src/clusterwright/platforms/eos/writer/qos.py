"""The QoS profile and maps of an EOS switch.

What EOS does not take is a size for headroom: chips with deep buffers set it themselves by the port's speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.intent.traffic_classes import traffic_classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.traffic_classes import NumberedClass
    from clusterwright.spec.ethernet import Marking


@dataclass(frozen=True, slots=True)
class EosQueue:
    """A traffic class: its DSCPs, transmit queue and share of the bandwidth in percent, None with strict priority.

    ``marking`` are its thresholds, ``counts_marks`` says that the queue's counter of marked packets is on.
    """

    traffic_class: int
    dscp: str
    queue: int
    percent: int | None
    marking: Marking | None
    counts_marks: bool


@dataclass(frozen=True, slots=True)
class EosQos:
    """The QoS profile of the fabric's ports; ``lossless`` are PFC priorities, times are in seconds."""

    profile: str
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
    return EosQos(
        profile=view.fabric.name.upper(),
        queues=tuple(_queue(item, percents.get(item.number)) for item in classes),
        lossless=tuple(item.number for item in classes if item.is_lossless),
        watchdog_timeout=f"{watchdog.detection_ms / 1000:.2f}",
        watchdog_recovery=f"{watchdog.recovery_ms / 1000:.2f}",
        watchdog_polling=f"{watchdog.detection_ms / 2000:.3f}".removesuffix("0"),
    )


def _percents(classes: Sequence[NumberedClass]) -> dict[int, int]:
    """Whole percents of the bandwidth by the number of a class with a weight: at least 1 each, and 100 at most in all.

    What the smallest have too much, the largest has less.
    """
    weighted = [item for item in classes if not item.entry.strict]
    total = sum(item.entry.weight for item in weighted)
    found = {item.number: max(1, 100 * item.entry.weight // total) for item in weighted}
    while sum(found.values()) > 100:
        found[max(found, key=lambda number: found[number])] -= 1
    return found


def _queue(item: NumberedClass, percent: int | None) -> EosQueue:
    return EosQueue(
        traffic_class=item.number,
        dscp=" ".join(map(str, item.dscp)),
        queue=item.entry.queue,
        percent=percent,
        marking=item.entry.marking,
        counts_marks=item.entry.ecn != "none",
    )
