"""Declared isolation of a plan: from the spec's zones and flows and the planned addresses, without the renderers.

The plan gives the owner of an address to renderers too; permitted packets between zones are derived here as sets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address, ip_network

from clusterwright.facts.reader import LOGINS, LOGS, NAMES, TIME
from clusterwright.packets.ranges import EMPTY, Ranges, ranges
from clusterwright.plan.asking import inband_sources
from clusterwright.plan.boot import relay_sources, relay_targets, server_addresses
from clusterwright.plan.first_contact import contact_fabrics
from clusterwright.plan.model import Device, Plan
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
from clusterwright.spec.isolation import Border, Network, Zone
from clusterwright.spec.site import Operator, Site
from clusterwright.spec.zone_reach import members_of
from clusterwright.switches.readers import READERS

# RFC 8907 and RFC 2865.
_LOGIN_SERVICES = {"tacacs": ("tcp", 49), "radius": ("udp", 1812)}
_HOST_SIDES = frozenset({"host", "management"})


def _prefixes(plan: Plan, border: Border) -> Iterator[tuple[int, int]]:
    for zone in plan.spec.zones:
        if zone.name in border.zones:
            for network in zone.prefixes:
                if network.version == border.address.version:
                    yield int(network.network_address), network.prefixlen


def declared_of(plan: Plan) -> DeclaredIsolation:
    """Isolation declared by the spec behind a plan."""
    ports: dict[tuple[str, str], dict[str, tuple[str, str]]] = defaultdict(dict)
    addresses: dict[tuple[int, int], tuple[str, str]] = {}
    management: dict[str, str] = {}
    linked: dict[str, set[str]] = defaultdict(set)
    addressed = {fabric.name: fabric for fabric in plan.spec.fabrics if fabric.addressing is not None}
    versions = {name: _version(fabric) for name, fabric in addressed.items()}
    for cable in plan.cables:
        a, b = cable.a, cable.b
        linked[a.device].add(a.port)
        linked[b.device].add(b.port)
        if cable.fabric not in addressed or a.side not in _HOST_SIDES:
            continue
        ports[cable.fabric, b.device][b.port] = end = (a.device, a.port)
        if plan.by_name[a.device].kind == "switch":
            management[a.device] = cable.fabric
        if a.address is not None:
            addresses[versions[cable.fabric], a.address] = end
    for border in plan.spec.borders:
        linked[border.device].add(border.port)
    zones = tuple(_zone(plan, zone) for zone in plan.spec.zones)
    relays = relay_targets(plan)
    sources = relay_sources(plan)
    return DeclaredIsolation(
        zones=zones,
        flows=tuple(
            DeclaredFlow(
                name=flow.name,
                source=flow.source,
                target=flow.target,
                protocol=flow.protocol,
                ports=ranges(flow.ports) if flow.ports else None,
                is_rdma=flow.is_rdma,
            )
            for flow in plan.spec.flows
        ),
        fabrics=tuple(
            DeclaredFabric(
                name=fabric.name,
                technology=fabric.technology,
                version=_version(fabric),
                pool=_range([fabric.addressing.hosts]),
                is_provided=fabric.is_provided,
            )
            for fabric in addressed.values()
            if fabric.addressing is not None
        ),
        zones_of={d.name: d.zones for d in plan.devices if d.kind == "node"},
        imaged=frozenset(
            device.name for device in plan.devices if device.kind == "node" and owns_part(plan, device.image, FILTER)
        ),
        beside_others=_installed_by_others(plan),
        networks_elsewhere=frozenset(left_out_parts(plan).get(NETWORK, ())),
        bridges=declared_bridges(plan),
        edges=tuple(
            _edge(plan, fabric, switch, ports=ends, targets=relays, sources=sources)
            for (fabric, switch), ends in sorted(ports.items())
        ),
        borders=tuple(
            DeclaredBorder(
                name=border.name,
                switch=border.device,
                port=border.port,
                fabric=plan.by_name[border.device].fabric if border.device in plan.by_name else "",
                version=border.address.version,
                switch_address=int(border.address.ip),
                neighbour=int(border.neighbour),
                zones=border.zones,
                prefixes=tuple(_prefixes(plan, border)),
                asn=border.asn,
                authentication=border.authentication,
            )
            for border in plan.spec.borders
        ),
        management=management,
        plumbing=tuple((network.version, _range([network])) for network in _plumbing(plan)),
        networks={fabric.name: _networks(fabric) for fabric in plan.spec.fabrics},
        switches={device.name: device.fabric for device in plan.devices if device.kind == "switch" and device.fabric},
        addresses=addresses,
        linked={name: frozenset(ports) for name, ports in linked.items()},
        logins=_operators(plan.spec.site),
        added_logins=_all_added_logins(plan, linked),
        snmp_users=frozenset() if plan.spec.site.snmp is None else frozenset({plan.spec.site.snmp.user}),
        servers=_servers(plan),
        lease_servers=_lease_servers(plan),
        managed={system.name: _managed(plan.spec.site, system) for system in systems().values()},
        collecting=None if plan.spec.site.telemetry is None else plan.spec.site.telemetry.port,
        internet=tuple(declared_openings(plan.spec)),
        default_gateways=declared_gateways(plan),
        fabric_sources={
            switch: (plan.address_version(plan.by_name[switch].fabric), source)
            for switch, source in inband_sources(plan).items()
        },
        login_service=_LOGIN_SERVICES["tacacs" if plan.spec.site.aaa is None else plan.spec.site.aaa.protocol],
    )


def _installed_by_others(plan: Plan) -> frozenset[str]:
    existing_images = {image.name for image in plan.spec.images if image.is_existing}
    return frozenset(device.name for device in plan.devices if device.image in existing_images)


def _managed(site: Site, system: System) -> DeclaredManagement:
    of_system = site_for(site, system)
    return DeclaredManagement(
        logins=_operators(of_system),
        snmp_users=frozenset() if of_system.snmp is None else frozenset({of_system.snmp.user}),
        servers=_configured_servers(of_system),
        unsupported=tuple(f"{value.key}: {value.reason}" for value in untold(site, system)),
    )


def _operators(site: Site) -> dict[str, DeclaredLogin]:
    return {
        operator.name: DeclaredLogin(
            frozenset(_end(operator) + " ".join(key.split(" ")[:2]) for key in operator.keys),
            operator.password is not None,
            operator.role == "admin",
        )
        for operator in site.operators
    }


def _end(operator: Operator) -> str:
    """Prefix of a key with an end, spelt here independently of the renderer."""
    return f'expiry-time="{operator.until:%Y%m%d}235959" ' if operator.until is not None else ""


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
    reader = next((reader for reader in READERS if system is not None and reader.system == system.name), None)
    read = None if reader is None else reader.logins.get(reader.file)
    for entry in plan.spec.extra_config:
        is_own = entry.lines and entry.concerns(device.name, device.role, device.fabric)
        if reader is None or read is None or not is_own:
            continue
        for login in read(reader.file, "\n".join(entry.lines)):
            before = logins.get(login.name, DeclaredLogin(frozenset(), has_password=False, is_admin=False))
            logins[login.name] = DeclaredLogin(
                before.keys | {login.key}, before.has_password or login.has_password, before.is_admin or login.is_admin
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
        servers[fabric.name] = frozenset(
            (version, server_address) for server_address in server_addresses(plan).values()
        )
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


def _edge(
    plan: Plan,
    fabric: str,
    switch: str,
    *,
    ports: Mapping[str, tuple[str, str]],
    targets: Mapping[str, int],
    sources: Mapping[str, int],
) -> DeclaredEdge:
    subnet = plan.host_subnet_of.get((fabric, switch))
    size = 0 if subnet is None else 1 << ((32 if subnet.version == 4 else 128) - subnet.prefix_length)
    behind = ranges([] if subnet is None else [(subnet.network, subnet.network + size - 1)])
    relays = switch in targets and plan.by_name[switch].fabric == fabric
    gateway = subnet.gateway if subnet is not None else None
    return DeclaredEdge(
        switch=switch,
        fabric=fabric,
        subnet=behind,
        ports=ports,
        relays=relays,
        gateway=gateway,
        relay_source=sources.get(switch) if relays else None,
    )


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
