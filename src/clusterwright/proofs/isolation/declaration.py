"""Declared isolation of a plan: from the spec's zones and flows and the planned addresses, without the renderers.

The plan gives the owner of an address to renderers too; permitted packets between zones are derived here as sets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from clusterwright.facts.reader import LOGINS, LOGS, NAMES, TIME
from clusterwright.packets.ranges import EMPTY, Ranges, ranges
from clusterwright.plan.asking import inband_sources
from clusterwright.plan.boot import relay_sources, relay_targets, server_addresses
from clusterwright.plan.first_contact import contact_fabrics
from clusterwright.plan.model import Device, Plan, Subnet
from clusterwright.plan.node_parts import left_out_parts, owns_part
from clusterwright.plan.zone_addresses import zone_addresses
from clusterwright.proofs.isolation.declared import (
    OUTSIDE,
    DeclaredBorder,
    DeclaredEdge,
    DeclaredFabric,
    DeclaredFlow,
    DeclaredIsolation,
    DeclaredLogin,
    DeclaredManagement,
    DeclaredZone,
    ZonePart,
)
from clusterwright.proofs.isolation.declared_bridges import declared_bridges
from clusterwright.proofs.isolation.declared_internet import declared_gateways, declared_openings
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.site_limits import site_for, untold
from clusterwright.spec.hardware.systems import System, system_of, systems
from clusterwright.spec.image import FILTER, NETWORK
from clusterwright.spec.isolation import Border, Flow, Network, Zone
from clusterwright.spec.site import Operator, Site
from clusterwright.spec.zone_reach import members_of
from clusterwright.switches.readers import READERS

# RFC 8907 and RFC 2865.
_LOGIN_SERVICES = {"tacacs": ("tcp", 49), "radius": ("udp", 1812)}
_HOST_SIDES = frozenset({"host", "management"})
_NO_LOGIN = DeclaredLogin(keys=frozenset(), has_password=False, is_admin=False)
_End = tuple[str, str]
"""Device and port."""


@dataclass(frozen=True, slots=True)
class _CabledEnds:
    """Ends of the plan's cables on fabrics with addresses."""

    hosts: Mapping[tuple[str, str], Mapping[str, _End]]
    """Device and port behind each port of a switch, by fabric and switch."""
    addresses: Mapping[tuple[int, int], _End]
    """Device and port by version and number of an address."""
    management: Mapping[str, str]
    """Fabric of each switch's management port."""
    linked: Mapping[str, frozenset[str]]
    """Ports with a cable or border, on all fabrics, by device."""


def _cabled_ends(plan: Plan) -> _CabledEnds:
    hosts: dict[tuple[str, str], dict[str, _End]] = defaultdict(dict)
    addresses: dict[tuple[int, int], _End] = {}
    management: dict[str, str] = {}
    linked: dict[str, set[str]] = defaultdict(set)
    versions = {fabric.name: _version(fabric) for fabric in plan.spec.fabrics if fabric.addressing is not None}
    for cable in plan.cables:
        lower, upper = cable.a, cable.b
        linked[lower.device].add(lower.port)
        linked[upper.device].add(upper.port)
        if cable.fabric not in versions or lower.side not in _HOST_SIDES:
            continue
        end = (lower.device, lower.port)
        hosts[cable.fabric, upper.device][upper.port] = end
        if plan.by_name[lower.device].kind == "switch":
            management[lower.device] = cable.fabric
        if lower.address is not None:
            addresses[versions[cable.fabric], lower.address] = end
    for border in plan.spec.borders:
        linked[border.device].add(border.port)
    return _CabledEnds(
        hosts=hosts,
        addresses=addresses,
        management=management,
        linked={name: frozenset(ports) for name, ports in linked.items()},
    )


def declared_of(plan: Plan) -> DeclaredIsolation:
    """Isolation declared by the spec behind a plan."""
    site = plan.spec.site
    ends = _cabled_ends(plan)
    nodes = [device for device in plan.devices if device.kind == "node"]
    switches = [device for device in plan.devices if device.kind == "switch"]
    return DeclaredIsolation(
        zones=tuple(_zone(plan, zone) for zone in plan.spec.zones),
        flows=tuple(_flow(flow) for flow in plan.spec.flows),
        fabrics=tuple(_fabrics(plan)),
        zones_of={node.name: node.zones for node in nodes},
        imaged=frozenset(node.name for node in nodes if owns_part(plan, node.image, FILTER)),
        beside_others=_installed_by_others(plan),
        networks_elsewhere=frozenset(left_out_parts(plan).get(NETWORK, ())),
        bridges=declared_bridges(plan),
        edges=tuple(_edges(plan, ends.hosts)),
        borders=tuple(_border(plan, border) for border in plan.spec.borders),
        management=ends.management,
        plumbing=tuple((network.version, _range([network])) for network in _plumbing(plan)),
        networks={fabric.name: _networks(fabric) for fabric in plan.spec.fabrics},
        switches={switch.name: switch.fabric for switch in switches if switch.fabric},
        addresses=ends.addresses,
        linked=ends.linked,
        logins=_operators(site),
        added_logins=_all_added_logins(plan, ends.linked),
        snmp_users=_snmp_users(site),
        servers=_servers(plan),
        lease_servers=_lease_servers(plan),
        managed={system.name: _managed(site, system) for system in systems().values()},
        collecting=None if site.telemetry is None else site.telemetry.port,
        internet=tuple(declared_openings(plan.spec)),
        default_gateways=declared_gateways(plan),
        fabric_sources=_fabric_sources(plan),
        login_service=_LOGIN_SERVICES["tacacs" if site.aaa is None else site.aaa.protocol],
    )


