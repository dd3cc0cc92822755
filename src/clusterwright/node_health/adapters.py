"""Checks of network adapters: PCIe address, state, rate, MTU, GIDs, bonds, partition and error counters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clusterwright.node_health.readings import Readings, number
from clusterwright.node_health.verdict import Check, Expected, check

_NET, _RDMA = "/sys/class/net", "/sys/class/infiniband"
_S_PER_HOUR = 3600
# NVIDIA, "Understanding mlx5 Linux Counters": sequence errors that a peer reported, silence until the timeout.
_RETRANSMISSION_COUNTERS = ("packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err")
_ERROR_COUNTERS = ("rx_symbol_err_phy", "rx_crc_errors_phy")
# A LACP group without a partner has this address (Linux, Documentation/networking/bonding.rst).
_NO_PARTNER = "00:00:00:00:00:00"
Nic = Mapping[str, Any]
Names = frozenset[str]
"""Interfaces, such as those of the present adapters."""


def adapter_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """Checks of the planned network adapters; none without one."""
    nics = expected["nics"]
    limits = expected["limits"]
    if not nics:
        return
    # Every adapter is read in full, so that all commands run in parallel. An absent one fails nic-count and no other.
    misplaced = _misplaced(readings, nics)
    yield check("nic-count", len(nics) - len(misplaced), len(nics), misplaced.values())
    state_by_name = {nic["interface"]: _state(readings, nic) for nic in nics}
    present = frozenset(state_by_name) - frozenset(misplaced)
    up = frozenset(name for name in present if state_by_name[name] == "up")
    yield _states(state_by_name, present)
    yield _rates(readings, nics, up)
    yield _mtus(readings, nics, present)
    if any(nic["rdma_mtu"] for nic in nics):
        yield _rdma_mtus(readings, nics, up)
    if any(nic.get("gid") for nic in nics):
        yield _gids(readings, nics, up)
    if any(nic.get("bond") for nic in nics):
        yield _bonds(readings, nics, present)
    if expected.get("partition"):
        yield _partition(readings, expected["partition"])
    yield _link_downs(readings, nics, present, limits["link_downs"])
    hours = _uptime_hours(readings)
    yield _errors(readings, nics, present, hours, limits["link_errors_per_hour"])
    rdma_nics = [nic for nic in nics if nic["rdma"] and nic["link"] != "ethernet"]
    if rdma_nics:
        yield _retransmissions(readings, rdma_nics, present, hours, limits["retransmissions_per_hour"])


def _misplaced(readings: Readings, nics: Iterable[Nic]) -> dict[str, str]:
    """Reasons by interface for the adapters missing at their planned PCIe address."""
    reasons = {}
    for nic in nics:
        reason = _place_reason(readings, nic)
        if reason:
            reasons[nic["interface"]] = reason
    return reasons


def _place_reason(readings: Readings, nic: Nic) -> str:
    paths = {}
    if nic["link"] != "infiniband":
        paths[nic["interface"]] = f"{_NET}/{nic['interface']}/device"
    if nic["rdma"] is not None:
        paths[nic["rdma"]] = f"{_RDMA}/{nic['rdma']}/device"
    targets = {name: readings.target(path) for name, path in paths.items()}
    for name, target in targets.items():
        if not target:
            return f"{name} is missing"
        if nic["pci"] and nic["pci"] not in target.split("/"):
            return f"{name} is not at {nic['pci']}"
    return ""


def _state(readings: Readings, nic: Nic) -> str:
    """``up``, or the state of the interface or RDMA port that is down."""
    link_state, port_state = "up", "ACTIVE"
    if nic["link"] != "infiniband":
        link_state = readings.line(f"{_NET}/{nic['interface']}/operstate") or "silent"
    if nic["rdma"] is not None:
        # Such as "4: ACTIVE".
        port_state = readings.line(f"{_RDMA}/{nic['rdma']}/ports/1/state").split(" ")[-1] or "silent"
    if link_state != "up":
        return link_state
    return "up" if port_state == "ACTIVE" else port_state


def _states(state_by_name: Mapping[str, str], present: Names) -> Check:
    reasons = []
    for name, state in state_by_name.items():
        if name in present and state != "up":
            reasons.append(f"{name} is {state}")
    return check("nic-state", _summary(_among(state_by_name, present)), "all up", reasons)


def _rates(readings: Readings, nics: Iterable[Nic], up: Names) -> Check:
    rate_gbps = {nic["interface"]: _rate_gbps(readings, nic) for nic in nics}
    planned_gbps = {nic["interface"]: float(nic["rate_gbps"]) for nic in nics}
    reasons = []
    for name in sorted(up):
        if rate_gbps[name] != planned_gbps[name]:
            reasons.append(f"{name} runs at {rate_gbps[name]:g} of {planned_gbps[name]:g} Gb/s")
    return check("nic-rate", _summary(_among(rate_gbps, up)), _summary(planned_gbps), reasons)


def _rate_gbps(readings: Readings, nic: Nic) -> float:
    if nic["link"] == "infiniband":
        # Such as "400 Gb/sec (4X NDR)".
        rate = readings.line(f"{_RDMA}/{nic['rdma']}/ports/1/rate")
        return number(rate.split(" ")[0])
    speed_mbps = readings.line(f"{_NET}/{nic['interface']}/speed")
    return int(speed_mbps) / 1000 if speed_mbps.isdigit() else 0


def _mtus(readings: Readings, nics: Iterable[Nic], present: Names) -> Check:
    planned_mtu = {nic["interface"]: str(nic["mtu"]) for nic in nics if nic["mtu"]}
    mtu_by_name = {name: readings.line(f"{_NET}/{name}/mtu") for name in planned_mtu}
    reasons = []
    for name, mtu in _among(mtu_by_name, present).items():
        if mtu != planned_mtu[name]:
            reasons.append(f"{name} has an MTU of {mtu or 'nothing'}")
    return check("nic-mtu", _summary(_among(mtu_by_name, present)), _summary(planned_mtu), reasons)


def _rdma_mtus(readings: Readings, nics: Iterable[Nic], up: Names) -> Check:
    """MTUs of RDMA connections, which only the verbs library reports."""
    planned_mtu = {nic["rdma"]: str(nic["rdma_mtu"]) for nic in nics if nic["rdma_mtu"] and nic["interface"] in up}
    info = readings.run("ibv_devinfo")
    mtu_by_device = dict(re.findall(r"hca_id:\s+(\S+)(?:(?!hca_id:).)*?active_mtu:\s+(\d+)", info.text, re.DOTALL))
    mtus = {device: mtu_by_device.get(device, "nothing") for device in planned_mtu}
    reasons = [f"{device} has {mtu}" for device, mtu in mtus.items() if mtu != planned_mtu[device]]
    return check("nic-rdma-mtu", _summary(mtus), _summary(planned_mtu), reasons, info.error)


def _gids(readings: Readings, nics: Iterable[Nic], up: Names) -> Check:
    present_gids = 0
    reasons = []
    for nic in nics:
        if not nic.get("gid"):
            continue
        if _has_gid(readings, nic):
            present_gids += 1
        elif nic["interface"] in up:
            reasons.append(f"{nic['rdma']} has no {nic['gid_type']} GID {nic['gid']}")
    return check("nic-gids", present_gids, present_gids + len(reasons), reasons)


def _has_gid(readings: Readings, nic: Nic) -> bool:
    port = f"{_RDMA}/{nic['rdma']}/ports/1"
    gid_by_path = readings.files(f"{port}/gids/*")
    type_by_path = readings.files(f"{port}/gid_attrs/types/*")
    for path, gid in gid_by_path.items():
        index = path.rpartition("/")[2]
        gid_type = type_by_path.get(f"{port}/gid_attrs/types/{index}")
        if gid == nic["gid"] and gid_type == nic["gid_type"]:
            return True
    return False


def _partition(readings: Readings, partition: Mapping[str, Any]) -> Check:
    """NCCL's configured index into the partition key tables: the planned partition on every adapter."""
    index = _configured_pkey_index(readings.file(partition["file"]).text)
    correct_devices = 0
    reasons = []
    for device in partition["devices"]:
        key_by_path = readings.files(f"{_RDMA}/{device}/ports/1/pkeys/*")
        indexes = [path.rpartition("/")[2] for path, key in key_by_path.items() if key == partition["key"]]
        if index and index in indexes:
            correct_devices += 1
        elif not indexes:
            reasons.append(f"{device} is not in partition {partition['name']} ({partition['key']})")
        else:
            place = f"{partition['name']} at index {indexes[0]}"
            reasons.append(f"{device} has {place}, NCCL was given {index or 'none'}")
    return check("nic-partition", correct_devices, len(partition["devices"]), reasons)


