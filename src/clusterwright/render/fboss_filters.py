"""What FBOSS's agent filters: an ingress group of two ACL tables, permits above denies.

Within one table the agent places every deny before every permit (ApplyThriftConfig), so what is permitted stands in a
table of its own with a greater priority. An entry matches one prefix and one port on each side; the permits name no
switch port, since hosts' own prefixes are their sources, and the denies name nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from clusterwright.render.fboss_ports import platform_port
from clusterwright.render.filter_edge import host_permits, is_host_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.model import Plan
    from clusterwright.render.filter_entries import Permit
    from clusterwright.render.switch_view import SwitchView

# The agent's flag for configurations with more than one table.
COMMAND_LINE = {"enable_acl_table_group": "true"}
INGRESS = 0
DENY, PERMIT = 0, 1
IP_PACKETS = 1
PACKET_ACTION, COUNTER = 0, 1
PACKETS = 0
PERMITS_PRIORITY, DENIES_PRIORITY = 2, 1
PROTOCOLS = {"tcp": 6, "udp": 17}
ICMP_PROTOCOLS = {4: 1, 6: 58}
# The agent compares the six flags as a whole (SaiAclTableManager, kTcpFlagsMask): every combination in which TCP sends
# ACK (alone, with SYN, FIN or PSH) or RST is an entry of its own.
REPLY_FLAGS = (16, 24, 18, 17, 25, 20, 4)
# Addresses, ports, protocol, TCP flags, ICMP types in both versions.
PERMIT_QUALIFIERS = (0, 1, 2, 3, 4, 5, 6, 7, 11, 13)
SOURCE_PORT, IP_TYPE, OUTER_VLAN = 8, 17, 23
# Longer ranges would fill the chip's table: an entry knows no ranges.
MOST_PORTS = 64


@dataclass(frozen=True, slots=True)
class FbossFilters:
    """The agent's ``aclTableGroup``, the entries' actions, and the counters that these name."""

    group: dict[str, Any]
    actions: tuple[dict[str, Any], ...]
    counters: tuple[dict[str, Any], ...]


def fboss_filters(plan: Plan, view: SwitchView, host_vlan: int) -> FbossFilters | None:
    """What hosts behind a switch may send; None where nothing is filtered. ``host_vlan`` is that of a shared subnet."""
    permits = host_permits(plan, view)
    if permits is None:
        return None
    entries: list[dict[str, Any]] = []
    actions: list[dict[str, Any]] = []
    known: list[dict[str, Any]] = []
    for permit in permits:
        for number, match in enumerate(_matches(permit)):
            if any(wider.items() <= match.items() for wider in known):
                continue  # a wider permit stands before it
            known.append(match)
            name = f"{permit.name.replace(' ', '-')}-{number}"
            entries.append({"name": name, "actionType": PERMIT} | match)
            actions.append({"matcher": name, "action": {"counter": permit.name.replace(" ", "-")}})
    names = dict.fromkeys(action["action"]["counter"] for action in actions)
    tables = [
        _table("flows", PERMITS_PRIORITY, entries, PERMIT_QUALIFIERS),
        _table("closed", DENIES_PRIORITY, list(_denies(view, host_vlan)), (SOURCE_PORT, IP_TYPE, OUTER_VLAN)),
    ]
    return FbossFilters(
        group={"name": "hosts", "stage": INGRESS, "aclTables": tables},
        actions=tuple(actions),
        counters=tuple({"name": name, "types": [PACKETS]} for name in names),
    )


def _table(name: str, priority: int, entries: list[dict[str, Any]], qualifiers: tuple[int, ...]) -> dict[str, Any]:
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
        yield {"name": "closed-hosts", "actionType": DENY, "ipType": IP_PACKETS, "vlanID": host_vlan}
    for link in hosts:
        if link.is_routed:
            port = platform_port(view.model.platform or "", link.port.port).logical_id
            name = f"closed-{link.port.port}"
            yield {"name": name, "actionType": DENY, "ipType": IP_PACKETS, "srcPort": port}


def _matches(permit: Permit) -> Iterator[dict[str, Any]]:
    """What entries match, one for each combination of prefixes, ports and types."""
    protocol = PROTOCOLS.get(permit.protocol)
    common: dict[str, Any] = {} if protocol is None else {"proto": protocol}
    if permit.protocol == "icmp":
        common = {"proto": ICMP_PROTOCOLS[permit.version]}
    flags = REPLY_FLAGS if permit.established else (None,)
    for source, target, low, high, flag, kind in product(
        permit.sources or (None,),
        permit.targets or (None,),
        single_ports(permit.source_ports),
        single_ports(permit.target_ports),
        flags,
        permit.types or (None,),
    ):
        wanted = {
            "srcIp": None if source is None else str(source),
            "dstIp": None if target is None else str(target),
            "l4SrcPort": low,
            "l4DstPort": high,
            "tcpFlagsBitMap": flag,
            "icmpType": kind,
        }
        yield {key: value for key, value in wanted.items() if value is not None} | common


def single_ports(ranges: tuple[tuple[int, int], ...]) -> tuple[int | None, ...]:
    """The ports of ranges one by one; None, which is every port, where one of them is longer than the table bears."""
    if not ranges or any(high - low >= MOST_PORTS for low, high in ranges):
        return (None,)
    return tuple(port for low, high in ranges for port in range(low, high + 1))
