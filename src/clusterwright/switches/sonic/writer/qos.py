"""Classes of service on SONiC: DSCP to traffic class, queue and priority group, PFC, headroom, watchdog, marking."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from clusterwright.intent.traffic_classes import traffic_classes
from clusterwright.switches.sonic.writer.buffers import buffer_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.traffic_classes import NumberedClass

MAP = "CLASSES"
# SONiC's limits of a port's watchdog in milliseconds (sonic-pfcwd.yang).
SHORTEST_MS, LONGEST_DETECTION_MS, LONGEST_RESTORATION_MS, LONGEST_POLL_MS = 100, 5000, 60_000, 1000
# Addresses and ports as on the other systems; SONiC's models have no field for the destination queue pair.
HASH_FIELDS = ("IP_PROTOCOL", "SRC_IP", "DST_IP", "L4_SRC_PORT", "L4_DST_PORT")
HASH_ALGORITHM = "CRC"
KBYTE = 1000
MOST_WEIGHT = 100  # sonic-scheduler.yang


def qos_tables(view: SwitchView) -> dict[str, Any]:
    """The hash over equal paths, and all tables of the classes; none of these for a fabric without them."""
    classes = traffic_classes(view.fabric)
    function = view.hashing.function
    algorithm = HASH_ALGORITHM if function is None else function.name
    hashing = {"SWITCH_HASH": {"GLOBAL": {"ecmp_hash": list(HASH_FIELDS), "ecmp_hash_algorithm": algorithm}}}
    if not classes:
        return hashing
    lossless = [item for item in classes if item.is_lossless]
    ports = [link.port.port for link in view.links]
    groups = {str(item.number): str(item.number) for item in classes}
    queues = {str(item.number): str(item.entry.queue) for item in classes}
    scale = _scale(classes)
    port_map = {"dscp_to_tc_map": MAP, "tc_to_queue_map": MAP, "tc_to_pg_map": MAP}
    class_of_dscp: dict[str, str] = {}
    for item in classes:
        class_of_dscp |= {str(dscp): str(item.number) for dscp in item.dscp}
    tables: dict[str, Any] = {
        **hashing,
        "DSCP_TO_TC_MAP": {MAP: class_of_dscp},
        "TC_TO_QUEUE_MAP": {MAP: queues},
        "TC_TO_PRIORITY_GROUP_MAP": {MAP: groups},
        "SCHEDULER": {_scheduler_name(item): _scheduler(item, scale) for item in classes},
        "QUEUE": {f"{port}|{item.entry.queue}": _queue(item) for port, item in product(ports, classes)},
        "WRED_PROFILE": {item.entry.name: _marking(item) for item in classes if item.entry.marking is not None},
    }
    if lossless:
        priorities = [str(item.number) for item in lossless]
        port_map |= {
            "pfc_to_queue_map": MAP,
            "pfc_to_pg_map": MAP,
            "pfc_enable": ",".join(priorities),
            "pfcwd_sw_enable": ",".join(priorities),
        }
        tables["MAP_PFC_PRIORITY_TO_QUEUE"] = {MAP: {priority: queues[priority] for priority in priorities}}
        tables["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] = {MAP: {priority: priority for priority in priorities}}
        tables |= buffer_tables(view, classes)
        tables["PFC_WD"] = _watchdog(view, ports)
    tables["PORT_QOS_MAP"] = dict.fromkeys(ports, port_map)
    return tables


def _scheduler_name(item: NumberedClass) -> str:
    return f"scheduler.{item.entry.name}"


def _scale(classes: Sequence[NumberedClass]) -> float:
    """Factor for weights, so that they keep their proportions and fit the models."""
    heaviest = max(1, *(item.entry.weight for item in classes))
    return min(1, MOST_WEIGHT / heaviest)


def _scheduler(item: NumberedClass, scale: float) -> dict[str, str]:
    if item.entry.strict:
        return {"type": "STRICT"}
    weight = max(1, round(item.entry.weight * scale))
    return {"type": "DWRR", "weight": str(weight)}


def _queue(item: NumberedClass) -> dict[str, str]:
    queue = {"scheduler": _scheduler_name(item)}
    if item.entry.marking is not None:
        queue["wred_profile"] = item.entry.name
    return queue


def _marking(item: NumberedClass) -> dict[str, str]:
    marking = item.entry.marking
    if marking is None:
        return {}
    colours = ("green", "yellow", "red")
    profile = {"ecn": "ecn_all"} | {f"wred_{colour}_enable": "true" for colour in colours}
    for colour in colours:
        profile[f"{colour}_min_threshold"] = str(marking.min_kbytes * KBYTE)
        profile[f"{colour}_max_threshold"] = str(marking.max_kbytes * KBYTE)
        profile[f"{colour}_drop_probability"] = str(marking.percent)
    return profile


def _watchdog(view: SwitchView, ports: list[str]) -> dict[str, dict[str, str]]:
    times = view.fabric.pfc_watchdog
    detection_ms = max(SHORTEST_MS, min(times.detection_ms, LONGEST_DETECTION_MS))
    restoration_ms = max(SHORTEST_MS, min(times.recovery_ms, LONGEST_RESTORATION_MS))
    entry = {"action": "drop", "detection_time": str(detection_ms), "restoration_time": str(restoration_ms)}
    poll_ms = max(SHORTEST_MS, min(detection_ms // 2, restoration_ms, LONGEST_POLL_MS))
    return {"GLOBAL": {"POLL_INTERVAL": str(poll_ms)}} | dict.fromkeys(ports, entry)