def _flow(flow: Flow) -> DeclaredFlow:
    return DeclaredFlow(
        name=flow.name,
        source=flow.source,
        target=flow.target,
        protocol=flow.protocol,
        ports=ranges(flow.ports) if flow.ports else None,
        is_rdma=flow.is_rdma,
    )


def _fabrics(plan: Plan) -> Iterator[DeclaredFabric]:
    for fabric in plan.spec.fabrics:
        if fabric.addressing is None:
            continue
        yield DeclaredFabric(
            name=fabric.name,
            technology=fabric.technology,
            version=_version(fabric),
            pool=_range([fabric.addressing.hosts]),
            is_provided=fabric.is_provided,
        )


def _border(plan: Plan, border: Border) -> DeclaredBorder:
    switch = plan.by_name.get(border.device)
    return DeclaredBorder(
        name=border.name,
        switch=border.device,
        port=border.port,
        fabric=switch.fabric if switch is not None else "",
        version=border.address.version,
        switch_address=int(border.address.ip),
        neighbour=int(border.neighbour),
        zones=border.zones,
        prefixes=tuple(_prefixes(plan, border)),
        asn=border.asn,
        authentication=border.authentication,
    )


def _prefixes(plan: Plan, border: Border) -> Iterator[tuple[int, int]]:
    """Network addresses and prefix lengths of the zones behind a border."""
    for zone in plan.spec.zones:
        if zone.name not in border.zones:
            continue
        for network in zone.prefixes:
            if network.version == border.address.version:
                yield int(network.network_address), network.prefixlen


def _fabric_sources(plan: Plan) -> dict[str, tuple[int, int]]:
    """IP version and source address of the switches that ask servers over their own fabric."""
    sources: dict[str, tuple[int, int]] = {}
    for switch, address in inband_sources(plan).items():
        fabric = plan.by_name[switch].fabric
        sources[switch] = (plan.address_version(fabric), address)
    return sources


def _installed_by_others(plan: Plan) -> frozenset[str]:
    existing_images = {image.name for image in plan.spec.images if image.is_existing}
    return frozenset(device.name for device in plan.devices if device.image in existing_images)


def _managed(site: Site, system: System) -> DeclaredManagement:
    of_system = site_for(site, system)
    return DeclaredManagement(
        logins=_operators(of_system),
        snmp_users=_snmp_users(of_system),
        servers=_configured_servers(of_system),
        unsupported=tuple(f"{value.key}: {value.reason}" for value in untold(site, system)),
    )


def _snmp_users(site: Site) -> frozenset[str]:
    return frozenset() if site.snmp is None else frozenset({site.snmp.user})


def _operators(site: Site) -> dict[str, DeclaredLogin]:
    logins: dict[str, DeclaredLogin] = {}
    for operator in site.operators:
        logins[operator.name] = DeclaredLogin(
            keys=frozenset(_key_text(operator, key) for key in operator.keys),
            has_password=operator.password is not None,
            is_admin=operator.role == "admin",
        )
    return logins


def _key_text(operator: Operator, key: str) -> str:
    """Type and content of a key after its expiry time, spelt here independently of the renderer."""
    expiry = f'expiry-time="{operator.until:%Y%m%d}235959" ' if operator.until is not None else ""
    return expiry + " ".join(key.split(" ")[:2])


def _all_added_logins(plan: Plan, devices: Iterable[str]) -> dict[str, Mapping[str, DeclaredLogin]]:
    """Operators and added accounts of each switch with accounts in ``extra_config``."""
    logins_by_switch: dict[str, Mapping[str, DeclaredLogin]] = {}
    for name in devices:
        logins = _added_logins(plan, plan.by_name.get(name))
        if logins:
            logins_by_switch[name] = logins
    return logins_by_switch


def _added_logins(plan: Plan, device: Device | None) -> Mapping[str, DeclaredLogin]:
    """Operators, with the accounts added in ``extra_config`` on a switch: these are planned too."""
    if device is None or device.kind != "switch" or not plan.spec.extra_config:
        return {}
    system = system_of(plan.spec.catalogue[device.model])
    site = plan.spec.site if system is None else site_for(plan.spec.site, system)
    logins = _operators(site)
    system_name = None if system is None else system.name
    reader = next((reader for reader in READERS if reader.system == system_name), None)
    read_logins = None if reader is None else reader.logins.get(reader.file)
    if reader is None or read_logins is None:
        return logins
    for entry in plan.spec.extra_config:
        if not entry.lines or not entry.concerns(device.name, device.role, device.fabric):
            continue
        for login in read_logins(reader.file, "\n".join(entry.lines)):
            planned = logins.get(login.name, _NO_LOGIN)
            logins[login.name] = DeclaredLogin(
                keys=planned.keys | {login.key},
                has_password=planned.has_password or login.has_password,
                is_admin=planned.is_admin or login.is_admin,
            )
    return logins


