"""Permits of the hosts behind a switch, and their number of entries in a chip's filter tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from itertools import chain
from math import prod

from clusterwright.intent.boot_relays import dhcp_port, relays_on, unnamed_relays
from clusterwright.intent.filter_cover import in_order, with_single_ports, without_hidden
from clusterwright.intent.filter_entries import ICMP, UDP, Permit, behind, local_permits, subnet_network, zones_on
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.zone_networks import collapse
from clusterwright.plan.model import Device, Plan, Subnet, network_bounds
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.systems import ONE_ENTRY_EACH, FilterTables, system_of
from clusterwright.spec.isolation import Network, Zone

Locals = tuple[tuple[Zone, tuple[Network, ...]], ...]
"""Zones with those of their prefixes that lie behind a switch."""

_MOST_COMPARED = 4_000  # entries are compared pairwise; no chip holds more than this
REPLIES = " replies"  # the suffix that ``permit_of`` gives a flow's other direction

# Requests of hosts without an address, which end at the relay (RFC 2131, RFC 8415), and router solicitations.
ASKING = {
    4: (
        Permit(
            name="dhcp",
            version=4,
            protocol=UDP,
            sources=(IPv4Network("0.0.0.0/32"),),
            targets=(IPv4Network("255.255.255.255/32"),),
            source_ports=(),
            target_ports=((67, 67),),
        ),
    ),
    6: (
        Permit(
            name="dhcp",
            version=6,
            protocol=UDP,
            sources=(IPv6Network("fe80::/10"),),
            targets=(IPv6Network("ff02::1:2/128"),),
            source_ports=(),
            target_ports=((547, 547),),
        ),
        Permit("router solicitation", 6, ICMP, types=(133,)),
    ),
}


@dataclass(frozen=True, slots=True)
class TablesShort:
    """A switch with too many filter entries for its chip; ``by_flow`` counts them by the flow's name."""

    switch: str
    model: str
    tables: int
    room: FilterTables
    by_flow: Mapping[str, int]

    @property
    def entries(self) -> int:
        """All permits."""
        return sum(self.by_flow.values())


