"""Names, addresses and routes of a node's NICs, for systemd-networkd.

Every NIC has a routing table of its own, chosen by source address or by the interface a socket is bound to: traffic
leaves by the NIC with its source address, so that traffic stays on its rail. A node has routes to its own fabrics and
to the zones in its flows, and to nothing else. Only a flow to or from the internet gives it a default route.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from ipaddress import ip_network
from itertools import chain
from typing import NamedTuple

from clusterwright.artifact import Artifact
from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.intent.boot_relays import relay_networks
from clusterwright.intent.borders import learnt_at
from clusterwright.intent.device_kind import KindNic, NodeKind
from clusterwright.intent.image.mounts import mounts_of
from clusterwright.intent.node_nics import HostNic, is_managed, nics_by_fabric, nics_of
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.zone_networks import collapse, contacts_of, peers_over
from clusterwright.plan.meeting import wiring_of_cables
from clusterwright.plan.model import Device, Plan, fabric_of, format_address
from clusterwright.spec.address_space import DEFAULT_ROUTE
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.ipoib import ipoib_of
from clusterwright.spec.isolation import Network
from clusterwright.spec.zone_reach import internet_fabrics, is_whole_internet
from clusterwright.text.places import PLACE, as_format
from clusterwright.text.templates import template

KIND = "node-network"
FOLDER = "etc/systemd/network"
SHARED_METRIC = 100  # over all NICs of a fabric
SINGLE_METRIC = 200  # and up: routes over one NIC, for when others are down; the kernel would join equal metrics
SOURCE_PRIORITY = 1000
DEVICE_PRIORITY = 2000


class Hop(NamedTuple):
    """A next hop of a route over several NICs."""

    gateway: str
    interface: str


class Route(NamedTuple):
    """A route in ``table`` (None: the main table): over one ``gateway``, over several ``hops``, or directly."""

    destination: str
    gateway: str | None
    hops: tuple[Hop, ...]
    table: int | None
    metric: int | None
    source: str | None


@lru_cache(maxsize=4096)
def _route_lines(
    version: int,
    table: int | None,
    metric: int | None,
    *,
    over: tuple[str, ...] = (),
    has_gateway: bool = True,
    has_source: bool = False,
) -> str:
    """The lines of a route as a format for its texts, in the order of ``Route``; ``over`` interfaces."""
    hops = tuple(Hop(PLACE, interface) for interface in over)
    route = Route(
        destination=PLACE,
        gateway=PLACE if has_gateway else None,
        hops=hops,
        table=table,
        metric=metric,
        source=PLACE if has_source else None,
    )
    return as_format(template("node/ethernet-route.network.j2").render(route=route, family=f"ipv{version}"))


class NetworkView(NamedTuple):
    """Values of an Ethernet NIC's .network file before its routes. ``source`` is its address as a host prefix."""

    interface: str
    description: str
    is_bond: bool
    mtu: int
    address: str
    source: str
    family: str
    table: int
    source_priority: int
    device_priority: int


