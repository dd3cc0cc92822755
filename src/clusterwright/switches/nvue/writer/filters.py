"""Filters of a switch with NVUE for its hosts, and for the services on its management port: `acl`.

The rules of a list are matched in order, and unmatched packets pass, so each list ends with a denial. Lists bound
``inbound`` check packets coming in at a port, those bound ``inbound`` to ``control-plane`` packets to the switch
itself.
"""

from __future__ import annotations

from itertools import count, product
from typing import TYPE_CHECKING, Any

from clusterwright.intent.edge import HostList, management_permits
from clusterwright.intent.filter_entries import ICMP, TCP, UDP, Permit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterwright.intent.switch import SwitchView
    from clusterwright.plan.model import Plan

HOSTS, MANAGEMENT = "HOSTS", "MANAGEMENT"
VERSIONS = (4, 6)
STEP = 10
_ICMP_WORDS = {4: "icmp", 6: "icmpv6"}
_REPLIES = ("ack", "rst")
Objects = dict[str, Any]


def host_filters(lists: Iterable[HostList]) -> Objects:
    """The lists of ports to hosts, by name."""
    named: Objects = {}
    for host_list in lists:
        for version, name in _names(host_list).items():
            named[name] = acl(host_list.permits, version)
    return named


def bound_lists(lists: Iterable[HostList]) -> dict[str, Objects]:
    """The lists of each port to a host."""
    bound: dict[str, Objects] = {}
    for host_list in lists:
        for port in host_list.ports:
            bound[port] = {name: {"inbound": {}} for name in _names(host_list).values()}
    return bound


def _names(host_list: HostList) -> dict[int, str]:
    """The names of a list in each IP version."""
    return {version: f"{HOSTS}{host_list.suffix}-V{version}" for version in VERSIONS}


def management_filters(plan: Plan, view: SwitchView) -> Objects:
    """The lists of the management port, by name; none without the port, or without its zone."""
    if view.management is None:
        return {}
    permits = management_permits(plan, view.management.port.fabric)
    if permits is None:
        return {}
    return {f"{MANAGEMENT}-V{version}": acl(permits, version) for version in VERSIONS}


def acl(permits: Iterable[Permit], version: int) -> Objects:
    """A list for one IP version: the permits, and a denial of everything else."""
    numbers = count(STEP, STEP)
    rules: Objects = {}
    for permit in permits:
        if permit.version != version:
            continue
        for match in _matches(permit):
            rule = {"action": {"permit": {}}, "match": {"ip": match}, "remark": permit.name}
            rules[str(next(numbers))] = rule
    last = {"action": {"deny": {}}, "match": {"ip": {"dest-ip": "ANY", "source-ip": "ANY"}}}
    rules[str(next(numbers))] = last | {"remark": "everything else"}
    return {"rule": rules, "type": f"ipv{version}"}


def _matches(permit: Permit) -> Iterator[Objects]:
    """Conditions of rules, for each source, target, type and flag; a rule takes several ports of one side."""
    protocol = _ICMP_WORDS[permit.version] if permit.protocol == ICMP else permit.protocol
    flags = _REPLIES if permit.established else (None,)
    for source, target, icmp_type, flag in product(
        permit.sources or (None,), permit.targets or (None,), permit.types or (None,), flags
    ):
        match: Objects = {
            "dest-ip": "ANY" if target is None else str(target),
            "source-ip": "ANY" if source is None else str(source),
        }
        if permit.protocol in {TCP, UDP, ICMP}:
            match["protocol"] = protocol
        if icmp_type is not None:
            match[f"{protocol}-type"] = icmp_type
        transport: Objects = {}
        if permit.target_ports:
            transport["dest-port"] = _ports(permit.target_ports)
        if permit.source_ports:
            transport["source-port"] = _ports(permit.source_ports)
        if flag is not None:
            transport["flags"] = {flag: {}}
            transport["mask"] = {flag: {}}
        if transport:
            match[protocol] = transport
        yield dict(sorted(match.items()))


def _ports(ranges: tuple[tuple[int, int], ...]) -> Objects:
    ports: Objects = {}
    for low, high in ranges:
        name = str(low) if low == high else f"{low}-{high}"
        ports[name] = {}
    return ports
