"""Reading the classes of service of a switch with NVUE: maps, PFC, watchdog, marks and schedulers.

Missing settings are NVUE's defaults, in RoCE mode or without it (Cumulus Linux 5.10, Quality of Service and RoCE).
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.facts.router import (
    DSCPS,
    STRICT,
    Mark,
    PortQos,
    QosMap,
    Watchdog,
    thresholds,
)
from clusterwright.switches.nvue.reader.objects import Object

PROFILE = "default-global"
NUMBERS = 8
# RoCE mode: priority 3 without loss in traffic class 3, priority 6 in 6, all other in 0.
_ROCE_PRIORITY = 3
_ROCE_QUEUES = {3: 3, 6: 6}
# And how queues are served there (RDMA over Converged Ethernet, table of the lossless mode).
_SHARED_BY_DEFAULT = {0: 50.0, 3: 50.0, 6: STRICT}
_WHOLE_PERCENT = 100
_MARKED_BY_DEFAULT = {True: (0, 3), False: (0,)}  # by whether RoCE mode is on
_MIN_BYTES, _MAX_BYTES, _PERCENT = 150_000, 1_500_000, 100
_POLL_MS, _ROBUSTNESS = 100, 3
_TRUSTED = frozenset({"l3", "both"})
_MANNER = "restores a queue after one look without pauses, and drops what comes for it until then"


def is_roce(root: Object) -> bool:
    """True for a switch in lossless RoCE mode."""
    roce = root.at("qos", "roce")
    return roce.is_on("enable", default=bool(roce.line)) and roce.text("mode", default="lossless") == "lossless"


def qos_map(root: Object) -> QosMap | None:
    """The DSCP map common to all ports; None if they do not classify by DSCP."""
    mapping = root.at("qos", "mapping", PROFILE)
    if mapping.text("trust") not in _TRUSTED:
        return None
    class_by_dscp = {dscp: dscp // NUMBERS for dscp in range(DSCPS)}
    marks: dict[str, Mark] = {}
    for dscp, section in _numbered(mapping.at("dscp")):
        class_by_dscp[dscp] = section.number("switch-priority")
        marks[f"dscp {dscp}"] = section.mark
    queues = _queue_of_priorities(root)
    for number, section in _numbered(root.at("qos", "egress-queue-mapping", PROFILE, "switch-priority")):
        marks[f"class {number}"] = section.mark
    lossless = _lossless(root)
    pfc = root.at("qos", "pfc", PROFILE)
    for number in lossless:
        marks[f"priority {number}"] = pfc.at("switch-priority").mark or root.at("qos", "roce").mark
    return QosMap(
        class_of=tuple(class_by_dscp[dscp] for dscp in range(DSCPS)),
        queue_of=queues,
        lossless=lossless,
        marks=marks,
        group_of={},
        paused=lossless,
    )


def _queue_of_priorities(root: Object) -> dict[int, int]:
    queues = {number: number for number in range(NUMBERS)}
    if is_roce(root):
        queues = dict.fromkeys(range(NUMBERS), 0) | _ROCE_QUEUES
    for number, section in _numbered(root.at("qos", "egress-queue-mapping", PROFILE, "switch-priority")):
        queues[number] = section.number("traffic-class")
    return queues


def _numbered(section: Object) -> Iterator[tuple[int, Object]]:
    """Objects by number; a key may be a list of numbers and ranges."""
    for name, below in section.items():
        for part in name.split(","):
            low, _, high = part.partition("-")
            for number in range(int(low), int(high or low) + 1):
                yield number, below


def _lossless(root: Object) -> frozenset[int]:
    """The priorities with pauses in both directions: those of the PFC profile, in RoCE mode alone."""
    pfc = root.at("qos", "pfc", PROFILE)
    if not is_roce(root) or not (pfc.is_on("tx", default=True) and pfc.is_on("rx", default=True)):
        return frozenset()
    stated = frozenset(number for number, _ in _numbered(pfc.at("switch-priority")))
    return stated or frozenset({_ROCE_PRIORITY})


def port_qos(root: Object) -> tuple[PortQos, PortQos]:
    """How a port with a watchdog treats classes, and one without: all else is the switch's."""
    scheduler = root.at("qos", "egress-scheduler", PROFILE, "traffic-class")
    served = set(_queue_of_priorities(root).values())
    shares = tuple((queue, share) for queue, share in sorted(scheduled(root).items()) if queue in served)
    cable = root.at("qos", "pfc", PROFILE, "cable-length")
    marking = dict(_marking(root))
    watchdog = root.at("qos", "pfc-watchdog")
    places = (
        *((f"queue {queue}", section.mark) for queue, section in _numbered(scheduler)),
        *((f"queue {queue}", mark) for queue, (_, mark) in marking.items()),
        ("detection", watchdog.at("robustness").mark),
        ("recovery", watchdog.at("polling-interval").mark),
    )
    plain = PortQos(
        classifies=root.text("qos", "mapping", PROFILE, "trust") in _TRUSTED,
        lossless=_lossless(root),
        shares=shares,
        cable_m=float(cable.value) if cable.value else None,
        marking=tuple((queue, text) for queue, (text, _) in sorted(marking.items()) if text),
        places=tuple((key, mark) for key, mark in places if mark),
        losses=tuple(_losses(root)),
    )
    poll_ms = watchdog.number("polling-interval", default=_POLL_MS)
    looks = watchdog.number("robustness", default=_ROBUSTNESS)
    return plain._replace(watchdog=Watchdog(poll_ms * looks, poll_ms, _MANNER)), plain


