"""Checks of the lossless class on RoCE adapters: what is sent where, what is paused, and that nothing was lost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.node_health.adapters import statistics
from clusterwright.node_health.readings import Readings
from clusterwright.node_health.verdict import Check, Expected, check

_RDMA = "/sys/class/infiniband"
Fabric = Mapping[str, Any]


def lossless_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """Trust and DSCP map, PFC, traffic class, congestion control and its counters, drops; none without RoCE fabrics."""
    for name, fabric in expected["lossless"].items():
        nics = [nic for nic in expected["nics"] if nic["fabric"] == name]
        # Absent adapters fail another check. Before anything was read, all are taken to be there, and asked.
        nics = [nic for nic in nics if nic["interface"] in readings.names("/sys/class/net")] or nics
        interfaces = [nic["interface"] for nic in nics]
        devices = [nic["rdma"] for nic in nics if nic["rdma"]]
        yield _trust(readings, fabric, interfaces)
        yield _pfc(readings, fabric, interfaces)
        if fabric["traffic_class"] is not None:
            yield _traffic_class(readings, fabric, devices)
        yield _congestion(readings, fabric, interfaces)
        if not any(fabric["dcqcn"].values()):
            yield _notifications(readings, devices, expected["limits"]["congestion_notifications"])
        yield _drops(readings, fabric, interfaces, expected["limits"]["lossless_drops"])


def _trust(readings: Readings, fabric: Fabric, interfaces: list[str]) -> Check:
    wanted = {dscp: int(priority) for priority, dscps in fabric["priorities"].items() for dscp in dscps}
    wrong = []
    for interface in interfaces:
        asked = readings.run("mlnx_qos", "-i", interface)
        trust = re.search(r"Priority trust state: (\w+)", asked.text)
        rows = re.findall(r"prio:(\d) dscp:([\d,]+)", asked.text)
        held = {int(dscp): int(priority) for priority, row in rows for dscp in row.split(",") if dscp}
        moved = [dscp for dscp, priority in wanted.items() if held.get(dscp) != priority]
        if asked.trouble:
            wrong.append(f"{interface}: {asked.trouble}")
        elif trust is None or trust.group(1) != "dscp":
            wrong.append(f"{interface} trusts {trust.group(1) if trust is not None else 'nothing'}")
        elif moved:
            wrong.append(f"{interface} maps DSCP {moved[0]} to priority {held.get(moved[0])}, not {wanted[moved[0]]}")
    return check("lossless-dscp", f"{len(interfaces) - len(wrong)} of {len(interfaces)} as planned", "all", wrong)


def _pfc(readings: Readings, fabric: Fabric, interfaces: list[str]) -> Check:
    held = {}
    for interface in interfaces:
        asked = readings.run("mlnx_qos", "-i", interface)
        row = re.search(r"PFC configuration:\s+priority[\d ]+\s+enabled\s+([01 ]+)", asked.text)
        # Without any output the check of the map says why.
        held[interface] = ",".join(row.group(1).split()) if row is not None else fabric["pfc"] if asked.trouble else ""
    wrong = [f"{name} has {text or 'no row'}" for name, text in held.items() if text != fabric["pfc"]]
    return check("lossless-pfc", "; ".join(dict.fromkeys(held.values())), fabric["pfc"], wrong)


def _traffic_class(readings: Readings, fabric: Fabric, devices: list[str]) -> Check:
    held = {}
    for device in devices:
        text = readings.file(f"{_RDMA}/{device}/tc/1/traffic_class").text
        found = re.search(r"Global tclass=(\d+)", text)
        held[device] = int(found.group(1)) if found is not None else None
    wanted = fabric["traffic_class"]
    wrong = [f"{device} has {value}" for device, value in held.items() if value != wanted]
    return check("lossless-class", ", ".join(sorted({str(value) for value in held.values()})), wanted, wrong)


def _congestion(readings: Readings, fabric: Fabric, interfaces: list[str]) -> Check:
    wrong = []
    for interface in interfaces:
        for priority, enabled in fabric["dcqcn"].items():
            for side in ("roce_np", "roce_rp"):
                held = readings.file(f"/sys/class/net/{interface}/ecn/{side}/enable/{priority}").text.strip()
                if held != str(int(enabled)):
                    wrong.append(f"{interface} {side} of priority {priority} is {held or 'not there'}")
    wanted = ", ".join(f"{'on' if enabled else 'off'} for priority {p}" for p, enabled in fabric["dcqcn"].items())
    return check("lossless-dcqcn", wanted if not wrong else "see reason", wanted, wrong)


def _notifications(readings: Readings, devices: list[str], most: int) -> Check:
    """Congestion notifications where congestion control is off: somebody marks, or a neighbour has it on."""
    counts = _hardware_counters(readings, devices, ("np_cnp_sent", "rp_cnp_handled"))
    wrong = [f"{name} counts {count}" for name, count in counts.items() if not count.isdigit() or int(count) > most]
    return check("lossless-cnp", f"{len(counts)} counters", f"at most {most}", wrong)


def _hardware_counters(readings: Readings, devices: list[str], names: tuple[str, ...]) -> dict[str, str]:
    return {
        f"{device} {name}": readings.file(f"{_RDMA}/{device}/ports/1/hw_counters/{name}").text.strip()
        for device in devices
        for name in names
    }


def _drops(readings: Readings, fabric: Fabric, interfaces: list[str], most: int) -> Check:
    """Packets of a lossless priority that were dropped: pauses came too late, or the headroom is too small."""
    counts = {
        f"{interface} priority {priority}": statistics(readings, interface).get(f"rx_prio{priority}_discards", "")
        for interface in interfaces
        for priority in fabric["dcqcn"]
    }
    lost = [name for name, count in counts.items() if not count.isdigit() or int(count) > most]
    wrong = [f"{name} dropped {counts[name] or 'an unknown number'}" for name in lost]
    return check("lossless-drops", f"{len(counts)} counters", f"at most {most}", wrong)