@lru_cache(maxsize=1024)
def _nic_lines(interface: str, mtu: int, version: int, table: int, is_bond: bool) -> str:
    """These lines as a format of the description, the address and the host prefix."""
    view = NetworkView(
        interface=interface,
        description=PLACE,
        is_bond=is_bond,
        mtu=mtu,
        address=PLACE,
        source=PLACE,
        family=f"ipv{version}",
        table=table,
        source_priority=SOURCE_PRIORITY + table,
        device_priority=DEVICE_PRIORITY + table,
    )
    return as_format(template("node/ethernet.network.j2").render(view=view))


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with an image."""
    return is_managed(device)


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """One .link file per NIC with a known PCI address, one .network file per NIC without an address.

    NICs of a bond have one .netdev file. On an existing system an empty file masks Netplan's file for the same
    interface, which networkd would read first.
    """
    image = plan.spec.image(kind.image)
    if image is not None and image.is_existing:
        names = chain.from_iterable((nic.interface, *_port_names(nic)) for nic in kind.nics)
        for interface in dict.fromkeys(names):
            yield f"{FOLDER}/10-netplan-{interface}.network", b"", 0o644
    for nic in kind.nics:
        mtu = fabric_of(plan, nic.fabric).mtu if nic.version else 0
        for port in nic.ports:
            if port.pci is not None:
                link = template("node/nic.link.j2").render(interface=port.interface, pci=port.pci, mtu=mtu)
                yield f"{FOLDER}/10-{port.interface}.link", link.encode(), 0o644
        if nic.bond is not None:
            netdev = template("node/bond.netdev.j2").render(bond=nic.bond, mtu=mtu)
            yield f"{FOLDER}/10-{nic.interface}.netdev", netdev.encode(), 0o644
        if not nic.version:
            carried = [ipoib.name for ipoib in ipoib_of(plan.spec, kind.node_group, (nic.interface,))]
            text = template("node/infiniband.network.j2").render(interface=nic.interface, carries=carried)
            yield f"{FOLDER}/20-{nic.interface}.network", text.encode(), 0o644


def _port_names(nic: KindNic) -> Iterator[str]:
    return (port.interface for port in nic.ports)


def for_device(plan: Plan, device: Device) -> Iterator[Artifact]:
    """A .network file per NIC with an address or in a bond with one, the host name and /etc/hosts."""
    for nic in nics_of(plan, device):
        for port in nic.members:
            text = template("node/member.network.j2").render(nic=port, bond=nic.interface)
            yield Artifact(
                device=device.name, path=f"{FOLDER}/20-{port.interface}.network", source=text.encode(), kind=KIND
            )
        if nic.version:
            text = _network(plan, device, nic)
            yield Artifact(
                device=device.name, path=f"{FOLDER}/20-{nic.interface}.network", source=text.encode(), kind=KIND
            )
    yield Artifact(device=device.name, path="etc/hostname", source=f"{device.name}\n".encode(), kind=KIND)
    yield Artifact(device=device.name, path="etc/hosts", source=_hosts(plan, device), kind=KIND)


WRITER = Writer(kind=KIND, applies=applies, for_device=for_device, shared=shared)


def node_address(plan: Plan, device: Device, client_groups: Collection[str]) -> str | None:
    """A node's address for nodes of other groups, on plain Ethernet. None without one.

    It is the first address on a fabric in common with them, and the node's first address without such a fabric.
    """
    ethernet_nics = [nic for nic in nics_of(plan, device) if nic.fabric.technology == "ethernet"]
    first_address = None
    for nic in ethernet_nics:
        if not nic.version or nic.address is None:
            continue
        address = format_address(nic.address, nic.version)
        if any(attach.nodes in client_groups for attach in nic.fabric.attach):
            return address
        first_address = first_address or address
    return first_address


@per_plan
def reachable(plan: Plan, node_group: str, fabric_name: str) -> tuple[str, ...]:
    """The prefixes within reach of a group's nodes over a fabric, none inside another.

    They are the fabric's own hosts, kept apart by packet filters and not by routes; the pools of other fabrics in which
    the nodes meet zones of flows over this one, except those they are attached to themselves; networks outside the
    cluster; for boot servers, their relays; and last, if a flow joins the nodes with the internet, everything.
    """
    fabric = fabric_of(plan, fabric_name)
    if fabric.addressing is None:
        return ()
    networks = _networks_beyond(plan, node_group, fabric)
    if plan.spec.boot is not None and plan.spec.boot.servers == node_group:
        networks += relay_networks(plan, fabric_name)
    host_pool = fabric.addressing.hosts
    outside_pool = [network for network in collapse(networks) if not _within(network, host_pool)]
    # The pool is never joined with an adjacent prefix: its hosts may be in planes.
    prefixes = [host_pool, *(network for network in outside_pool if network.version == host_pool.version)]
    prefixes.sort(key=lambda network: int(network.network_address))
    if fabric in internet_fabrics(plan.spec, node_group):  # the other prefixes keep their own NICs
        prefixes.append(DEFAULT_ROUTE[host_pool.version])
    return tuple(str(network) for network in prefixes)


def _networks_beyond(plan: Plan, node_group: str, fabric: Fabric) -> list[Network]:
    """The networks in which a group's nodes meet zones of flows over a fabric."""
    networks: list[Network] = []
    for contact in contacts_of(plan, node_group):
        if fabric.name not in contact.fabrics or is_whole_internet(contact.peer):
            continue
        for entry in peers_over(plan, contact.zone.name, contact.peer.name, fabric.name):
            other = plan.spec.fabric(entry.fabric)
            if other is None or other.addressing is None:
                networks.append(entry.network)
            elif other is fabric or not any(attach.nodes == node_group for attach in other.attach):
                networks.append(other.addressing.hosts)
    return networks


