"""Needs of switches and BMCs over the management network, and of their operators."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.intent.needs.hosts import SSH_PORT, WHY
from clusterwright.intent.needs.need import Need, Party, server_at
from clusterwright.plan.boot import DHCP_PORTS, HTTP_PORT
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.site import FirstContact
from clusterwright.spec.zone_reach import members_of

SWITCH_PORTS = {"dns": ("udp", 53), "ntp": ("udp", 123), "syslog": ("udp", 514)}
AAA_PORTS = {"tacacs": ("tcp", 49), "radius": ("udp", 1812)}
HTTPS_PORT, SNMP_PORT = 443, 161


def switches(spec: ClusterSpec) -> Iterator[Need]:
    """Requests of switches and BMCs over the management network, and those of operators to them."""
    for fabric in spec.fabrics:
        if not fabric.is_management:
            continue
        zones = [zone for zone in spec.zones if fabric.name in zone.fabrics]
        whole_fabric_zones = tuple(zone.name for zone in zones if not members_of(spec, zone))
        if whole_fabric_zones:
            yield from _management(spec, Party(f"ports on {fabric.name}", whole_fabric_zones), fabric)


def _management(spec: ClusterSpec, ports: Party, fabric: Fabric) -> Iterator[Need]:
    site, section = spec.site, spec.document.at(("site",))
    servers = {"dns": site.management.dns, "ntp": site.management.ntp, "syslog": site.management.syslog}
    for key, (protocol, port) in SWITCH_PORTS.items():
        base = ("site", "management", key) if key in section.get("management", {}) else ("site", key)
        for index, text in enumerate(servers[key]):
            whom = server_at(spec, text)
            yield Need(
                topic="switches",
                who=ports,
                whom=whom,
                protocol=protocol,
                low=port,
                high=port,
                why=WHY[key],
                unit="switches",
                path=(*base, index),
            )
    if site.aaa is not None:
        protocol, port = AAA_PORTS[site.aaa.protocol]
        for index, text in enumerate(site.aaa.servers):
            path, why = (*site.aaa.path, "servers", index), "it authenticates operators"
            yield Need(
                topic="switches",
                who=ports,
                whom=server_at(spec, text),
                protocol=protocol,
                low=port,
                high=port,
                why=why,
                unit="switches",
                path=path,
            )
    if spec.first_contact is not None:
        yield from _first_contact(spec, ports, spec.first_contact)
    services = [
        ("tcp", SSH_PORT, "files are deployed to them", "ssh, Ansible", fabric.path),
        ("tcp", HTTPS_PORT, "Redfish powers machines there, and eAPI answers", "BMCs, switches", fabric.path),
    ]
    if site.snmp is not None:
        services.append(("udp", SNMP_PORT, "they are watched", "SNMP", site.snmp.path))
    if site.telemetry is not None:
        services.append(("tcp", site.telemetry.port, "they are watched", "gNMI", site.telemetry.path))
    for protocol, port, why, unit, path in services:
        yield Need(
            topic="switches",
            who=Party("operators", None),
            whom=ports,
            protocol=protocol,
            low=port,
            high=port,
            why=why,
            unit=unit,
            path=path,
        )


def _first_contact(spec: ClusterSpec, ports: Party, section: FirstContact) -> Iterator[Need]:
    """Addresses, renewed without a relay, and first files."""
    services = (
        ("udp", DHCP_PORTS[section.server.version], "it gives first addresses, and renews them"),
        ("tcp", HTTP_PORT, "it gives first configurations"),
    )
    for protocol, port, why in services:
        yield Need(
            topic="switches",
            who=ports,
            whom=server_at(spec, str(section.server)),
            protocol=protocol,
            low=port,
            high=port,
            why=why,
            unit="switches, BMCs",
            path=(*section.path, "server"),
        )
