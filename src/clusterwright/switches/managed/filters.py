"""Access to the CPU of a managed InfiniBand switch and its destinations: MLNX-OS's IP filter, NVOS's ACLs.

Both become iptables rules on the management port. MLNX-OS: `ip filter chain`, with rules matched in order before a
policy (NVIDIA MLNX-OS User Manual 3.12, control plane policing). NVOS: `acl` bound to the port, inbound and outbound in
the direction `control-plane` (NVIDIA NVOS User Manual 25.02, access control lists); lists are matched in the order of
their names, so these come before the system's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from clusterwright.intent.edge import management_permits, management_reach
from clusterwright.intent.filter_entries import ANY, ICMP, ON_LINK, TCP, UDP, Permit
from clusterwright.intent.per_plan import per_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterwright.plan.model import Plan
    from clusterwright.spec.isolation import Network

WORDS = {4: "ip", 6: "ipv6"}
IN_NAME, OUT_NAME = "AA_MANAGEMENT", "AA_REACH"
_STEP = 10
_ICMP_NAMES = {4: "icmp", 6: "icmpv6"}


@dataclass(frozen=True, slots=True)
class AclRule:
    """A rule of an NVOS list: ``matches`` are fields with one value, ``side`` the word before ``ports``.

    ``flag`` is a TCP flag that has to be set. A rule without ``protocol`` has neither.
    """

    number: int
    remark: str
    action: str
    matches: tuple[tuple[str, str], ...] = ()
    protocol: str = ""
    side: str = ""
    ports: tuple[str, ...] = ()
    flag: str = ""


@dataclass(frozen=True, slots=True)
class Acl:
    """An NVOS list, with its direction at the management port."""

    name: str
    type: str
    direction: str
    rules: tuple[AclRule, ...]


@per_plan
def mlnxos_filter(plan: Plan, fabric: str) -> tuple[str, ...]:
    """The commands for the flows to management ports; none without a zone of such ports.

    The policy comes first: a switch under reconfiguration drops for a moment, and is never open.
    """
    # A long range passes with every port: the manual shows single ports only.
    permits = management_permits(plan, fabric, single_ports=True)
    if permits is None:
        return ()
    lines: list[str] = []
    for version, word in WORDS.items():
        accept = f"{word} filter chain input rule append tail target accept dup-delete"
        lines += [f"{word} filter chain input policy drop", f"{word} filter chain input clear"]
        # The system's own services speak to each other over the loopback interface.
        lines.append(f"{accept} in-intf lo")
        for permit in permits:
            if permit.version == version:
                lines += [f"{accept} {match}" for match in _mlnxos_matches(permit)]
        lines.append(f"{word} filter enable")
    return tuple(lines)


def _mlnxos_matches(permit: Permit) -> Iterator[str]:
    """The conditions of rules, for each source and each type or port."""
    protocol = _protocol(permit)
    for source in permit.sources or (None,):
        for type_or_port in _mlnxos_types_and_ports(permit):
            words: list[str] = []
            if source is not None:
                words.append(f"source-addr {source.network_address} /{source.prefixlen}")
            if protocol != ANY:
                words.append(f"protocol {protocol}")
            if type_or_port:
                words.append(type_or_port)
            if permit.established:
                words.append("state established")
            yield " ".join(words)


def _mlnxos_types_and_ports(permit: Permit) -> Iterator[str]:
    """The condition on a type or a port for each rule; "" once without any."""
    for number in permit.types:
        yield f"icmp-type {number}"
    yield from _mlnxos_ports("source-port", permit.source_ports)
    yield from _mlnxos_ports("dest-port", permit.target_ports)
    if not (permit.types or permit.source_ports or permit.target_ports):
        yield ""


def _mlnxos_ports(word: str, ranges: Iterable[tuple[int, int]]) -> Iterator[str]:
    for low, high in ranges:
        for number in range(low, high + 1):
            yield f"{word} {number}"


def _protocol(permit: Permit) -> str:
    """The word of both systems for a permit's protocol."""
    return _ICMP_NAMES[permit.version] if permit.protocol == ICMP else permit.protocol


@per_plan
def nvos_acls(plan: Plan, fabric: str) -> tuple[Acl, ...]:
    """The lists of the management port, inwards and outwards, each for both IP versions; none without its zone.

    Outwards they confine a gateway, which NVOS knows as the default route of the port alone, to the declared prefixes.
    """
    permits = management_permits(plan, fabric)
    if permits is None:
        return ()
    reach = management_reach(plan, fabric)
    lists: list[Acl] = []
    for version in WORDS:
        inbound = Acl(
            name=f"{IN_NAME}_V{version}",
            type=f"ipv{version}",
            direction="inbound",
            rules=_inbound(permits, version),
        )
        outbound = Acl(
            name=f"{OUT_NAME}_V{version}",
            type=f"ipv{version}",
            direction="outbound",
            rules=_outbound(reach, version),
        )
        lists += [inbound, outbound]
    return tuple(lists)


def _inbound(permits: tuple[Permit, ...], version: int) -> tuple[AclRule, ...]:
    """The permits of one IP version, then a denial."""
    numbers = count(_STEP, _STEP)
    rules: list[AclRule] = []
    for permit in permits:
        if permit.version == version:
            rules += _nvos_rules(permit, numbers)
    return (*rules, _deny_rest(next(numbers)))


def _outbound(reach: tuple[Network, ...], version: int) -> tuple[AclRule, ...]:
    """Permits for neighbour discovery and the declared prefixes, then a denial."""
    numbers = count(_STEP, _STEP)
    networks = [network for network in reach if network.version == version]
    rules: list[AclRule] = []
    if networks:
        for icmp_type in ON_LINK[version]:
            rule = AclRule(
                number=next(numbers),
                remark="neighbour discovery",
                action="permit",
                matches=(("icmpv6-type", str(icmp_type)),),
                protocol=_ICMP_NAMES[6],
            )
            rules.append(rule)
    for network in networks:
        matches = (("dest-ip", str(network)),)
        rules.append(AclRule(number=next(numbers), remark="declared", action="permit", matches=matches))
    return (*rules, _deny_rest(next(numbers)))


def _deny_rest(number: int) -> AclRule:
    return AclRule(number=number, remark="everything else", action="deny")


def _nvos_rules(permit: Permit, numbers: count[int]) -> Iterator[AclRule]:
    """One rule for each source, type and flag: iptables matches all flags of a rule, so replies take two."""
    protocol = _protocol(permit)
    side = "source-port" if permit.source_ports else "dest-port"
    ports = tuple(_nvos_ports(low, high) for low, high in permit.source_ports or permit.target_ports)
    flags = ("ack", "rst") if permit.established else ("",)
    for source in permit.sources or (None,):
        start = () if source is None else (("source-ip", str(source)),)
        if permit.protocol not in {TCP, UDP, ICMP}:
            yield AclRule(number=next(numbers), remark=permit.name, action="permit", matches=start)
        for number in permit.types:
            match = (f"{_ICMP_NAMES[permit.version]}-type", str(number))
            yield AclRule(
                number=next(numbers),
                remark=permit.name,
                action="permit",
                matches=(*start, match),
                protocol=protocol,
            )
        if permit.protocol not in {TCP, UDP}:
            continue
        for flag in flags:
            yield AclRule(
                number=next(numbers),
                remark=permit.name,
                action="permit",
                matches=start,
                protocol=protocol,
                side=side,
                ports=ports,
                flag=flag,
            )


def _nvos_ports(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"
