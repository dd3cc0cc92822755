"""Checks of the lossless class on RoCE adapters: DSCP map, PFC, traffic class, congestion control and drops."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.node_health.adapters import statistics
from clusterwright.node_health.readings import Readings
from clusterwright.node_health.verdict import Check, Expected, check

_RDMA = "/sys/class/infiniband"
_DSCP_ROW = re.compile(r"prio:(\d) dscp:([\d,]+)")
_PFC_ROW = re.compile(r"PFC configuration:\s+priority[\d ]+\s+enabled\s+([01 ]+)")
# Sides of a RoCE connection (NVIDIA, "Explicit Congestion Notification"): notification and reaction point.
_DCQCN_SIDES = ("roce_np", "roce_rp")
_NOTIFICATION_COUNTERS = ("np_cnp_sent", "rp_cnp_handled")
Fabric = Mapping[str, Any]


def lossless_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """Checks of each lossless RoCE fabric; none without one."""
    for name, fabric in expected["lossless"].items():
        nics = [nic for nic in expected["nics"] if nic["fabric"] == name]
        present = readings.names("/sys/class/net")
        # An absent adapter fails nic-count. Before the first reading none is known to be present: all are read.
        nics = [nic for nic in nics if nic["interface"] in present] or nics
        interfaces = [nic["interface"] for nic in nics]
        devices = [nic["rdma"] for nic in nics if nic["rdma"]]
        yield _trust(readings, fabric, interfaces)
        yield _pfc(readings, fabric, interfaces)
        if fabric["traffic_class"] is not None:
            yield _traffic_class(readings, fabric, devices)
        yield _congestion_control(readings, fabric, interfaces)
        if not any(fabric["dcqcn"].values()):
            yield _notifications(readings, devices, expected["limits"]["congestion_notifications"])
        yield _drops(readings, fabric, interfaces, expected["limits"]["lossless_drops"])


def _trust(readings: Readings, fabric: Fabric, interfaces: list[str]) -> Check:
    """Trust in DSCP, and the map of DSCP values to priorities."""
    planned_priority: dict[int, int] = {}
    for priority, dscps in fabric["priorities"].items():
        for dscp in dscps:
            planned_priority[dscp] = int(priority)
    reasons = []
    for interface in interfaces:
        reason = _trust_reason(readings, interface, planned_priority)
        if reason:
            reasons.append(reason)
    observed = f"{len(interfaces) - len(reasons)} of {len(interfaces)} as planned"
    return check("lossless-dscp", observed, "all", reasons)


def _trust_reason(readings: Readings, interface: str, planned_priority: Mapping[int, int]) -> str:
    """Difference of an interface's trust and DSCP map from the plan; "" for none."""
    settings = readings.run("mlnx_qos", "-i", interface)
    if settings.error:
        return f"{interface}: {settings.error}"
    trust = re.search(r"Priority trust state: (\w+)", settings.text)
    if trust is None:
        return f"{interface} trusts nothing"
    if trust.group(1) != "dscp":
        return f"{interface} trusts {trust.group(1)}"
    priorities = _priorities(settings.text)
    for dscp, planned in planned_priority.items():
        priority = priorities.get(dscp)
        if priority != planned:
            return f"{interface} maps DSCP {dscp} to priority {priority}, not {planned}"
    return ""


def _priorities(settings: str) -> dict[int, int]:
    """Priority by DSCP value in mlnx_qos' output."""
    priority_by_dscp = {}
    for priority, dscps in _DSCP_ROW.findall(settings):
        for dscp in filter(None, dscps.split(",")):
            priority_by_dscp[int(dscp)] = int(priority)
    return priority_by_dscp


def _pfc(readings: Readings, fabric: Fabric, interfaces: list[str]) -> Check:
    planned = fabric["pfc"]
    enabled_by_interface = {interface: _pfc_row(readings, interface, planned) for interface in interfaces}
    reasons = []
    for interface, enabled in enabled_by_interface.items():
        if enabled != planned:
            reasons.append(f"{interface} has {enabled or 'no row'}")
    observed = "; ".join(dict.fromkeys(enabled_by_interface.values()))
    return check("lossless-pfc", observed, planned, reasons)


def _pfc_row(readings: Readings, interface: str, planned: str) -> str:
    """PFC of an interface, such as ``0,0,0,1,0,0,0,0``; "" without a row, the planned one without any output."""
    settings = readings.run("mlnx_qos", "-i", interface)
    row = _PFC_ROW.search(settings.text)
    if row is not None:
        return ",".join(row.group(1).split())
    # The check of the DSCP map fails with this error already.
    return planned if settings.error else ""


def _traffic_class(readings: Readings, fabric: Fabric, devices: list[str]) -> Check:
    planned = fabric["traffic_class"]
    class_by_device: dict[str, int | None] = {}
    for device in devices:
        setting = readings.file(f"{_RDMA}/{device}/tc/1/traffic_class").text
        traffic_class = re.search(r"Global tclass=(\d+)", setting)
        class_by_device[device] = int(traffic_class.group(1)) if traffic_class is not None else None
    reasons = [f"{device} has {value}" for device, value in class_by_device.items() if value != planned]
    observed = ", ".join(sorted({str(value) for value in class_by_device.values()}))
    return check("lossless-class", observed, planned, reasons)


def _congestion_control(readings: Readings, fabric: Fabric, interfaces: list[str]) -> Check:
    reasons = []
    for interface in interfaces:
        for priority, is_enabled in fabric["dcqcn"].items():
            for side in _DCQCN_SIDES:
                state = readings.line(f"/sys/class/net/{interface}/ecn/{side}/enable/{priority}")
                if state != str(int(is_enabled)):
                    reasons.append(f"{interface} {side} of priority {priority} is {state or 'not there'}")
    planned_states = []
    for priority, is_enabled in fabric["dcqcn"].items():
        state = "on" if is_enabled else "off"
        planned_states.append(f"{state} for priority {priority}")
    planned = ", ".join(planned_states)
    return check("lossless-dcqcn", "see reason" if reasons else planned, planned, reasons)


def _notifications(readings: Readings, devices: list[str], maximum: int) -> Check:
    """Congestion notifications where congestion control is off: a switch marks packets, or a peer has it enabled."""
    count_by_counter = {}
    for device in devices:
        for counter in _NOTIFICATION_COUNTERS:
            path = f"{_RDMA}/{device}/ports/1/hw_counters/{counter}"
            count_by_counter[f"{device} {counter}"] = readings.line(path)
    reasons = []
    for counter, count in count_by_counter.items():
        if not count.isdigit() or int(count) > maximum:
            reasons.append(f"{counter} counts {count}")
    return check("lossless-cnp", f"{len(count_by_counter)} counters", f"at most {maximum}", reasons)


def _drops(readings: Readings, fabric: Fabric, interfaces: list[str], maximum: int) -> Check:
    """Dropped packets of the lossless priorities: pauses came too late, or the headroom is too small."""
    counter_count = 0
    reasons = []
    for interface in interfaces:
        count_by_counter = statistics(readings, interface)
        for priority in fabric["dcqcn"]:
            counter_count += 1
            count = count_by_counter.get(f"rx_prio{priority}_discards", "")
            if not count.isdigit() or int(count) > maximum:
                reasons.append(f"{interface} priority {priority} dropped {count or 'an unknown number'}")
    return check("lossless-drops", f"{counter_count} counters", f"at most {maximum}", reasons)
