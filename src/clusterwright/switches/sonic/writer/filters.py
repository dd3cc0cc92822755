"""A SONiC switch's permits for its hosts: an ACL table for each IP version, bound to the ports to hosts.

The built-in table types lack TCP flags, needed for replies, so the tables have types of their own.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from clusterwright.intent.edge import HostList, host_lists
from clusterwright.switches.sonic.writer.ports import channel_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterwright.intent.filter_entries import Permit
    from clusterwright.intent.switch import SwitchView
    from clusterwright.plan.model import Plan

FIRST_PRIORITY = 9999
ETHER_TYPES = {4: "0x0800", 6: "0x86DD"}
ADDRESSES = {4: ("SRC_IP", "DST_IP"), 6: ("SRC_IPV6", "DST_IPV6")}
ICMP_TYPES = {4: "ICMP_TYPE", 6: "ICMPV6_TYPE"}
PROTOCOLS = {(4, "tcp"): 6, (6, "tcp"): 6, (4, "udp"): 17, (6, "udp"): 17, (4, "icmp"): 1, (6, "icmp"): 58}
PORTS = ("L4_SRC_PORT", "L4_SRC_PORT_RANGE", "L4_DST_PORT", "L4_DST_PORT_RANGE")
# ACK or RST set, as value and mask.
ESTABLISHED = ("0x10/0x10", "0x04/0x04")


def filter_tables(plan: Plan, view: SwitchView) -> dict[str, Any]:
    """ACL_TABLE_TYPE, ACL_TABLE and ACL_RULE; none without a zone on the fabric."""
    lists = host_lists(plan, view)
    if not lists:
        return {}
    points = ["PORT", "PORTCHANNEL"] if view.bonds else ["PORT"]
    types: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    rules: dict[str, Any] = {}
    for host_list, version in product(lists, (4, 6)):
        table_type = f"HOSTS_V{version}"
        types[table_type] = {
            "MATCHES": ["ETHER_TYPE", *ADDRESSES[version], "IP_PROTOCOL", *PORTS, "TCP_FLAGS", ICMP_TYPES[version]],
            "ACTIONS": ["PACKET_ACTION"],
            "BIND_POINTS": points,
        }
        table = f"HOSTS{host_list.suffix.replace('-', '_')}_V{version}"
        description = f"IPv{version} from hosts"
        if host_list.tenant:
            description += f" of {host_list.tenant}"
        tables[table] = {
            "type": table_type,
            "policy_desc": description,
            "stage": "ingress",
            "ports": _bound_ports(view, host_list),
        }
        rules |= _rules(table, host_list.permits, version)
    return {"ACL_TABLE_TYPE": types, "ACL_TABLE": tables, "ACL_RULE": rules}


def _rules(table: str, permits: Iterable[Permit], version: int) -> dict[str, dict[str, str]]:
    """The rules of a table: the permits of one IP version by falling priority, then a denial."""
    rules: dict[str, dict[str, str]] = {}
    for permit in permits:
        if permit.version != version:
            continue
        flow = permit.name.replace(" ", "-")
        for match in _matches(permit):
            number = len(rules)
            priority = str(FIRST_PRIORITY - number)
            rules[f"{table}|{number:04d}-{flow}"] = {"PRIORITY": priority, "PACKET_ACTION": "FORWARD", **match}
    rules[f"{table}|9999-everything-else"] = {
        "PRIORITY": "1",
        "PACKET_ACTION": "DROP",
        "ETHER_TYPE": ETHER_TYPES[version],
    }
    return rules


def _bound_ports(view: SwitchView, host_list: HostList) -> list[str]:
    """The ports of a list, and port channels in place of their members."""
    ports = [link.port.port for link in view.links if link.port.port in host_list.ports]
    single_ports = [port for port in ports if port not in view.bond_at]
    channels = [channel_of(bond) for bond in view.bonds if bond.ports[0] in host_list.ports]
    return [*single_ports, *channels]


def _matches(permit: Permit) -> Iterator[dict[str, str]]:
    """The matching fields of rules, one for each combination of prefixes, port ranges and types."""
    source_key, target_key = ADDRESSES[permit.version]
    protocol = PROTOCOLS.get((permit.version, permit.protocol))
    flags_of_replies = ESTABLISHED if permit.established else (None,)
    for source, target, source_ports, target_ports, flags, icmp_type in product(
        permit.sources or (None,),
        permit.targets or (None,),
        permit.source_ports or (None,),
        permit.target_ports or (None,),
        flags_of_replies,
        permit.types or (None,),
    ):
        fields = {
            "ETHER_TYPE": ETHER_TYPES[permit.version],
            source_key: None if source is None else str(source),
            target_key: None if target is None else str(target),
            "IP_PROTOCOL": None if protocol is None else str(protocol),
            **_ports("L4_SRC_PORT", source_ports),
            **_ports("L4_DST_PORT", target_ports),
            "TCP_FLAGS": flags,
            ICMP_TYPES[permit.version]: None if icmp_type is None else str(icmp_type),
        }
        yield {field: value for field, value in fields.items() if value is not None}


def _ports(field: str, ports: tuple[int, int] | None) -> dict[str, str]:
    if ports is None:
        return {}
    low, high = ports
    if low == high:
        return {field: str(low)}
    return {f"{field}_RANGE": f"{low}-{high}"}