def _configured_pkey_index(nccl_configuration: str) -> str:
    for line in nccl_configuration.split("\n"):
        if line.startswith("NCCL_IB_PKEY="):
            index = line.partition("=")[2]
            return index if index.isdigit() else ""
    return ""


def _bonds(readings: Readings, nics: Iterable[Nic], present: Names) -> Check:
    """Adapters bonded to one switch: members of the bond's active LACP aggregator."""
    bonded_nics = [nic for nic in nics if nic.get("bond")]
    joined_nics = 0
    reasons = []
    for nic in bonded_nics:
        reason = _bond_reason(readings, nic["interface"], nic["bond"])
        if nic["interface"] not in present:
            continue
        if reason:
            reasons.append(reason)
        else:
            joined_nics += 1
    return check("nic-bonds", joined_nics, len(bonded_nics), reasons)


def _bond_reason(readings: Readings, interface: str, bond: str) -> str:
    """Why an interface is no active member of its bond; "" for an active member."""
    mode = readings.line(f"{_NET}/{bond}/bonding/mode")
    partner = readings.line(f"{_NET}/{bond}/bonding/ad_partner_mac")
    active_aggregator = readings.line(f"{_NET}/{bond}/bonding/ad_aggregator")
    aggregator = readings.line(f"{_NET}/{interface}/bonding_slave/ad_aggregator_id")
    if not mode.startswith("802.3ad "):
        return f"{bond} is {mode or 'missing'}"
    if partner in ("", _NO_PARTNER):
        return f"{bond} has no partner that speaks LACP"
    if aggregator == "" or aggregator != active_aggregator:
        return f"{interface} is not joined to {bond}"
    return ""


