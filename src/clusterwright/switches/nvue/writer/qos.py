"""Classes of service with NVUE: RoCE mode, and the spec's differences: maps, queues, PFC, marks, watchdog.

RoCE mode makes the lossless pool and sizes buffers from the length of the cables. Its own classes are DSCP 26 in
priority 3 and 48 in 6; every map is therefore written whole, in the profile of all ports (`default-global`).
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
    dscps: dict[int, int] = {}
    for item in classes:
        dscps |= dict.fromkeys(item.dscp, item.number)
    # Priorities that no class has carry nothing; they go where the default class goes, and never into a paused queue.
    numbers = {item.number: item.entry.queue for item in classes}
    rest = next((item.entry.queue for item in classes if not item.is_lossless), classes[0].entry.queue)
    objects: Objects = {
        "congestion-control": {PROFILE: {"traffic-class": _marking(classes)}},
        "egress-queue-mapping": {
            PROFILE: {
                "switch-priority": {
                    str(number): {"traffic-class": numbers.get(number, rest)} for number in range(NUMBERS)
                }
            }
        },
        "egress-scheduler": {PROFILE: {"traffic-class": _queues(classes)}},
        "mapping": {
            PROFILE: {
                "dscp": {str(dscp): {"switch-priority": number} for dscp, number in sorted(dscps.items())},
                "trust": "l3",
            }
        },
    }
    if lossless:
        objects["pfc"] = {
            PROFILE: {
                "cable-length": max((ceil(link.cable.headroom_m) for link in view.links), default=1),
                "switch-priority": {str(item.number): {} for item in lossless},
            }
        }
        times = view.fabric.pfc_watchdog
        objects["pfc-watchdog"] = {
            "polling-interval": times.recovery_ms,
            "robustness": times.detection_ms // times.recovery_ms,
        }
        objects["roce"] = {"enable": "on", "mode": "lossless"}
    return objects


def _marking(classes: Sequence[NumberedClass]) -> Objects:
    """Marks of every queue: RoCE mode marks some by itself, and is told not to."""
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
    """How all eight are served: RoCE mode gives queues 0 and 3 half each, whichever queues the classes have.

    One that no priority leads to is strict, and so takes no share of the others.
    """
    served = {item.entry.queue for item in classes}
    queues: Objects = {str(queue): {"mode": "strict"} for queue in range(NUMBERS) if queue not in served}
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