def scheduled(root: Object) -> dict[int, float]:
    """By queue its percents, or STRICT: queues without a priority included, as their percents count for the sum."""
    shares = dict(_SHARED_BY_DEFAULT) if is_roce(root) else {}
    for queue, section in _numbered(root.at("qos", "egress-scheduler", PROFILE, "traffic-class")):
        is_strict = section.text("mode", default="strict" if shares.get(queue) == STRICT else "dwrr") == "strict"
        shares[queue] = STRICT if is_strict else float(section.number("bw-percent", default=int(shares.get(queue, 0))))
    return shares


def oversubscribed(root: Object) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The scheduler with more than a hundred percents together, refused by NVUE."""
    total = sum(share for share in scheduled(root).values() if share != STRICT)
    scheduler = root.at("qos", "egress-scheduler", PROFILE)
    if total > _WHOLE_PERCENT:
        yield (
            scheduler.line,
            ("qos", "egress-scheduler", f"{total:g} percent, with what RoCE mode gives to queues 0 and 3"),
        )


def _losses(root: Object) -> Iterator[tuple[str, Mark]]:
    """Early drops in queues of lossless priorities."""
    classes = qos_map(root)
    queues = {classes.queue_of.get(priority) for priority in classes.lossless} if classes is not None else set()
    for queue, section in _numbered(root.at("qos", "congestion-control", PROFILE, "traffic-class")):
        if queue in queues and section.is_on("red"):
            yield f"drops packets of lossless queue {queue} early (red is on)", section.mark


def _marking(root: Object) -> Iterator[tuple[int, tuple[str, Mark]]]:
    """Marking of each queue in the file or in NVUE's default: "" for none at all."""
    profile = root.at("qos", "congestion-control", PROFILE, "traffic-class")
    for queue in _MARKED_BY_DEFAULT[is_roce(root)]:
        yield queue, (thresholds(_MIN_BYTES, _MAX_BYTES, _PERCENT), profile.mark)
    for queue, section in _numbered(profile):
        low = section.number("min-threshold", default=_MIN_BYTES)
        high = section.number("max-threshold", default=_MAX_BYTES)
        text = thresholds(low, high, section.number("probability", default=_PERCENT))
        yield queue, (text if section.is_on("ecn", default=True) else "", section.mark)
