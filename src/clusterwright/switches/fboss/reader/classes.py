"""Reading the classes of service in FBOSS's agent.conf: maps, PFC, headroom, watchdog, queues and their marking."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
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
    paused_queue_of = policy.get("pfcPriorityToQueueId", {})
    classes_with_paused_queue: set[tuple[int, Any]] = set()
    for number, group in policy.get("trafficClassToPgId", {}).items():
        if paused_queue_of.get(number) == queue_of.get(number):
            classes_with_paused_queue.add((int(number), group))
    pools = switch.get("bufferPoolConfigs", {})
    qos_by_key: dict[tuple[object, ...], PortQos] = {}

    def read(row: Json) -> PortQos:
        pfc = row.get("pfc") or {}
        queue_config, group_config = row.get("portQueueConfigName"), pfc.get("portPgConfigName")
        pauses_both_ways = (pfc.get("tx"), pfc.get("rx"))
        watchdog = pfc.get("watchdog") or {}
        key = (queue_config, group_config, *pauses_both_ways, *watchdog.items())
        if key in qos_by_key:
            return qos_by_key[key]
        headroom_by_group: dict[Any, int] = {}
        for group in groups.get(str(group_config), ()):
            pool = pools.get(group.get("bufferPoolName"), {})
            headroom_by_group[group["id"]] = min(group.get("headroomLimitBytes") or 0, pool.get("headroomBytes", 0))
        headroom_by_priority: dict[int, int] = {}
        groups_with_pauses = group_of.items() if all(pauses_both_ways) else ()
        for priority, group in groups_with_pauses:
            if headroom_by_group.get(group) and (priority, group) in classes_with_paused_queue:
                headroom_by_priority[priority] = headroom_by_group[group]
        port_queues = queues.get(str(queue_config), ())
        place = ('"portQueueConfigs"', f'"{queue_config}"')
        qos_by_key[key] = PortQos(
            classifies=bool(policy),
            lossless=frozenset(headroom_by_priority),
            watchdog=_watchdog(watchdog),
            shares=_shares(port_queues),
            headroom_bytes=min(headroom_by_priority.values(), default=None),
            marking=_marking(port_queues),
            places=tuple((f"queue {queue['id']}", place) for queue in port_queues),
        )
        return qos_by_key[key]

    return read


def _shares(queues: Iterable[Json]) -> tuple[tuple[int, float], ...]:
    """The share of each unicast queue in the bandwidth, by its weight."""
    shares: list[tuple[int, float]] = []
    for queue in queues:
        if queue.get("streamType") != _UNICAST:
            continue
        is_strict = queue.get("scheduling") == _STRICT_PRIORITY
        shares.append((queue["id"], STRICT if is_strict else float(queue.get("weight", 0))))
    return tuple(sorted(shares))


def _marking(queues: Iterable[Json]) -> tuple[tuple[int, str], ...]:
    """The marking queues with their thresholds."""
    marking: list[tuple[int, str]] = []
    for queue in queues:
        curves = [aqm["detection"]["linear"] for aqm in queue.get("aqms", ()) if aqm["behavior"] == _MARK]
        marking += [(queue["id"], _linear_thresholds(curve)) for curve in curves]
    return tuple(sorted(marking))


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
    pools: list[HeadroomPool] = []
    for name, row in switch.get("bufferPoolConfigs", {}).items():
        pool = HeadroomPool(
            name=name,
            headroom_bytes=row.get("headroomBytes") or 0,
            shared_bytes=row["sharedBytes"],
            promised_bytes=promised.get(name, 0),
            mark=('"bufferPoolConfigs"', f'"{name}"'),
        )
        pools.append(pool)
    return tuple(pools)


def _watchdog(row: Json) -> Watchdog | None:
    if not row:
        return None
    manner = f"takes the action {row.get('recoveryAction')}"
    return Watchdog(row.get("detectionTimeMsecs"), row.get("recoveryTimeMsecs"), manner)


def _used_policy(switch: Json) -> Json:
    """The map of the default policy; empty without one."""
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
