"""What FBOSS's agent filters: an ingress group of ACL tables, permits above denies.

Within one table the agent places every deny before every permit (ApplyThriftConfig), so what is permitted stands in a
table of its own with a greater priority. An entry matches one prefix and one port on each side; the permits name no
switch port, since hosts' own prefixes are their sources, and the denies name nothing else.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from clusterwright.intent.edge import host_permits, is_host_port
from clusterwright.plan.model import format_network
from clusterwright.spec.hardware.systems import filter_tables_of
from clusterwright.text.places import PLACE

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
SOURCE_PORT, IP_TYPE, OUTER_VLAN = 8, 17, 23


@dataclass(frozen=True, eq=False, slots=True)
class Tables:
    """The agent's ``aclTableGroup`` with places for sources, the entries' actions, and the counters that these name.

    ``places`` are the numbers of the sources that stand there. One object for all switches whose hosts are of a kind,
    at the same ports.
    """

    group: dict[str, Any]
    places: tuple[int, ...]
    actions: list[dict[str, Any]]
    counters: list[dict[str, Any]]


class FbossFilters(NamedTuple):
    """The ``tables`` of a switch, and the ``sources`` that fill their places."""

    tables: Tables
    sources: tuple[str, ...]


Deny = tuple[str, str, int]
"""An entry's name, and what it matches with which number."""


def fboss_filters(plan: Plan, view: SwitchView, host_vlan: int) -> FbossFilters | None:
    """What hosts behind a switch may send; None where nothing is filtered. ``host_vlan`` is that of a shared subnet."""
    permits = host_permits(plan, view, single_ports=True)
    if permits is None:
        return None
    tables = _tables(permits.of_kind, tuple(_denies(view, host_vlan)))
    sources = tuple(map(format_network, permits.sources))
    return FbossFilters(tables, tuple(map(sources.__getitem__, tables.places)))


@lru_cache(maxsize=256)
def _tables(of_kind: PermitShapes, denies: tuple[Deny, ...]) -> Tables:
    entries: list[dict[str, Any]] = []
    actions: list[dict[str, Any]] = []
    numbers: Counter[str] = Counter()
    places: list[int] = []
    for permit, sources in of_kind.shapes:
        matches = list(_matches(permit))
        for source, match in product(sources or (None,), matches):
            places += () if source is None else (source,)
            name = f"{permit.name.replace(' ', '-')}-{numbers[permit.name]}"
            numbers[permit.name] += 1
            entry: dict[str, Any] = {"name": name, "actionType": PERMIT}
            entries.append(entry | ({} if source is None else {"srcIp": PLACE}) | match)
            actions.append({"matcher": name, "action": {"counter": permit.name.replace(" ", "-")}})
    most = filter_tables_of(SYSTEM).entries
    parts = [entries[at : at + most] for at in range(0, len(entries), most)]
    names = [f"flows-{number}" if number > 1 else "flows" for number in range(1, len(parts) + 1)]
    tables = [
        _table(name, DENIES_PRIORITY + len(parts) - number, part, PERMIT_QUALIFIERS)
        for number, (name, part) in enumerate(zip(names, parts, strict=True))
    ]
    closed = [
        {"name": name, "actionType": DENY, "ipType": IP_PACKETS, qualifier: number}
        for name, qualifier, number in denies
    ]
    tables.append(_table("closed", DENIES_PRIORITY, closed, (SOURCE_PORT, IP_TYPE, OUTER_VLAN)))
    counters = dict.fromkeys(action["action"]["counter"] for action in actions)
    return Tables(
        group={"name": "hosts", "stage": INGRESS, "aclTables": tables},
        places=tuple(places),
        actions=actions,
        counters=[{"name": name, "types": [PACKETS]} for name in counters],
    )


def _table(name: str, priority: int, entries: list[dict[str, Any]], qualifiers: tuple[int, ...]) -> dict[str, Any]:
    return {
        "name": name,
        "priority": priority,
        "aclEntries": entries,
        "actionTypes": [PACKET_ACTION, COUNTER],
        "qualifiers": list(qualifiers),
    }


def _denies(view: SwitchView, host_vlan: int) -> Iterator[Deny]:
    hosts = [link for link in view.links if is_host_port(link)]
    if any(not link.is_routed for link in hosts):
        yield "closed-hosts", "vlanID", host_vlan
    for link in hosts:
        if link.is_routed:
            yield f"closed-{link.port.port}", "srcPort", view.platform_port(link.port).number


def _matches(permit: Permit) -> Iterator[dict[str, Any]]:
    """What entries match beside their source, one for each combination of targets, ports, flags and types."""
    protocol = PROTOCOLS.get(permit.protocol)
    common: dict[str, Any] = {} if protocol is None else {"proto": protocol}
    if permit.protocol == "icmp":
        common = {"proto": ICMP_PROTOCOLS[permit.version]}
    flags = filter_tables_of(SYSTEM).reply_flags if permit.established else (None,)
    for target, low, high, flag, kind in product(
        permit.targets or (None,),
        tuple(port for port, _ in permit.source_ports) or (None,),
        tuple(port for port, _ in permit.target_ports) or (None,),
        flags,
        permit.types or (None,),
    ):
        wanted = {
            "dstIp": None if target is None else str(target),
            "l4SrcPort": low,
            "l4DstPort": high,
            "tcpFlagsBitMap": flag,
            "icmpType": kind,
        }
        yield {key: value for key, value in wanted.items() if value is not None} | common
