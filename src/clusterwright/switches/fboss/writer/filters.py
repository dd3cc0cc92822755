"""Filters of FBOSS's agent: an ingress group of ACL tables, permits above denies.

Within one table the agent places every deny before every permit (ApplyThriftConfig), so the permits stand in a table of
their own with a greater priority. An entry matches one prefix and one port on each side; the permits name no switch
port, since hosts' own prefixes are their sources, and the denies name nothing else.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from clusterwright.intent.edge import host_permits, is_host_port
from clusterwright.plan.model import format_network
from clusterwright.spec.hardware.systems import filter_tables_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.intent.edge_filters import PermitShapes
    from clusterwright.intent.filter_entries import Permit
    from clusterwright.intent.switch import SwitchView
    from clusterwright.plan.model import Plan

# The agent's flag for configurations with more than one table.
COMMAND_LINE = {"enable_acl_table_group": "true"}
SYSTEM = "fboss"
INGRESS = 0
DENY, PERMIT = 0, 1
IP_PACKETS = 1
PACKET_ACTION, COUNTER = 0, 1
PACKETS = 0
DENIES_PRIORITY = 1
PROTOCOLS = {"tcp": 6, "udp": 17}
ICMP_PROTOCOLS = {4: 1, 6: 58}
# Addresses, ports, protocol, TCP flags, ICMP types in both versions.
PERMIT_QUALIFIERS = (0, 1, 2, 3, 4, 5, 6, 7, 11, 13)
# Source port, IP type, outer VLAN.
DENY_QUALIFIERS = (8, 17, 23)


@dataclass(frozen=True, slots=True)
class FbossFilters:
    """The agent's filters."""

    group: dict[str, Any]
    """``aclTableGroup``."""
    actions: list[dict[str, Any]]
    """The counter of each entry."""
    counters: list[dict[str, Any]]
    """The counters named in ``actions``."""


def fboss_filters(plan: Plan, view: SwitchView, host_vlan: int) -> FbossFilters | None:
    """Permits of the hosts behind a switch; None without a filter. ``host_vlan`` is that of a shared subnet."""
    permits = host_permits(plan, view, single_ports=True)
    if permits is None:
        return None
    sources = [format_network(source) for source in permits.sources]
    shaped = _shaped_entries(permits.of_kind)
    entries = [_entry(shape, sources) for shape in shaped]
    actions = [{"matcher": shape.name, "action": {"counter": shape.counter}} for shape in shaped]
    counters = dict.fromkeys(shape.counter for shape in shaped)
    return FbossFilters(
        group={"name": "hosts", "stage": INGRESS, "aclTables": _tables(view, host_vlan, entries)},
        actions=actions,
        counters=[{"name": name, "types": [PACKETS]} for name in counters],
    )


@dataclass(frozen=True, slots=True)
class _ShapedEntry:
    """An entry of a table, for every switch with zones in equal positions."""

    name: str
    counter: str
    source: int | None
    """Index of the matched source among those of the switch; None for any address."""
    match: dict[str, Any]
    """The conditions beside its source."""


@lru_cache(maxsize=256)
def _shaped_entries(of_kind: PermitShapes) -> tuple[_ShapedEntry, ...]:
    """The entries of all switches of a kind; thousands of switches are of a few kinds."""
    numbers: Counter[str] = Counter()
    entries = []
    for permit, sources in of_kind.shapes:
        counter = permit.name.replace(" ", "-")
        matches = list(_matches(permit))
        for source in sources or (None,):
            for match in matches:
                name = f"{counter}-{numbers[permit.name]}"
                numbers[permit.name] += 1
                entries.append(_ShapedEntry(name=name, counter=counter, source=source, match=match))
    return tuple(entries)


def _entry(shape: _ShapedEntry, sources: list[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": shape.name, "actionType": PERMIT}
    if shape.source is not None:
        entry["srcIp"] = sources[shape.source]
    return entry | shape.match


def _tables(view: SwitchView, host_vlan: int, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tables of the permits, as many as the chip needs for them, above that of the denies."""
    limit = filter_tables_of(SYSTEM).entries
    parts = [entries[start : start + limit] for start in range(0, len(entries), limit)]
    tables = []
    for index, part in enumerate(parts):
        name = f"flows-{index + 1}" if index > 0 else "flows"
        priority = DENIES_PRIORITY + len(parts) - index
        tables.append(_table(name, part, priority=priority, qualifiers=PERMIT_QUALIFIERS))
    denies = list(_denies(view, host_vlan))
    tables.append(_table("closed", denies, priority=DENIES_PRIORITY, qualifiers=DENY_QUALIFIERS))
    return tables


def _table(name: str, entries: list[dict[str, Any]], *, priority: int, qualifiers: tuple[int, ...]) -> dict[str, Any]:
    return {
        "name": name,
        "priority": priority,
        "aclEntries": entries,
        "actionTypes": [PACKET_ACTION, COUNTER],
        "qualifiers": list(qualifiers),
    }


def _denies(view: SwitchView, host_vlan: int) -> Iterator[dict[str, Any]]:
    hosts = [link for link in view.links if is_host_port(link)]
    if any(not link.is_routed for link in hosts):
        yield _deny("closed-hosts", "vlanID", host_vlan)
    for link in hosts:
        if link.is_routed:
            yield _deny(f"closed-{link.port.port}", "srcPort", view.platform_port(link.port).number)


def _deny(name: str, qualifier: str, number: int) -> dict[str, Any]:
    return {"name": name, "actionType": DENY, "ipType": IP_PACKETS, qualifier: number}


def _matches(permit: Permit) -> Iterator[dict[str, Any]]:
    """Conditions of entries beside their source, for each combination of targets, ports, flags and types."""
    protocol = PROTOCOLS.get(permit.protocol)
    common: dict[str, Any] = {} if protocol is None else {"proto": protocol}
    if permit.protocol == "icmp":
        common = {"proto": ICMP_PROTOCOLS[permit.version]}
    flags = filter_tables_of(SYSTEM).reply_flags if permit.established else (None,)
    source_ports = tuple(port for port, _ in permit.source_ports)
    target_ports = tuple(port for port, _ in permit.target_ports)
    for target, source_port, target_port, flag, icmp_type in product(
        permit.targets or (None,),
        source_ports or (None,),
        target_ports or (None,),
        flags,
        permit.types or (None,),
    ):
        fields = {
            "dstIp": None if target is None else format_network(target),
            "l4SrcPort": source_port,
            "l4DstPort": target_port,
            "tcpFlagsBitMap": flag,
            "icmpType": icmp_type,
        }
        yield {field: value for field, value in fields.items() if value is not None} | common
