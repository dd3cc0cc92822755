"""Classes of service on SONiC: DSCP to traffic class, queue and priority group, PFC, headroom, watchdog, marking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.render.headroom import headroom_cells
from clusterwright.render.switch_view import traffic_classes

if TYPE_CHECKING:
    from clusterwright.render.switch_links import Link
    from clusterwright.render.switch_view import ClassView, SwitchView

MAP = "CLASSES"
LOSSLESS_POOL = "ingress_lossless_pool"
# What the watchdog of a port may not be told: SONiC's limits in milliseconds (sonic-pfcwd.yang).
LONGEST_DETECTION_MS, LONGEST_POLL_MS, SHORTEST_POLL_MS = 5000, 1000, 100
# Half of what is free, the usual share of one priority group (two to the power of dynamic_th).
SHARE = "-1"
RESUME_CELLS = 19
KBYTE = 1000


def qos_tables(view: SwitchView) -> dict[str, Any]:
    """All tables of the classes; none for a fabric without them."""
    classes = traffic_classes(view.fabric)
    if not classes:
        return {}
    lossless = [item for item in classes if item.entry.priority is not None]
    ports = [link.port.port for link in view.links]
    same = {str(item.number): str(item.number) for item in classes}
    queues = {str(item.number): str(item.entry.queue) for item in classes}
    port_map = {"dscp_to_tc_map": MAP, "tc_to_queue_map": MAP, "tc_to_pg_map": MAP}
    tables: dict[str, Any] = {
        "DSCP_TO_TC_MAP": {MAP: {str(dscp): str(item.number) for item in classes for dscp in item.dscp}},
        "TC_TO_QUEUE_MAP": {MAP: queues},
        "TC_TO_PRIORITY_GROUP_MAP": {MAP: same},
        "SCHEDULER": {_scheduler_name(item): _scheduler(item) for item in classes},
        "QUEUE": {f"{port}|{item.entry.queue}": _queue(item) for port in ports for item in classes},
        "WRED_PROFILE": {item.entry.name: _marking(item) for item in classes if item.entry.marking is not None},
    }
    if lossless:
        numbers = ",".join(str(item.number) for item in lossless)
        port_map |= {"pfc_to_queue_map": MAP, "pfc_enable": numbers, "pfcwd_sw_enable": numbers}
        tables["MAP_PFC_PRIORITY_TO_QUEUE"] = {MAP: {str(item.number): queues[str(item.number)] for item in lossless}}
        tables |= _buffers(view, lossless)
        tables["PFC_WD"] = _watchdog(view, ports)
    tables["PORT_QOS_MAP"] = dict.fromkeys(ports, port_map)
    return tables


def _scheduler_name(item: ClassView) -> str:
    return f"scheduler.{item.entry.name}"


def _scheduler(item: ClassView) -> dict[str, str]:
    if item.entry.strict:
        return {"type": "STRICT"}
    return {"type": "DWRR", "weight": str(min(100, item.entry.weight))}


def _queue(item: ClassView) -> dict[str, str]:
    marks = {} if item.entry.marking is None else {"wred_profile": item.entry.name}
    return {"scheduler": _scheduler_name(item)} | marks


def _marking(item: ClassView) -> dict[str, str]:
    marking = item.entry.marking
    if marking is None:
        return {}
    return {
        "ecn": "ecn_all",
        "wred_green_enable": "true",
        "green_min_threshold": str(marking.min_kbytes * KBYTE),
        "green_max_threshold": str(marking.max_kbytes * KBYTE),
        "green_drop_probability": str(marking.percent),
    }


def _buffers(view: SwitchView, lossless: list[ClassView]) -> dict[str, Any]:
    """A pool whose headroom part holds that of every port, and a profile for each speed and length of cable."""
    buffer = view.model.buffer
    if buffer is None:
        return {}
    profiles: dict[str, dict[str, str]] = {}
    groups = {}
    reserved = 0
    for link in view.links:
        name = _profile_name(link)
        headroom = headroom_cells(link.cable.speed_gbps, link.cable.length_m, view.fabric.mtu) * buffer.cell_bytes
        profiles[name] = {
            "pool": LOSSLESS_POOL,
            "size": str(RESUME_CELLS * buffer.cell_bytes),
            "dynamic_th": SHARE,
            "xon": str(RESUME_CELLS * buffer.cell_bytes),
            "xon_offset": str(RESUME_CELLS * buffer.cell_bytes),
            "xoff": str(headroom),
        }
        for item in lossless:
            groups[f"{link.port.port}|{item.number}"] = {"profile": name}
            reserved += headroom
    pool = {"type": "ingress", "mode": "dynamic", "size": str(buffer.size_bytes - reserved), "xoff": str(reserved)}
    return {
        "BUFFER_POOL": {LOSSLESS_POOL: pool},
        "BUFFER_PROFILE": dict(sorted(profiles.items())),
        "BUFFER_PG": groups,
        "CABLE_LENGTH": {"AZURE": {link.port.port: f"{link.cable.length_m:g}m" for link in view.links}},
    }


def _profile_name(link: Link) -> str:
    return f"pg_lossless_{link.cable.speed_gbps * 1000}_{link.cable.length_m:g}m_profile"


def _watchdog(view: SwitchView, ports: list[str]) -> dict[str, dict[str, str]]:
    times = view.fabric.pfc_watchdog
    detection_ms = min(times.detection_ms, LONGEST_DETECTION_MS)
    entry = {"action": "drop", "detection_time": str(detection_ms), "restoration_time": str(times.recovery_ms)}
    poll_ms = max(SHORTEST_POLL_MS, min(detection_ms // 2, times.recovery_ms, LONGEST_POLL_MS))
    return {"GLOBAL": {"POLL_INTERVAL": str(poll_ms)}} | dict.fromkeys(ports, entry)