def _servers(plan: Plan) -> Mapping[str, frozenset[tuple[int, int]]]:
    site = plan.spec.site
    nodes = {NAMES: site.dns, TIME: site.ntp, LOGS: site.syslog, LOGINS: ()}
    return {service: servers | _numbers(nodes[service]) for service, servers in _configured_servers(site).items()}


def _lease_servers(plan: Plan) -> Mapping[str, frozenset[tuple[int, int]]]:
    """Boot servers on the boot fabric, and the server of first contact on the management networks."""
    servers: dict[str, frozenset[tuple[int, int]]] = {}
    boot, contact = plan.spec.boot_network, plan.spec.first_contact
    if boot is not None:
        fabric, addressing = boot
        version = addressing.hosts.version
        servers[fabric.name] = frozenset((version, address) for address in server_addresses(plan).values())
    if contact is not None:
        for fabric in contact_fabrics(plan):
            servers[fabric.name] = frozenset({(contact.server.version, int(contact.server))})
    return servers


def _configured_servers(site: Site) -> Mapping[str, frozenset[tuple[int, int]]]:
    servers, central = site.management, () if site.aaa is None else site.aaa.servers
    by_service = {NAMES: servers.dns, TIME: servers.ntp, LOGS: servers.syslog, LOGINS: central}
    return {service: _numbers(texts) for service, texts in by_service.items()}


def _numbers(servers: Iterable[str]) -> frozenset[tuple[int, int]]:
    return frozenset((address.version, int(address)) for address in map(ip_address, servers))


def _plumbing(plan: Plan) -> list[Network]:
    site = plan.spec.site
    networks: list[Network] = []
    for services in (site, site.management):
        networks += [ip_network(text) for text in (*services.dns, *services.ntp, *services.syslog)]
    if site.aaa is not None:
        networks += [ip_network(text) for text in site.aaa.servers]
    for fabric in plan.spec.fabrics:
        if fabric.addressing is not None:
            networks += [pool for key, pool in fabric.addressing.pools if key != "hosts"]
    return networks


def _networks(fabric: Fabric) -> dict[int, Ranges]:
    """All addresses of a fabric by IP version: of its hosts, its switches and the links between them."""
    networks: dict[int, Ranges] = {}
    if fabric.addressing is not None:
        for _, network in fabric.addressing.pools:
            networks[network.version] = networks.get(network.version, EMPTY) | _range([network])
    return networks


def _version(fabric: Fabric) -> int:
    return fabric.addressing.hosts.version if fabric.addressing is not None else 4


def _range(networks: list[Network]) -> Ranges:
    return ranges((int(network.network_address), int(network.broadcast_address)) for network in networks)


def _edges(plan: Plan, hosts: Mapping[tuple[str, str], Mapping[str, _End]]) -> Iterator[DeclaredEdge]:
    """Switches with hosts, by fabric and name."""
    targets, sources = relay_targets(plan), relay_sources(plan)
    for (fabric, switch), ports in sorted(hosts.items()):
        yield _edge(plan, fabric, switch, ports=ports, targets=targets, sources=sources)


def _edge(
    plan: Plan,
    fabric: str,
    switch: str,
    *,
    ports: Mapping[str, _End],
    targets: Mapping[str, int],
    sources: Mapping[str, int],
) -> DeclaredEdge:
    subnet = plan.host_subnet_of.get((fabric, switch))
    relays = switch in targets and plan.by_name[switch].fabric == fabric
    return DeclaredEdge(
        switch=switch,
        fabric=fabric,
        subnet=EMPTY if subnet is None else _subnet_range(subnet),
        ports=ports,
        relays=relays,
        gateway=subnet.gateway if subnet is not None else None,
        relay_source=sources.get(switch) if relays else None,
    )


def _subnet_range(subnet: Subnet) -> Ranges:
    host_bits = (32 if subnet.version == 4 else 128) - subnet.prefix_length
    return ranges([(subnet.network, subnet.network + (1 << host_bits) - 1)])


def _zone(plan: Plan, zone: Zone) -> DeclaredZone:
    parts = []
    for fabric in plan.spec.fabrics:
        addresses = ranges(zone_addresses(plan, zone, fabric))
        if addresses:
            parts.append(ZonePart(fabric.name, _version(fabric), addresses))
    for version in (4, 6):
        outside = _range([prefix for prefix in zone.prefixes if prefix.version == version])
        if outside:
            parts.append(ZonePart(OUTSIDE, version, outside))
    is_ports = bool(zone.fabrics) and not members_of(plan.spec, zone)
    return DeclaredZone(name=zone.name, kind=zone.kind, isolated=zone.isolated, is_ports=is_ports, parts=tuple(parts))
