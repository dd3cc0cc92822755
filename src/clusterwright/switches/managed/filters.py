"""Access to the CPU of a managed InfiniBand switch and its destinations: MLNX-OS's IP filter, NVOS's ACLs.

Both stand for iptables on the management port. MLNX-OS: `ip filter chain`, whose rules are asked in order before a
policy (NVIDIA MLNX-OS User Manual 3.12, control plane policing). NVOS: `acl` bound to the port, inbound and outbound in
the direction `control-plane` (NVIDIA NVOS User Manual 25.02, access control lists); lists are asked in the order of
their names, so that these come before the system's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from clusterwright.intent.edge import management_permits, management_reach
from clusterwright.intent.filter_entries import ICMP, ON_LINK, TCP, UDP, Permit
from clusterwright.intent.per_plan import per_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        lines += [f"{word} filter chain input policy drop", f"{word} filter chain input clear"]
        # The system's own services speak to each other over the loopback interface.
        lines.append(f"{word} filter chain input rule append tail target accept dup-delete in-intf lo")
        for permit in permits:
            if permit.version == version:
                matches = _mlnxos_matches(permit)
                lines += [
                    f"{word} filter chain input rule append tail target accept dup-delete {match}" for match in matches
                ]
        lines.append(f"{word} filter enable")
    return tuple(lines)


def _mlnxos_matches(permit: Permit) -> Iterator[str]:
    protocol = _ICMP_NAMES[permit.version] if permit.protocol == ICMP else permit.protocol
    words = [] if protocol == "any" else [f"protocol {protocol}"]
    tail = ["state established"] if permit.established else []
    for source in permit.sources or (None,):
        start = [] if source is None else [f"source-addr {source.network_address} /{source.prefixlen}"]
        for side in _sides(permit):
            yield " ".join((*start, *words, *side, *tail))


def _sides(permit: Permit) -> Iterator[tuple[str, ...]]:
    """A type, or a port, or nothing, for each rule."""
    for number in permit.types:
        yield (f"icmp-type {number}",)
    named = (("source-port", permit.source_ports), ("dest-port", permit.target_ports))
    for word, ports in named:
        for low, high in ports:
            yield from ((f"{word} {number}",) for number in range(low, high + 1))
    if not (permit.types or permit.source_ports or permit.target_ports):
        yield ()


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
        inbound, outbound = _inbound(permits, version), _outbound(reach, version)
        kind = f"ipv{version}"
        lists.append(Acl(name=f"{IN_NAME}_V{version}", type=kind, direction="inbound", rules=inbound))
        lists.append(Acl(name=f"{OUT_NAME}_V{version}", type=kind, direction="outbound", rules=outbound))
    return tuple(lists)


def _inbound(permits: tuple[Permit, ...], version: int) -> tuple[AclRule, ...]:
    numbers = count(_STEP, _STEP)
    rules: list[AclRule] = []
    for permit in permits:
        if permit.version == version:
            rules += _nvos_rules(permit, numbers)
    return (*rules, AclRule(next(numbers), "everything else", "deny"))


def _outbound(reach: tuple[Network, ...], version: int) -> tuple[AclRule, ...]:
    numbers = count(_STEP, _STEP)
    networks = [network for network in reach if network.version == version]
    on_link = ON_LINK[version] if networks else ()
    link = [
        AclRule(
            number=next(numbers),
            remark="neighbour discovery",
            action="permit",
            matches=(("icmpv6-type", str(number)),),
            protocol=_ICMP_NAMES[6],
        )
        for number in on_link
    ]
    there = [
        AclRule(number=next(numbers), remark="declared", action="permit", matches=(("dest-ip", str(network)),))
        for network in networks
    ]
    return (*link, *there, AclRule(next(numbers), "everything else", "deny"))


def _nvos_rules(permit: Permit, numbers: count[int]) -> Iterator[AclRule]:
    """One rule for each source, type and flag: iptables matches all flags of a rule, so replies take two."""
    protocol = _ICMP_NAMES[permit.version] if permit.protocol == ICMP else permit.protocol
    side = "source-port" if permit.source_ports else "dest-port"
    ports = tuple(
        str(low) if low == high else f"{low}-{high}" for low, high in permit.source_ports or permit.target_ports
    )
    for source in permit.sources or (None,):
        start = () if source is None else (("source-ip", str(source)),)
        if permit.protocol not in {TCP, UDP, ICMP}:
            yield AclRule(number=next(numbers), remark=permit.name, action="permit", matches=start)
        for number in permit.types:
            match = (f"{_ICMP_NAMES[permit.version]}-type", str(number))
            yield AclRule(
                number=next(numbers), remark=permit.name, action="permit", matches=(*start, match), protocol=protocol
            )
        if permit.protocol not in {TCP, UDP}:
            continue
        flags = ("ack", "rst") if permit.established else ("",)
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
