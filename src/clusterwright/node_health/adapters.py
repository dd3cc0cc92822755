"""Checks of the network adapters: they are where the plan puts them, up, at their rate, and without errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.node_health.readings import Readings, number
from clusterwright.node_health.verdict import Check, Expected, check

_NET, _RDMA = "/sys/class/net", "/sys/class/infiniband"
_S_PER_HOUR = 3600
# NVIDIA, "Understanding mlx5 Linux Counters": sequence errors that a peer reported, silence until the timeout.
_SENT_AGAIN = ("packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err")
_NOBODY = "00:00:00:00:00:00"
Nic = Mapping[str, Any]


def adapter_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """Every planned adapter is there, up, at its rate and MTU, has its GID, and counts no more errors than allowed."""
    nics = expected["nics"]
    if not nics:
        return
    # Everything is asked of every adapter, so that all questions can be put at once; absent ones are judged once.
    misplaced = {nic["interface"]: reason for nic in nics for reason in _misplaced(readings, nic)}
    yield check("nic-count", len(nics) - len(misplaced), len(nics), misplaced.values())
    states = {nic["interface"]: _state(readings, nic) for nic in nics}
    present = frozenset(states) - frozenset(misplaced)
    up = frozenset(name for name in present if states[name] == "up")
    wrong = [f"{name} is {state}" for name, state in states.items() if name in present - up]
    yield check("nic-state", _summary(states, present), "all up", wrong)
    rates = {nic["interface"]: _rate_gbps(readings, nic) for nic in nics}
    wanted = {nic["interface"]: float(nic["rate_gbps"]) for nic in nics}
    slow = [name for name in sorted(up) if rates[name] != wanted[name]]
    wrong = [f"{name} runs at {rates[name]:g} of {wanted[name]:g} Gb/s" for name in slow]
    yield check("nic-rate", _summary(rates, up), _summary(wanted), wrong)
    yield _mtus(readings, nics, present)
    if any(nic["rdma_mtu"] for nic in nics):
        yield _rdma_mtu(readings, nics, up)
    if any(nic.get("gid") for nic in nics):
        yield _gids(readings, nics, up)
    if any(nic.get("bond") for nic in nics):
        yield _bonds(readings, nics, present)
    if expected.get("partition"):
        yield _partition(readings, expected["partition"])
    yield _link_downs(readings, nics, present, expected["limits"]["link_downs"])
    hours = _hours(readings)
    yield _errors(readings, nics, present, hours, expected["limits"]["link_errors_per_hour"])
    carriers = {nic["interface"]: nic["rdma"] for nic in nics if nic["rdma"] and nic["link"] != "ethernet"}
    if carriers:
        yield _retransmissions(readings, carriers, present, hours, expected["limits"]["retransmissions_per_hour"])


def _mtus(readings: Readings, nics: list[Nic], present: frozenset[str]) -> Check:
    held = {nic["interface"]: _line(readings, f"{_NET}/{nic['interface']}/mtu") for nic in nics if nic["mtu"]}
    wanted = {nic["interface"]: str(nic["mtu"]) for nic in nics if nic["mtu"]}
    wrong = [
        f"{name} has an MTU of {held[name] or 'nothing'}"
        for name in wanted
        if name in present and held[name] != wanted[name]
    ]
    return check("nic-mtu", _summary(held, present), _summary(wanted), wrong)


def _misplaced(readings: Readings, nic: Nic) -> Iterator[str]:
    """Why an adapter is not where the plan has it, in one reason."""
    names = [(_NET, nic["interface"])] if nic["link"] != "infiniband" else []
    names += [(_RDMA, nic["rdma"])] if nic["rdma"] is not None else []
    places = {name: readings.target(f"{folder}/{name}/device") for folder, name in names}
    for name, place in places.items():
        if not place:
            yield f"{name} is missing"
            return
        if nic["pci"] and nic["pci"] not in place.split("/"):
            yield f"{name} is not at {nic['pci']}"
            return


def _state(readings: Readings, nic: Nic) -> str:
    link, port = "up", "ACTIVE"
    if nic["link"] != "infiniband":
        link = _line(readings, f"{_NET}/{nic['interface']}/operstate") or "silent"
    if nic["rdma"] is not None:
        port = _line(readings, f"{_RDMA}/{nic['rdma']}/ports/1/state").split(" ")[-1] or "silent"
    return link if link != "up" else "up" if port == "ACTIVE" else port


def _rate_gbps(readings: Readings, nic: Nic) -> float:
    if nic["link"] == "infiniband":
        text = _line(readings, f"{_RDMA}/{nic['rdma']}/ports/1/rate").split(" ")[0]  # 400 Gb/sec (4X NDR)
        return number(text)
    text = _line(readings, f"{_NET}/{nic['interface']}/speed")
    return int(text) / 1000 if text.isdigit() else 0


def _rdma_mtu(readings: Readings, nics: list[Nic], up: frozenset[str]) -> Check:
    """The MTU that RDMA connections will use, which the verbs library alone tells."""
    asked = readings.run("ibv_devinfo")
    held = dict(re.findall(r"hca_id:\s+(\S+)(?:(?!hca_id:).)*?active_mtu:\s+(\d+)", asked.text, re.DOTALL))
    wanted = {nic["rdma"]: str(nic["rdma_mtu"]) for nic in nics if nic["rdma_mtu"] and nic["interface"] in up}
    wrong = [f"{name} has {held.get(name, 'nothing')}" for name, mtu in wanted.items() if held.get(name) != mtu]
    observed = _summary({name: held.get(name, "nothing") for name in wanted})
    return check("nic-rdma-mtu", observed, _summary(wanted), [asked.trouble] if asked.trouble else wrong)


def _gids(readings: Readings, nics: list[Nic], up: frozenset[str]) -> Check:
    wrong, found = [], 0
    for nic in nics:
        if not nic.get("gid"):
            continue
        port = f"{_RDMA}/{nic['rdma']}/ports/1"
        held = readings.files(f"{port}/gids/*")
        types = readings.files(f"{port}/gid_attrs/types/*")
        indexes = [path.rsplit("/", 1)[1] for path, gid in held.items() if gid == nic["gid"]]
        if any(types.get(f"{port}/gid_attrs/types/{index}") == nic["gid_type"] for index in indexes):
            found += 1
        elif nic["interface"] in up:
            wrong.append(f"{nic['rdma']} has no {nic['gid_type']} GID {nic['gid']}")
    return check("nic-gids", found, found + len(wrong), wrong)


def _partition(readings: Readings, partition: Mapping[str, Any]) -> Check:
    """The index that NCCL was given leads to the planned partition on every adapter."""
    lines = readings.file(partition["file"]).text.split("\n")
    given = [line.partition("=")[2] for line in lines if line.startswith("NCCL_IB_PKEY=")]
    index = given[0] if given and given[0].isdigit() else ""
    wrong, found = [], 0
    for device in partition["devices"]:
        held = readings.files(f"{_RDMA}/{device}/ports/1/pkeys/*")
        indexes = [path.rsplit("/", 1)[1] for path, key in held.items() if key == partition["key"]]
        if index and index in indexes:
            found += 1
        elif not indexes:
            wrong.append(f"{device} is not in partition {partition['name']} ({partition['key']})")
        else:
            wrong.append(f"{device} has {partition['name']} at index {indexes[0]}, NCCL was given {index or 'none'}")
    return check("nic-partition", found, len(partition["devices"]), wrong)


def _bonds(readings: Readings, nics: list[Nic], present: frozenset[str]) -> Check:
    """Adapters that are one link to one switch: LACP has joined them all to the group that is in use."""
    wrong, found = [], 0
    for nic in nics:
        name, bond = nic["interface"], nic.get("bond")
        if not bond:
            continue
        link, own = f"{_NET}/{bond}/bonding", f"{_NET}/{name}/bonding_slave"
        mode = _line(readings, f"{link}/mode")
        partner = _line(readings, f"{link}/ad_partner_mac")
        groups = {_line(readings, f"{own}/ad_aggregator_id"), _line(readings, f"{link}/ad_aggregator")}
        if name not in present:
            continue
        if not mode.startswith("802.3ad "):
            wrong.append(f"{bond} is {mode or 'missing'}")
        elif partner in ("", _NOBODY):
            wrong.append(f"{bond} has no partner that speaks LACP")
        elif len(groups) > 1 or groups == {""}:
            wrong.append(f"{name} is not joined to {bond}")
        else:
            found += 1
    return check("nic-bonds", found, sum(bool(nic.get("bond")) for nic in nics), wrong)


def _link_downs(readings: Readings, nics: list[Nic], present: frozenset[str], most: int) -> Check:
    counts = {}
    for nic in nics:
        if nic["link"] == "infiniband":
            text = _line(readings, f"{_RDMA}/{nic['rdma']}/ports/1/counters/link_downed")
        elif nic["link"] == "roce":
            text = statistics(readings, nic["interface"]).get("link_down_events_phy", "")
        else:
            text = _line(readings, f"{_NET}/{nic['interface']}/carrier_down_count")
        counts[nic["interface"]] = text
    counts = {name: count for name, count in counts.items() if name in present}
    return _counted("nic-link-downs", counts, most, "times down since boot")


def _hours(readings: Readings) -> float:
    """How long the node has run; the first hour counts as a whole one."""
    return max(1.0, number(readings.file("/proc/uptime").text.split(" ")[0]) / _S_PER_HOUR)


def _errors(readings: Readings, nics: list[Nic], present: frozenset[str], hours: float, per_hour: float) -> Check:
    """Errors left after correction, against the time the node has run."""
    counts = {}
    for nic in nics:
        if nic["link"] == "infiniband":
            texts = [_line(readings, f"{_RDMA}/{nic['rdma']}/ports/1/counters/symbol_error")]
        elif nic["link"] == "roce":
            held = statistics(readings, nic["interface"])
            texts = [held.get(name, "") for name in ("rx_symbol_err_phy", "rx_crc_errors_phy")]
        else:
            texts = [_line(readings, f"{_NET}/{nic['interface']}/statistics/rx_crc_errors")]
        counts[nic["interface"]] = str(sum(map(int, texts))) if all(map(str.isdigit, texts)) else ""
    counts = {name: count for name, count in counts.items() if name in present}
    return _counted("nic-errors", counts, int(per_hour * hours), f"errors in {hours:.0f} h")


def _retransmissions(
    readings: Readings, carriers: Mapping[str, str], present: frozenset[str], hours: float, per_hour: float
) -> Check:
    """What RDMA had to send again (mlx5's counters): a fabric that drops, which PFC and link errors do not show."""
    counts = {}
    for name, device in carriers.items():
        texts = [_line(readings, f"{_RDMA}/{device}/ports/1/hw_counters/{each}") for each in _SENT_AGAIN]
        counts[name] = str(sum(map(int, texts))) if all(map(str.isdigit, texts)) else ""
    counts = {name: count for name, count in counts.items() if name in present}
    return _counted("nic-retransmissions", counts, int(per_hour * hours), f"times sent again in {hours:.0f} h")


def _counted(name: str, counts: Mapping[str, str], most: int, what: str) -> Check:
    wrong = [
        f"{nic} {count} {what}" if count.isdigit() else f"{nic} does not tell its counters"
        for nic, count in counts.items()
        if not count.isdigit() or int(count) > most
    ]
    return check(name, _summary(counts), f"at most {most}", wrong)


def statistics(readings: Readings, interface: str) -> dict[str, str]:
    """The driver's counters of an interface, by name."""
    lines = readings.run("ethtool", "-S", interface).text.splitlines()
    pairs = (line.strip().partition(": ") for line in lines)
    return {name: text for name, colon, text in pairs if colon}


def _line(readings: Readings, path: str) -> str:
    return readings.file(path).text.strip()


def _summary(held: Mapping[str, Any], among: frozenset[str] | None = None) -> str:
    """Values with how often they occur, of all adapters or some: all that is worth reading of equal ones."""
    chosen = [value for name, value in held.items() if among is None or name in among]
    values = [f"{value:g}" if isinstance(value, float) else str(value) for value in chosen]
    return ", ".join(f"{values.count(value)} x {value or 'nothing'}" for value in dict.fromkeys(values)) or "none"