def _network(plan: Plan, device: Device, nic: HostNic) -> str:
    if nic.address is None:
        raise ValueError(f"{device.name} {nic.interface}: an Ethernet NIC without an address")
    address = format_address(nic.address, nic.version)
    if nic.bond is None:
        description = f"{nic.fabric.name}, to {nic.switch} {nic.switch_port}"
    else:
        description = f"{nic.fabric.name}, {len(nic.members)} ports to {nic.switch}"
    nic_format = _nic_lines(nic.interface, nic.fabric.mtu, nic.version, nic.table, nic.bond is not None)
    host_prefix = f"{address}/{32 if nic.version == 4 else 128}"
    lines = [nic_format % (description, f"{address}/{nic.prefix_length}", host_prefix)]
    lines += _routes(plan, device, nic, address)
    return "".join(lines)


def _routes(plan: Plan, device: Device, nic: HostNic, address: str) -> Iterator[str]:
    """The lines of a NIC's routes."""
    if nic.gateway is None:
        return
    gateway = format_address(nic.gateway, nic.version)
    siblings = nics_by_fabric(plan, device)[nic.fabric.name]
    if nic.fabric.addressing is not None and nic.fabric.addressing.host_links == "shared":
        yield _route_lines(nic.version, nic.table, None, has_gateway=False) % _own_subnet(nic)
    for prefix in reachable(plan, device.node_group, nic.fabric.name):
        yield _route_lines(nic.version, nic.table, None) % (prefix, gateway)
        if nic.fabric.technology == "ethernet":
            yield from _shared_routes(plan, nic, siblings, prefix=prefix, gateway=gateway, address=address)


def _shared_routes(
    plan: Plan, nic: HostNic, siblings: tuple[HostNic, ...], *, prefix: str, gateway: str, address: str
) -> Iterator[str]:
    """Routes of the main table to a prefix: over all NICs of a fabric, and over this one for when others are down."""
    for destination, nics in _destinations(plan, nic, siblings, prefix):
        metric = SINGLE_METRIC + nics.index(nic)
        yield _route_lines(nic.version, None, metric, has_source=True) % (destination, gateway, address)
        if nic is nics[0] and len(nics) > 1:
            hops = _hops(nics)
            interfaces = tuple(hop.interface for hop in hops)
            lines = _route_lines(nic.version, None, SHARED_METRIC, over=interfaces, has_gateway=False)
            yield lines % (destination, *(hop.gateway for hop in hops))


def _destinations(
    plan: Plan, nic: HostNic, siblings: tuple[HostNic, ...], prefix: str
) -> Iterator[tuple[str, tuple[HostNic, ...]]]:
    """The destinations of a prefix behind a NIC, each with all NICs of the fabric for it.

    In a fabric in planes these are the hosts of the NIC's own plane, and outside prefixes by the planes in which a
    border learns them. A prefix no border learns is sent everywhere alike: the spec does not say which plane carries
    it.
    """
    addressing = nic.fabric.addressing
    if not _is_in_planes(plan, nic.fabric.name) or addressing is None or prefix == _everything(nic):
        yield prefix, siblings
        return
    planes = _planes(plan, nic.fabric.name)
    plane = planes[nic.switch]
    if prefix == str(addressing.hosts):
        nics_of_plane = tuple(other for other in siblings if planes[other.switch] == plane)
        on_link: set[str] = set()
        if addressing.host_links == "shared":
            on_link = {_own_subnet(other) for other in nics_of_plane}
        for destination in _hosts_of_plane(plan, nic.fabric.name, plane):
            if destination not in on_link:
                yield destination, nics_of_plane
        return
    outside = ip_network(prefix)
    planes_by_network = _learnt_in_planes(plan, nic.fabric.name)
    learnt = [network for network in planes_by_network if _within(network, outside)]
    if not learnt:
        yield prefix, siblings
    for network in learnt:
        learning_planes = planes_by_network[network]
        if plane in learning_planes:
            yield str(network), tuple(other for other in siblings if planes[other.switch] in learning_planes)


