"""Who stands for each zone on a fabric: hosts of the plan at their own ports, and others outside, at the border."""

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

# Addresses of the IP version that a fabric does not speak, and of the internet: blocks for documentation (RFC 5737,
# RFC 3849), which nobody has.
_OTHER = {4: ip_network("192.0.2.0/24"), 6: ip_network("2001:db8:0:ffff::/64")}
_INTERNET = {4: int(ip_network("203.0.113.7").network_address), 6: int(ip_network("2001:db8:1::7").network_address)}
_WITHIN = 0x53  # which address of an outside prefix is used
OUTSIDE_NAME = "outside"


@dataclass(frozen=True, slots=True)
class Member:
    """A machine that sends and receives for its ``zones``; ``addresses`` by IP version.

    ``cable`` leads to its switch; outside it is None, and there is no ``interface`` of the member's own. ``is_real`` is
    True for a node that the twin runs anyway. ``running`` and ``booting`` are its own rules, ``edge`` the list at its
    switch's port, ``own_list`` that of a management port.
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
        """True for one that stands beyond the fabric."""
        return self.cable is None

    def at(self, phase: str) -> NodeFilter | None:
        """Its own rules while it is ``running`` or ``booting``."""
        return self.running if phase == RUNNING else self.booting


@dataclass(frozen=True, slots=True)
class BorderPort:
    """Where the outside joins the fabric: a switch, the zones behind it and the lists of its port, where it has any.

    ``name`` is "" for a way in that no spec declares.
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
        """The border that a member outside stands behind."""
        return next((border for border in self.borders if set(member.zones) & border.zones), None)


def set_stage(twin: Twin, tree: RenderedTree, declared: DeclaredIsolation) -> Stage:
    """Who takes part in a twin. Raises ClusterwrightError for a fabric without zones, VerifyError for unread rules."""
    if not any(zone.on(twin.fabric) for zone in declared.zones):
        raise ClusterwrightError(f"{twin.plan.name}: no zone is on {twin.fabric}, so there is nothing to compare.")
    numbers = InterfaceNumbers()
    nodes: dict[tuple[str, str], NodeFilter] = {}
    for node_filter in node_filters(tree, declared, numbers):
        for name in node_filter.nodes:
            nodes[name, node_filter.file] = node_filter
    # Lists that track connections are left out: the places where lists are tried do not track any.
    groups = [group for group in port_groups(tree, declared) if not group.reader.is_stateful]
    lists = tuple(chain.from_iterable(group.filters() for group in groups))
    for (error, _), *_ in tree.left_open.values():
        raise VerifyError(error)
    hosts = []
    for number, cable in enumerate(_hosts(twin, declared, nodes, lists), start=1):
        host = _host(twin, declared, cable, number)
        edge = _list(lists, HOSTS, cable.b.device, cable.b.port)
        management_list = _list(lists, MANAGEMENT, cable.a.device, cable.a.port)
        running, booting = (nodes.get((host.name, file)) if host.is_real else None for file in (RUNNING, BOOTING))
        hosts.append(replace(host, running=running, booting=booting, edge=edge, own_list=management_list))
    borders = tuple(_borders(twin, declared, lists))
    here = tuple(
        port_filter for port_filter in lists if port_filter.fabric == twin.fabric and port_filter.device in twin.view_of
    )
    return Stage(
        twin=twin,
        declared=declared,
        numbers=numbers,
        members=(*hosts, *_outside(twin, declared)),
        borders=borders,
        lists=here,
    )


def _list(lists: Sequence[PortFilter], what: str, device: str, port: str) -> PortFilter | None:
    return next(
        (
            port_filter
            for port_filter in lists
            if port_filter.what == what and port_filter.device == device and port in port_filter.ports
        ),
        None,
    )


def _hosts(
    twin: Twin,
    declared: DeclaredIsolation,
    nodes: Mapping[tuple[str, str], NodeFilter],
    lists: Sequence[PortFilter],
) -> Iterator[Cable]:
    """For each set of zones and each way of being judged: the first host, another at its switch, and the last one."""
    running = {node.name for node in twin.nodes}
    kinds: dict[tuple[tuple[str, ...], bool, bool], list[Cable]] = {}
    for cable in twin.plan.cables:
        host = twin.plan.by_name[cable.a.device]
        wanted = cable.fabric == twin.fabric and cable.a.side in {"host", "management"} and cable.in_service
        if not wanted or cable.a.address is None or cable.b.device not in twin.view_of:
            continue
        judged = (host.name, RUNNING) in nodes and cable.a.side == "host"
        zones = _zones(declared, twin, cable.a.address)
        if zones and (not judged or host.name in running):
            listed = _list(lists, MANAGEMENT, cable.a.device, cable.a.port) is not None
            kinds.setdefault((zones, judged, listed), []).append(cable)
    for cables in kinds.values():
        first = cables[0]
        near = next((c for c in cables if c.a.device != first.a.device and c.b.device == first.b.device), first)
        last = next((c for c in reversed(cables) if c.a.device not in {first.a.device, near.a.device}), first)
        yield from dict.fromkeys((first, near, last))


def _zones(declared: DeclaredIsolation, twin: Twin, address: int) -> tuple[str, ...]:
    return tuple(
        zone.name
        for zone in declared.zones
        if any(part.fabric == twin.fabric and address in part.addresses for part in zone.parts)
    )


def _host(twin: Twin, declared: DeclaredIsolation, cable: Cable, number: int) -> Member:
    device = cable.a.device
    address = cable.a.address or 0
    other = 10 - twin.version
    real = any(node.name == device for node in twin.nodes) and cable.a.side == "host"
    return Member(
        name=device if cable.a.side == "host" else f"{device} {cable.a.port}",
        zones=_zones(declared, twin, address),
        namespace=twin.namespace(device if real else f"{device}-{interface_name(cable.a.port)}"),
        interface=interface_name(cable.a.port),
        addresses={twin.version: address, other: int(_OTHER[other].network_address) + number},
        cable=cable,
        is_real=real,
    )


def _outside(twin: Twin, declared: DeclaredIsolation) -> Iterator[Member]:
    """A member for each zone beyond the fabric, all in one namespace: each can send from every address.

    Zones of the cluster's other fabrics are among them, as nothing of theirs may come over this one either.
    """
    zones_by_addresses: dict[tuple[tuple[int, int], ...], list[str]] = {}
    for zone in declared.zones:
        if zone.on(twin.fabric) and not any(part.fabric == OUTSIDE for part in zone.parts):
            continue
        first = {
            part.version: part.addresses.bounds[0]
            for part in reversed(zone.parts)
            if part.fabric == OUTSIDE or not zone.on(twin.fabric)
        }
        addresses = {version: min(low + _WITHIN, high) for version, (low, high) in first.items()}
        if zone.kind == INTERNET:
            addresses = dict(_INTERNET) | addresses
        if addresses:
            zones_by_addresses.setdefault(tuple(sorted(addresses.items())), []).append(zone.name)
    for version_addresses, zones in zones_by_addresses.items():  # zones of the same machines are one member
        name, namespace = "+".join(zones), twin.namespace(OUTSIDE_NAME)
        yield Member(
            name=name,
            zones=tuple(zones),
            namespace=namespace,
            interface="",
            addresses=dict(version_addresses),
            cable=None,
            is_real=False,
        )


def _borders(twin: Twin, declared: DeclaredIsolation, lists: Sequence[PortFilter]) -> Iterator[BorderPort]:
    """The spec's borders on this fabric; zones behind none of them come through the first.

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