@dataclass(frozen=True, eq=False, slots=True)
class PermitShapes:
    """The permits of all subnets with zones in equal positions, each with the numbers of its sources.

    One object for each kind of subnet, so that it can be the key of cached text.
    """

    shapes: tuple[tuple[Permit, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class EdgePermits:
    """The permits of a subnet's hosts; the numbers in ``of_kind`` are indices into ``sources``."""

    of_kind: PermitShapes
    sources: tuple[Network, ...]

    def __iter__(self) -> Iterator[Permit]:
        for permit, numbers in self.of_kind.shapes:
            yield permit._replace(sources=tuple(self.sources[number] for number in numbers))


@dataclass(frozen=True, slots=True)
class PortTenant:
    """Hosts of the same zones behind a switch with hosts of others: their ``ports``, and their links' prefixes."""

    zones: tuple[str, ...]
    ports: frozenset[str]
    links: tuple[Network, ...]


@per_plan
def port_tenants(plan: Plan, fabric_name: str, switch: str) -> tuple[PortTenant, ...]:
    """The tenants of a switch, in the order of their first ports; none if all hosts share their zones.

    None either for hosts in one subnet, where a port does not identify a tenant.
    """
    fabric = plan.spec.fabric(fabric_name)
    if fabric is None or fabric.addressing is None or fabric.addressing.host_links != "point-to-point":
        return ()
    ports: dict[tuple[str, ...], set[str]] = {}
    links: dict[tuple[str, ...], list[Network]] = {}
    length = fabric.addressing.hosts.max_prefixlen - 1
    on_fabric = {zone.name for zone, _ in zones_on(plan, fabric_name)}
    for cable in plan.cables_of[switch]:
        if cable.b.device != switch or cable.fabric != fabric_name or cable.a.side not in {"host", "management"}:
            continue
        zones = tuple(zone for zone in plan.by_name[cable.a.device].zones if zone in on_fabric)
        ports.setdefault(zones, set()).add(cable.b.port)
        if cable.a.address is not None:
            first = cable.a.address - cable.a.address % 2
            links.setdefault(zones, []).append(subnet_network(first, length, fabric.addressing.hosts.version))
    if len(ports) < 2:
        return ()
    tenants = []
    for zones, names in ports.items():
        tenant = PortTenant(zones=zones, ports=frozenset(names), links=collapse(links.get(zones, ())))
        tenants.append(tenant)
    return tuple(tenants)


def edge_permits(
    plan: Plan, fabric: Fabric, subnet: Subnet, *, tenant: PortTenant | None = None, single_ports: bool = False
) -> EdgePermits | None:
    """Permits of a subnet's hosts, or of one ``tenant`` there; None without a zone on the fabric.

    ``single_ports`` spells port ranges as single ports, for chips without ranges.
    """
    if not zones_on(plan, fabric.name):
        return None
    asking, locals_of = _locals(plan, fabric, subnet, tenant)
    all_sources = [permit.sources for permit in asking]
    all_sources += [local_networks for _, local_networks in locals_of]
    sources = tuple(dict.fromkeys(chain.from_iterable(all_sources)))
    number_of = {network: number for number, network in enumerate(sources)}
    zones = []
    for zone, networks in locals_of:
        zones.append((zone.name, tuple(number_of[network] for network in networks)))
    permits_by_kind = _of_kinds(plan, fabric.name, single_ports)
    kind = (bool(asking), tuple(zones), in_order(sources))
    if kind not in permits_by_kind:
        permits = _declared_permits(plan, fabric, asking, locals_of)
        if single_ports:
            permits = tuple(map(with_single_ports, permits))
        shapes = []
        for permit in without_hidden(permits):
            numbers = tuple(number_of[network] for network in permit.sources)
            shapes.append((permit._replace(sources=()), numbers))
        permits_by_kind[kind] = PermitShapes(tuple(shapes))
    return EdgePermits(permits_by_kind[kind], sources)


@per_plan
def _of_kinds(plan: Plan, fabric: str, single_ports: bool) -> dict[Hashable, PermitShapes]:
    """Permits by the facts behind them: DHCP requests or none, zones of the sources, positions of the sources.

    They alone decide which permit hides another.
    """
    return {}


def _locals(plan: Plan, fabric: Fabric, subnet: Subnet, tenant: PortTenant | None) -> tuple[tuple[Permit, ...], Locals]:
    """Permits of hosts before they have an address, and the zones behind the switch or of one tenant's links."""
    network = subnet_network(subnet.network, subnet.prefix_length, subnet.version)
    asking = ASKING[subnet.version] if subnet.device in relays_on(plan, fabric.name) else ()
    locals_of = behind(plan, fabric, network)
    if tenant is None:
        return asking, locals_of
    locals_of_tenant = ((zone, _within(networks, tenant.links)) for zone, networks in locals_of)
    return asking, tuple((zone, networks) for zone, networks in locals_of_tenant if networks)


def _within(networks: tuple[Network, ...], links: tuple[Network, ...]) -> tuple[Network, ...]:
    """Intersection of two sets of prefixes: the smaller of each overlapping pair."""
    networks_within = []
    for link in links:
        first, last = network_bounds(link)
        for network in networks:
            low, high = network_bounds(network)
            if low <= last and first <= high:
                networks_within.append(link if link.prefixlen >= network.prefixlen else network)
    return tuple(networks_within)


def _declared_permits(plan: Plan, fabric: Fabric, asking: tuple[Permit, ...], locals_of: Locals) -> tuple[Permit, ...]:
    """Permits of all flows from hosts of these zones, before hidden ones are left out."""
    return (*asking, *local_permits(plan, fabric, locals_of), *_answers(plan, fabric, locals_of))


def _answers(plan: Plan, fabric: Fabric, locals_of: Locals) -> Iterator[Permit]:
    """Replies of boot servers to relays without a flow of their own."""
    boot, port = plan.spec.boot, dhcp_port(plan)
    if boot is not None and boot.fabric == fabric.name:
        for zone, local_networks in locals_of:
            relays = unnamed_relays(plan, zone.name)
            if relays:
                yield Permit(
                    name="dhcp relays",
                    version=relays[0].version,
                    protocol=UDP,
                    sources=local_networks,
                    targets=relays,
                    source_ports=((port, port),),
                )


def entries_of(permit: Permit, room: FilterTables) -> int:
    """Number of entries for a permit on a chip without port ranges and with TCP flags compared as a whole."""
    parts = (permit.sources, permit.targets, permit.source_ports, permit.target_ports, permit.types)
    entries = prod(max(1, len(part)) for part in parts)
    if permit.established:
        entries *= len(room.reply_flags)
    return entries


def entry_counts(plan: Plan) -> Iterator[tuple[Device, int]]:
    """Switches with unknown limits of their chips, each with an upper bound on its hosts' filter entries."""
    counted: dict[Hashable, int] = {}
    for device in plan.devices:
        system = system_of(plan.spec.catalogue[device.model])
        fabric = plan.spec.fabric(device.fabric)
        subnet = plan.host_subnet_of.get((device.fabric, device.name))
        if system is None or system.has_chip_bound or fabric is None or subnet is None:
            continue
        if not zones_on(plan, fabric.name):
            continue
        room = system.filter_tables or ONE_ENTRY_EACH
        entries = 0
        for tenant in port_tenants(plan, fabric.name, device.name) or (None,):
            asking, locals_of = _locals(plan, fabric, subnet, tenant)
            sizes = tuple((zone.name, len(networks)) for zone, networks in locals_of)
            kind = (fabric.name, system.name, bool(asking), sizes)
            if kind not in counted:
                permits = _declared_permits(plan, fabric, asking, locals_of)
                if not system.matches_ranges:
                    permits = tuple(map(with_single_ports, permits))
                counted[kind] = sum(entries_of(permit, room) for permit in permits)
            entries += counted[kind]
        yield device, entries


def too_full(plan: Plan) -> Iterator[TablesShort]:
    """Switches with more filter entries for hosts than their chip holds, in the plan's order."""
    for device in plan.devices:
        system = system_of(plan.spec.catalogue[device.model])
        fabric = plan.spec.fabric(device.fabric)
        subnet = plan.host_subnet_of.get((device.fabric, device.name))
        if system is None or system.filter_tables is None or fabric is None or subnet is None:
            continue
        room = system.filter_tables
        if not zones_on(plan, fabric.name):
            continue
        declared = _declared_permits(plan, fabric, *_locals(plan, fabric, subnet, None))
        permits = tuple(map(with_single_ports, declared)) if not system.matches_ranges else declared
        entries = sum(entries_of(permit, room) for permit in permits)
        if room.tables_for(entries) <= room.tables:
            continue  # leaving out what is hidden makes no more entries, and is what takes long
        if entries <= _MOST_COMPARED:
            permits = without_hidden(permits)
        by_flow: Counter[str] = Counter()
        for permit in permits:
            by_flow[permit.name.removesuffix(REPLIES)] += entries_of(permit, room)
        tables = room.tables_for(by_flow.total())
        if tables > room.tables:
            yield TablesShort(switch=device.name, model=device.model, tables=tables, room=room, by_flow=by_flow)
