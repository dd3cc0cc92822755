"""Representatives of each zone on a fabric: hosts of the plan at their ports, and members outside at the border."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_network
from itertools import chain

from clusterwright.extras.lab.twin import Twin, interface_name
from clusterwright.finding import ClusterwrightError, VerifyError
from clusterwright.packets.filters import InterfaceNumbers
from clusterwright.plan.model import Cable
from clusterwright.proofs.isolation.declared import INTERNET, OUTSIDE, DeclaredIsolation
from clusterwright.proofs.isolation.edges import (
    BORDER_IN,
    BORDER_OUT,
    HOSTS,
    MANAGEMENT,
    PortFilter,
    port_groups,
)
from clusterwright.proofs.isolation.nodes import BOOTING, RUNNING, NodeFilter, node_filters
from clusterwright.proofs.tree import RenderedTree

# Addresses of the IP version missing on a fabric, and of the internet: unused blocks for documentation (RFC 5737,
# RFC 3849).
_OTHER = {4: ip_network("192.0.2.0/24"), 6: ip_network("2001:db8:0:ffff::/64")}
_INTERNET = {4: int(ip_network("203.0.113.7").network_address), 6: int(ip_network("2001:db8:1::7").network_address)}
_WITHIN = 0x53  # the offset of the used address in an outside prefix
OUTSIDE_NAME = "outside"


@dataclass(frozen=True, slots=True)
class Member:
    """A sender and receiver for its ``zones``; ``addresses`` by IP version.

    ``cable`` leads to its switch; outside it is None, and ``interface`` is "". ``is_real`` is True for a node of the
    twin. ``running`` and ``booting`` are its own rules, ``edge`` the list at its switch's port, ``own_list`` that of a
    management port.
    """

    name: str
    zones: tuple[str, ...]
    namespace: str
    interface: str
    addresses: Mapping[int, int]
    cable: Cable | None
    is_real: bool
    running: NodeFilter | None = None
    booting: NodeFilter | None = None
    edge: PortFilter | None = None
    own_list: PortFilter | None = None

    @property
    def is_outside(self) -> bool:
        """Whether the member is outside of the fabric."""
        return self.cable is None

    def at(self, phase: str) -> NodeFilter | None:
        """The member's own rules in the phase ``running`` or ``booting``."""
        return self.running if phase == RUNNING else self.booting


@dataclass(frozen=True, slots=True)
class BorderPort:
    """A connection of the outside with the fabric: a switch, the zones behind it and the lists of its port, if any.

    ``name`` is "" for a connection without a declared border.
    """

    name: str
    switch: str
    zones: frozenset[str]
    inward: PortFilter | None
    outward: PortFilter | None


@dataclass(frozen=True)
class Stage:
    """All senders and receivers, and the declarations about them."""

    twin: Twin
    declared: DeclaredIsolation
    numbers: InterfaceNumbers
    members: tuple[Member, ...]
    borders: tuple[BorderPort, ...]
    lists: tuple[PortFilter, ...]

    def border_of(self, member: Member) -> BorderPort | None:
        """The border of a member outside."""
        for border in self.borders:
            if set(member.zones) & border.zones:
                return border
        return None


def set_stage(twin: Twin, tree: RenderedTree, declared: DeclaredIsolation) -> Stage:
    """The members of a twin. Raises ClusterwrightError for a fabric without zones, VerifyError for unread rules."""
    if not any(zone.on(twin.fabric) for zone in declared.zones):
        raise ClusterwrightError(f"{twin.plan.name}: no zone is on {twin.fabric}, so there is nothing to compare.")
    numbers = InterfaceNumbers()
    nodes: dict[tuple[str, str], NodeFilter] = {}
    for node_filter in node_filters(tree, declared, numbers):
        for name in node_filter.nodes:
            nodes[name, node_filter.file] = node_filter
    # Lists with connection tracking are left out: the lab's ports for lists do not track connections.
    groups = [group for group in port_groups(tree, declared) if not group.reader.is_stateful]
    lists = tuple(chain.from_iterable(group.filters() for group in groups))
    for (error, _), *_ in tree.left_open.values():
        raise VerifyError(error)
    hosts = []
    for number, cable in enumerate(_hosts(twin, declared, nodes, lists), start=1):
        host = _host(twin, declared, cable, number)
        edge = _list(lists, HOSTS, cable.b.device, cable.b.port)
        management_list = _list(lists, MANAGEMENT, cable.a.device, cable.a.port)
        running = booting = None
        if host.is_real:
            running, booting = nodes.get((host.name, RUNNING)), nodes.get((host.name, BOOTING))
        hosts.append(replace(host, running=running, booting=booting, edge=edge, own_list=management_list))
    borders = tuple(_borders(twin, declared, lists))
    twin_lists = tuple(
        port_filter for port_filter in lists if port_filter.fabric == twin.fabric and port_filter.device in twin.view_of
    )
    return Stage(
        twin=twin,
        declared=declared,
        numbers=numbers,
        members=(*hosts, *_outside(twin, declared)),
        borders=borders,
        lists=twin_lists,
    )


def _list(lists: Sequence[PortFilter], kind: str, device: str, port: str) -> PortFilter | None:
    """The list of a kind at a port; None for a port without one."""
    for port_filter in lists:
        if port_filter.kind == kind and port_filter.device == device and port in port_filter.ports:
            return port_filter
    return None