def _everything(nic: HostNic) -> str:
    """The destination of a default route of the NIC's IP version."""
    return str(DEFAULT_ROUTE[nic.version])


@per_plan
def _learnt_in_planes(plan: Plan, fabric_name: str) -> Mapping[Network, frozenset[int]]:
    """The planes of a fabric in which a border learns each outside prefix."""
    planes = _planes(plan, fabric_name)
    planes_by_network: dict[Network, frozenset[int]] = {}
    for border in plan.spec.borders:
        if border.device not in planes:
            continue
        for network in learnt_at(plan, border):
            known_planes = planes_by_network.get(network, frozenset())
            planes_by_network[network] = known_planes | {planes[border.device]}
    return planes_by_network


def _within(inner: Network, outer: Network) -> bool:
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]


@per_plan
def _planes(plan: Plan, fabric_name: str) -> Mapping[str, int]:
    """The plane of each switch of a fabric."""
    return wiring_of_cables(cable for cable in plan.cables if cable.fabric == fabric_name).piece_of


@per_plan
def _is_in_planes(plan: Plan, fabric_name: str) -> bool:
    return len(set(_planes(plan, fabric_name).values())) > 1


@per_plan
def _hosts_of_plane(plan: Plan, fabric_name: str, plane: int) -> tuple[str, ...]:
    """The prefixes of hosts behind the switches of a plane, none inside another."""
    planes = _planes(plan, fabric_name)
    networks = []
    for (fabric, switch), subnet in plan.host_subnet_of.items():
        if fabric == fabric_name and planes[switch] == plane:
            networks.append(ip_network((subnet.network, subnet.prefix_length)))
    return tuple(str(network) for network in collapse(networks))


def _own_subnet(nic: HostNic) -> str:
    """The subnet of a NIC and its neighbours, which it reaches directly."""
    host_bits = (32 if nic.version == 4 else 128) - nic.prefix_length
    network = (nic.address or 0) >> host_bits << host_bits
    return f"{format_address(network, nic.version)}/{nic.prefix_length}"


def _hops(siblings: tuple[HostNic, ...]) -> tuple[Hop, ...]:
    gateways = [(nic, nic.gateway) for nic in siblings if nic.gateway is not None]
    return tuple(Hop(format_address(gateway, nic.version), nic.interface) for nic, gateway in gateways)


def _hosts(plan: Plan, device: Device) -> bytes:
    """/etc/hosts: the node itself, service nodes and named servers of its mounts, to resolve without DNS.

    A service node has every node.
    """
    if device.role == "service":
        lines = [_host_line(plan, other, device.node_group) for other in plan.devices if is_managed(other)]
    else:
        lines = [_host_line(plan, device, device.node_group), *_lines_of_service(plan, device.node_group)]
    lines += _lines_of_file_servers(plan, device.node_group)
    return template("node/hosts.j2").render(lines=[line for line in lines if line is not None]).encode()


@per_plan
def _lines_of_service(plan: Plan, client_group: str) -> tuple[str | None, ...]:
    services = (device for device in plan.devices_of("service") if device.kind == "node")
    return tuple(_host_line(plan, device, client_group) for device in services)


@per_plan
def _lines_of_file_servers(plan: Plan, node_group: str) -> tuple[str, ...]:
    """Each address of mounts' servers outside of the spec, once."""
    lines: dict[str, None] = {}
    for mount in mounts_of(plan, node_group):
        for address in mount.addresses:
            lines[f"{address} {mount.server}"] = None
    return tuple(lines)


@per_plan
def _host_line(plan: Plan, device: Device, client_group: str) -> str | None:
    address = node_address(plan, device, (client_group,))
    if address is None:
        return None
    return f"{address} {device.name}.{plan.spec.site.domain} {device.name}"
