"""Classes of service with NVUE: RoCE mode, and the spec's differences: maps, queues, PFC, marks, watchdog.

RoCE mode makes the lossless pool and sizes buffers from the length of the cables. Its own classes are DSCP 26 in
priority 3 and 48 in 6, so every map is written whole, in the profile of all ports (`default-global`).
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from clusterwright.intent.traffic_classes import traffic_classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.traffic_classes import NumberedClass

PROFILE = "default-global"
NUMBERS = 8
WHOLE_PERCENT = 100
KBYTE = 1000
Objects = dict[str, Any]


def qos(view: SwitchView) -> Objects:
    """The objects under ``qos``; nothing for a fabric without classes."""
    classes = traffic_classes(view.fabric)
    if not classes:
        return {}
    lossless = [item for item in classes if item.is_lossless]
    objects: Objects = {
        "congestion-control": {PROFILE: {"traffic-class": _marking(classes)}},
        "egress-queue-mapping": {PROFILE: {"switch-priority": _queue_by_priority(classes)}},
        "egress-scheduler": {PROFILE: {"traffic-class": _queues(classes)}},
        "mapping": {PROFILE: {"dscp": _priority_by_dscp(classes), "trust": "l3"}},
    }
    if lossless:
        longest_m = max((ceil(link.cable.headroom_m) for link in view.links), default=1)
        priorities: Objects = {str(item.number): {} for item in lossless}
        objects["pfc"] = {PROFILE: {"cable-length": longest_m, "switch-priority": priorities}}
        times = view.fabric.pfc_watchdog
        objects["pfc-watchdog"] = {
            "polling-interval": times.recovery_ms,
            "robustness": times.detection_ms // times.recovery_ms,
        }
        objects["roce"] = {"enable": "on", "mode": "lossless"}
    return objects


def _priority_by_dscp(classes: Sequence[NumberedClass]) -> Objects:
    """The map of DSCPs to switch priorities."""
    number_by_dscp: dict[int, int] = {}
    for item in classes:
        number_by_dscp |= dict.fromkeys(item.dscp, item.number)
    return {str(dscp): {"switch-priority": number} for dscp, number in sorted(number_by_dscp.items())}


def _queue_by_priority(classes: Sequence[NumberedClass]) -> Objects:
    """The map of switch priorities to queues.

    Priorities without a class carry nothing; they get the queue of the first lossy class, never a paused one.
    """
    queue_by_number = {item.number: item.entry.queue for item in classes}
    lossy_queues = [item.entry.queue for item in classes if not item.is_lossless]
    unused_queue = lossy_queues[0] if lossy_queues else classes[0].entry.queue
    return {str(number): {"traffic-class": queue_by_number.get(number, unused_queue)} for number in range(NUMBERS)}


def _marking(classes: Sequence[NumberedClass]) -> Objects:
    """The marking of every queue: without these objects RoCE mode marks some by itself."""
    queues: Objects = {str(queue): {"ecn": "disable", "red": "disable"} for queue in range(NUMBERS)}
    for item in classes:
        marking = item.entry.marking
        if marking is not None:
            queues[str(item.entry.queue)] = {
                "ecn": "enable",
                "max-threshold": marking.max_kbytes * KBYTE,
                "min-threshold": marking.min_kbytes * KBYTE,
                "probability": marking.percent,
                "red": "disable",
            }
    return queues


def _queues(classes: Sequence[NumberedClass]) -> Objects:
    """The scheduling of all eight queues; by default RoCE mode gives half each to queues 0 and 3.

    A queue without a priority is strict, and so takes no share of the others.
    """
    used_queues = {item.entry.queue for item in classes}
    queues: Objects = {str(queue): {"mode": "strict"} for queue in range(NUMBERS) if queue not in used_queues}
    queues |= {str(item.entry.queue): {"mode": "strict"} for item in classes if item.entry.strict}
    weighted = [item.entry for item in classes if not item.entry.strict]
    percents = shares([entry.weight for entry in weighted])
    for entry, percent in zip(weighted, percents, strict=True):
        queues[str(entry.queue)] = {"bw-percent": percent, "mode": "dwrr"}
    return dict(sorted(queues.items()))


def shares(weights: Sequence[int]) -> list[int]:
    """Weights as whole percents with a sum of 100, each at least 1; the largest remainders are rounded up."""
    total = sum(weights)
    if not total:
        return []
    exact = [WHOLE_PERCENT * weight / total for weight in weights]
    percents = [max(1, int(percent)) for percent in exact]
    order = sorted(range(len(weights)), key=lambda index: (int(exact[index]) - exact[index], index))
    for index in order[: max(0, WHOLE_PERCENT - sum(percents))]:
        percents[index] += 1
    while sum(percents) > WHOLE_PERCENT:
        percents[percents.index(max(percents))] -= 1
    return percents