def _hosts(
    twin: Twin,
    declared: DeclaredIsolation,
    nodes: Mapping[tuple[str, str], NodeFilter],
    lists: Sequence[PortFilter],
) -> Iterator[Cable]:
    """For each set of zones and combination of filters: the first host, another at its switch, and the last one."""
    running = {node.name for node in twin.nodes}
    kinds: dict[tuple[tuple[str, ...], bool, bool], list[Cable]] = {}
    for cable in twin.plan.cables:
        host = twin.plan.by_name[cable.a.device]
        is_usable = cable.fabric == twin.fabric and cable.a.side in {"host", "management"} and cable.in_service
        if not is_usable or cable.a.address is None or cable.b.device not in twin.view_of:
            continue
        has_rules = (host.name, RUNNING) in nodes and cable.a.side == "host"
        zones = _zones(declared, twin, cable.a.address)
        if zones and (not has_rules or host.name in running):
            has_list = _list(lists, MANAGEMENT, cable.a.device, cable.a.port) is not None
            kinds.setdefault((zones, has_rules, has_list), []).append(cable)
    for cables in kinds.values():
        yield from _representatives(cables)


def _representatives(cables: Sequence[Cable]) -> Iterator[Cable]:
    """The first cable, that of another host at the same switch, and the last one of a third host; each once."""
    first = cables[0]
    others = [cable for cable in cables if cable.a.device != first.a.device]
    at_same_switch = [cable for cable in others if cable.b.device == first.b.device]
    near = at_same_switch[0] if at_same_switch else first
    of_third_hosts = [cable for cable in others if cable.a.device != near.a.device]
    last = of_third_hosts[-1] if of_third_hosts else first
    yield from dict.fromkeys((first, near, last))


def _zones(declared: DeclaredIsolation, twin: Twin, address: int) -> tuple[str, ...]:
    """The zones of an address on the twin's fabric."""
    names: list[str] = []
    for zone in declared.zones:
        parts = [part for part in zone.parts if part.fabric == twin.fabric]
        if any(address in part.addresses for part in parts):
            names.append(zone.name)
    return tuple(names)


def _host(twin: Twin, declared: DeclaredIsolation, cable: Cable, number: int) -> Member:
    device = cable.a.device
    address = cable.a.address or 0
    other_version = 10 - twin.version
    is_real = any(node.name == device for node in twin.nodes) and cable.a.side == "host"
    name = device if cable.a.side == "host" else f"{device} {cable.a.port}"
    host = device if is_real else f"{device}-{interface_name(cable.a.port)}"
    return Member(
        name=name,
        zones=_zones(declared, twin, address),
        namespace=twin.namespace(host),
        interface=interface_name(cable.a.port),
        addresses={twin.version: address, other_version: int(_OTHER[other_version].network_address) + number},
        cable=cable,
        is_real=is_real,
    )


def _outside(twin: Twin, declared: DeclaredIsolation) -> Iterator[Member]:
    """A member for each zone outside of the fabric, all in one namespace and able to send from every address.

    Zones of the cluster's other fabrics are among them: their packets may not use this fabric either.
    """
    zones_by_addresses: dict[tuple[tuple[int, int], ...], list[str]] = {}
    for zone in declared.zones:
        if zone.on(twin.fabric) and not any(part.fabric == OUTSIDE for part in zone.parts):
            continue
        first: dict[int, tuple[int, int]] = {}
        for part in zone.parts:
            if part.fabric == OUTSIDE or not zone.on(twin.fabric):
                first.setdefault(part.version, part.addresses.bounds[0])
        addresses = {version: min(low + _WITHIN, high) for version, (low, high) in first.items()}
        if zone.kind == INTERNET:
            addresses = dict(_INTERNET) | addresses
        if addresses:
            zones_by_addresses.setdefault(tuple(sorted(addresses.items())), []).append(zone.name)
    for version_addresses, zones in zones_by_addresses.items():  # zones with the same addresses are one member
        yield Member(
            name="+".join(zones),
            zones=tuple(zones),
            namespace=twin.namespace(OUTSIDE_NAME),
            interface="",
            addresses=dict(version_addresses),
            cable=None,
            is_real=False,
        )


def _borders(twin: Twin, declared: DeclaredIsolation, lists: Sequence[PortFilter]) -> Iterator[BorderPort]:
    """The spec's borders on this fabric; zones behind none of them use the first.

    Without any border, the outside joins at a switch of the highest tier, unfiltered.
    """
    border_declarations = [
        border for border in declared.borders if border.fabric == twin.fabric and border.switch in twin.view_of
    ]
    unassigned = {zone.name for zone in declared.zones}
    elsewhere = unassigned.difference(*(border.zones for border in border_declarations))
    for index, border in enumerate(border_declarations):
        inward = _list(lists, BORDER_IN, border.switch, border.port)
        outward = _list(lists, BORDER_OUT, border.switch, border.port)
        zones = frozenset(unassigned & set(border.zones)) | (elsewhere if index == 0 else frozenset())
        unassigned -= zones
        yield BorderPort(name=border.name, switch=border.switch, zones=zones, inward=inward, outward=outward)
    if not border_declarations:
        top = max(twin.views, key=lambda view: (view.device.tier, -view.device.index))
        yield BorderPort(name="", switch=top.device.name, zones=frozenset(unassigned), inward=None, outward=None)
