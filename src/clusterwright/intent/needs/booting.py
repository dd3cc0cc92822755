"""Needs of machines during network boot or installation."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from clusterwright.intent.needs.hosts import SITE_PORTS
from clusterwright.intent.needs.need import Need, Party, imaged, party_of, server_at
from clusterwright.plan.boot import DHCP_PORTS, HTTP_PORT, TFTP_PORT
from clusterwright.spec.model import ClusterSpec, NodeGroup

_SCHEMES = {"http": 80, "https": 443}


def booting(spec: ClusterSpec) -> Iterator[Need]:
    """Addresses, iPXE and everything loaded by it; packages for an installer."""
    boot, network = spec.boot, spec.boot_network
    if boot is None or network is None:
        return
    fabric, addressing = network
    version = addressing.hosts.version
    services = (
        ("udp", DHCP_PORTS[version], "it gives addresses", "the rack switch's DHCP relay"),
        ("udp", TFTP_PORT, "it gives firmware iPXE", "firmware"),
        ("tcp", HTTP_PORT, "it gives boot scripts, kernels and images", "iPXE, the installer"),
    )
    for group in imaged(spec):
        if not any(attach.nodes == group.name for attach in fabric.attach):
            continue
        for who in party_of(spec, group.name, fabric.name):
            for server in party_of(spec, boot.servers, fabric.name):
                for protocol, port, why, unit in services:
                    yield Need(
                        topic="boot",
                        who=who,
                        whom=server,
                        protocol=protocol,
                        low=port,
                        high=port,
                        why=why,
                        unit=unit,
                        path=(*boot.path, "servers"),
                        booting=True,
                    )
            yield from _installing(spec, group, who)


def _installing(spec: ClusterSpec, group: NodeGroup, who: Party) -> Iterator[Need]:
    image = spec.image(group.image or "")
    if image is None or image.delivery != "disk":
        return
    named_servers: set[tuple[str, int]] = set()
    for index, repository in enumerate(image.repositories):
        url = urlsplit(repository.url)
        host, port = url.hostname or "", url.port or _SCHEMES.get(url.scheme, 0)
        if not host or not port or (host, port) in named_servers:
            continue
        named_servers.add((host, port))
        path = (*image.path, "repositories", index, "url")
        whom, why = server_at(spec, host), "it gives an installer packages"
        yield Need(
            topic="boot",
            who=who,
            whom=whom,
            protocol="tcp",
            low=port,
            high=port,
            why=why,
            unit="the installer",
            path=path,
            booting=True,
        )
        if whom.zones is None:
            protocol, ask = SITE_PORTS["dns"]
            for text in spec.site.dns:
                why, server = f"it resolves {host} for an installer", server_at(spec, text)
                yield Need(
                    topic="boot",
                    who=who,
                    whom=server,
                    protocol=protocol,
                    low=ask,
                    high=ask,
                    why=why,
                    unit="the installer",
                    path=path,
                    booting=True,
                )
