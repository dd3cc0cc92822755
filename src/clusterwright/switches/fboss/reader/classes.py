"""Reading the classes of service in FBOSS's agent.conf: maps, PFC, headroom, watchdog, queues and their marking."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

from clusterwright.facts.router import (
    DSCPS,
    STRICT,
    HeadroomPool,
    Mark,
    PortQos,
    QosMap,
    Watchdog,
    thresholds,
)

# numbers of switch_config.thrift's enumerations
_UNICAST, _STRICT_PRIORITY, _MARK = 0, 1, 1
Json = Mapping[str, Any]


def port_qos(switch: Json) -> Callable[[Json], PortQos]:
    """Classes in a row of ``ports``, by its groups and queues."""
    policy = _used_policy(switch)
    groups = switch.get("portPgConfigs", {})
    queues = switch.get("portQueueConfigs", {})
    group_of = {int(priority): group for priority, group in policy.get("pfcPriorityToPgId", {}).items()}
    queue_of = policy.get("trafficClassToQueueId", {})
    agreeing = {
        (int(number), group)
        for number, group in policy.get("trafficClassToPgId", {}).items()
        if policy.get("pfcPriorityToQueueId", {}).get(number) == queue_of.get(number)
    }
    pools = switch.get("bufferPoolConfigs", {})
    qos_by_key: dict[tuple[object, ...], PortQos] = {}

    def read(row: Json) -> PortQos:
        pfc = row.get("pfc") or {}
        profile_names = (row.get("portQueueConfigName"), pfc.get("portPgConfigName"), pfc.get("tx"), pfc.get("rx"))
        watchdog = pfc.get("watchdog") or {}
        key = (*profile_names, *watchdog.items())
        if key not in qos_by_key:
            headroom = {
                group["id"]: min(
                    group.get("headroomLimitBytes") or 0,
                    pools.get(group.get("bufferPoolName"), {}).get("headroomBytes", 0),
                )
                for group in groups.get(str(profile_names[1]), ())
            }
            paused = {
                priority: headroom[group]
                for priority, group in group_of.items()
                if profile_names[2] and profile_names[3] and headroom.get(group) and (priority, group) in agreeing
            }
            marking = []
            for queue in queues.get(str(profile_names[0]), ()):
                marked = [aqm["detection"]["linear"] for aqm in queue.get("aqms", ()) if aqm["behavior"] == _MARK]
                marking += [(queue["id"], _linear_thresholds(line)) for line in marked]
            shares = [
                (queue["id"], STRICT if queue.get("scheduling") == _STRICT_PRIORITY else float(queue.get("weight", 0)))
                for queue in queues.get(str(profile_names[0]), ())
                if queue.get("streamType") == _UNICAST
            ]
            qos_by_key[key] = PortQos(
                classifies=bool(policy),
                lossless=frozenset(paused),
                watchdog=_watchdog(watchdog),
                shares=tuple(sorted(shares)),
                headroom_bytes=min(paused.values(), default=None),
                marking=tuple(sorted(marking)),
                places=tuple(
                    (f"queue {queue['id']}", ('"portQueueConfigs"', f'"{profile_names[0]}"'))
                    for queue in queues.get(str(profile_names[0]), ())
                ),
            )
        return qos_by_key[key]

    return read


def _linear_thresholds(line: Json) -> str:
    """Marking between two queue lengths."""
    return thresholds(line["minimumLength"], line["maximumLength"], line.get("probability"))


def headroom_pools(switch: Json) -> tuple[HeadroomPool, ...]:
    """The pools with the sum of their promises to priority groups of all ports."""
    promised: dict[str, int] = {}
    names = Counter((row.get("pfc") or {}).get("portPgConfigName") for row in switch["ports"])
    for name, ports in names.items():
        for group in switch.get("portPgConfigs", {}).get(str(name), ()):
            pool = group.get("bufferPoolName", "")
            promised[pool] = promised.get(pool, 0) + ports * (group.get("headroomLimitBytes") or 0)
    pools = switch.get("bufferPoolConfigs", {})
    sizes = {name: (row.get("headroomBytes") or 0, row["sharedBytes"]) for name, row in pools.items()}
    return tuple(
        HeadroomPool(name, *size, promised.get(name, 0), ('"bufferPoolConfigs"', f'"{name}"'))
        for name, size in sizes.items()
    )


def _watchdog(row: Json) -> Watchdog | None:
    manner = f"takes the action {row.get('recoveryAction')}"
    return Watchdog(row.get("detectionTimeMsecs"), row.get("recoveryTimeMsecs"), manner) if row else None


def _used_policy(switch: Json) -> Json:
    name = (switch.get("dataPlaneTrafficPolicy") or {}).get("defaultQosPolicy")
    policy = next((candidate for candidate in switch.get("qosPolicies", ()) if candidate["name"] == name), None)
    return policy["qosMap"] if policy is not None else {}


def qos_map(switch: Json) -> QosMap | None:
    """The DSCP map of the ports' policy; None without one."""
    policy = _used_policy(switch)
    return _qos_map(json.dumps(policy)) if policy else None


@lru_cache(maxsize=256)
def _qos_map(text: str) -> QosMap:
    policy = json.loads(text)
    class_of: list[int | None] = [None] * DSCPS
    marks: dict[str, Mark] = {}
    for row in policy["dscpMaps"]:
        number = row["internalTrafficClass"]
        for dscp in row["fromDscpToTrafficClass"]:
            if class_of[dscp] not in {None, number}:
                raise ValueError(f"DSCP {dscp} is in two classes, of which the chip takes one")
            class_of[dscp] = number
            marks[f"dscp {dscp}"] = ('"qosPolicies"', f'"internalTrafficClass": {number},')
    queue_of = {int(number): queue for number, queue in policy["trafficClassToQueueId"].items()}
    for number in queue_of:
        marks[f"class {number}"] = ('"qosPolicies"', '"trafficClassToQueueId"')
    # Ports pause for priorities of a lossless group, with a queue or not (PfcUtils, findPfcEnabledPriorities).
    paused_priorities = chain(policy.get("pfcPriorityToQueueId", {}), policy.get("pfcPriorityToPgId", {}))
    lossless = frozenset(map(int, paused_priorities))
    for priority in lossless:
        marks[f"priority {priority}"] = ('"qosPolicies"', '"pfcPriorityToQueueId"')
    group_of = {int(number): group for number, group in policy.get("trafficClassToPgId", {}).items()}
    for number in group_of:
        marks[f"group {number}"] = ('"qosPolicies"', '"trafficClassToPgId"')
    groups = policy.get("pfcPriorityToPgId", {})
    paused = frozenset(groups.get(str(priority), priority) for priority in lossless)
    return QosMap(
        class_of=tuple(class_of), queue_of=queue_of, lossless=lossless, marks=marks, group_of=group_of, paused=paused
    )