def _link_downs(readings: Readings, nics: Iterable[Nic], present: Names, maximum: int) -> Check:
    counts = {nic["interface"]: _link_down_count(readings, nic) for nic in nics}
    return _counted("nic-link-downs", _among(counts, present), maximum, "times down since boot")


def _link_down_count(readings: Readings, nic: Nic) -> str:
    if nic["link"] == "infiniband":
        return readings.line(f"{_RDMA}/{nic['rdma']}/ports/1/counters/link_downed")
    if nic["link"] == "roce":
        return statistics(readings, nic["interface"]).get("link_down_events_phy", "")
    return readings.line(f"{_NET}/{nic['interface']}/carrier_down_count")


def _uptime_hours(readings: Readings) -> float:
    """Hours since boot, at least 1."""
    uptime_s = number(readings.file("/proc/uptime").text.split(" ")[0])
    return max(1.0, uptime_s / _S_PER_HOUR)


def _errors(readings: Readings, nics: Iterable[Nic], present: Names, hours: float, maximum_per_hour: float) -> Check:
    """Symbol and CRC errors left by error correction, in proportion to the time since boot."""
    counts = {nic["interface"]: _sum(_error_counts(readings, nic)) for nic in nics}
    maximum = int(maximum_per_hour * hours)
    return _counted("nic-errors", _among(counts, present), maximum, f"errors in {hours:.0f} h")


def _error_counts(readings: Readings, nic: Nic) -> list[str]:
    if nic["link"] == "infiniband":
        return [readings.line(f"{_RDMA}/{nic['rdma']}/ports/1/counters/symbol_error")]
    if nic["link"] == "roce":
        count_by_counter = statistics(readings, nic["interface"])
        return [count_by_counter.get(counter, "") for counter in _ERROR_COUNTERS]
    return [readings.line(f"{_NET}/{nic['interface']}/statistics/rx_crc_errors")]


def _retransmissions(
    readings: Readings, nics: Iterable[Nic], present: Names, hours: float, maximum_per_hour: float
) -> Check:
    """Retransmissions of RDMA (mlx5's counters): a fabric drops packets, unseen by PFC and link errors."""
    counts = {}
    for nic in nics:
        counters = f"{_RDMA}/{nic['rdma']}/ports/1/hw_counters"
        counts[nic["interface"]] = _sum([readings.line(f"{counters}/{name}") for name in _RETRANSMISSION_COUNTERS])
    maximum = int(maximum_per_hour * hours)
    return _counted("nic-retransmissions", _among(counts, present), maximum, f"times sent again in {hours:.0f} h")


def _sum(counts: list[str]) -> str:
    """Sum of counters; "" if one of them is unreadable."""
    if not all(map(str.isdigit, counts)):
        return ""
    return str(sum(map(int, counts)))


def _counted(check_name: str, counts: Mapping[str, str], maximum: int, event: str) -> Check:
    """A check of one counter for each interface; "" is an unreadable counter, and fails."""
    reasons = []
    for interface, count in counts.items():
        if not count.isdigit():
            reasons.append(f"{interface} does not tell its counters")
        elif int(count) > maximum:
            reasons.append(f"{interface} {count} {event}")
    return check(check_name, _summary(counts), f"at most {maximum}", reasons)


def statistics(readings: Readings, interface: str) -> dict[str, str]:
    """Driver counters of an interface by name."""
    count_by_name = {}
    for line in readings.run("ethtool", "-S", interface).text.splitlines():
        name, separator, count = line.strip().partition(": ")
        if separator:
            count_by_name[name] = count
    return count_by_name


def _among(values: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """Values of the named interfaces, in their order."""
    return {name: value for name, value in values.items() if name in names}


def _summary(values: Mapping[str, Any]) -> str:
    """Distinct values with their number, such as ``8 x 400, 1 x 100``."""
    formatted_values = []
    for value in values.values():
        formatted = f"{value:g}" if isinstance(value, float) else str(value)
        formatted_values.append(formatted or "nothing")
    parts = [f"{formatted_values.count(value)} x {value}" for value in dict.fromkeys(formatted_values)]
    return ", ".join(parts) or "none"
