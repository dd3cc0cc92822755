"""Boot servers of every rack, and the boot adapters of nodes.

A rack is served by the boot servers nearest to it: those in the rack itself, else in its pod, else all of the cluster,
racks spread over them evenly. Each has a first server and, if there are several, a second one for its failures. In the
place of a server out of service comes the next one, and other racks keep theirs. A drained one serves on.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from clusterwright.plan.first_contact import contact_relays
from clusterwright.plan.model import Device, Interface, Plan
from clusterwright.plan.service import OUT_OF_SERVICE
from clusterwright.spec.distribution import Family, family_of
from clusterwright.spec.hardware.systems import system_of
from clusterwright.spec.image import Image
from clusterwright.spec.model import ClusterSpec

# Locally administered (IEEE 802, second bit of the first octet), so that no delivered adapter can bear it.
PLANNED_MAC = 0x02_00_00_00_00_00
_NUMBER_BITS = 24  # below its prefix: 262,144 nodes
_NICS_PER_NODE = 64
# Where boot servers listen: DHCP by IP version, TFTP, and HTTP, since firmware trusts no authority of the site.
DHCP_PORTS = {4: 67, 6: 547}
TFTP_PORT, HTTP_PORT = 69, 80


class BootNic(NamedTuple):
    """A node's adapter for network boot; ``is_planned``: its ``mac`` has not been read from a label yet."""

    device: str
    interface: Interface
    switch: str
    mac: int
    is_planned: bool


def ipxe_of(spec: ClusterSpec) -> str:
    """Path of iPXE for UEFI on boot servers: the spec's, else the one in their distribution's package.

    Machines without an image count as Debian.
    """
    if spec.boot is not None and spec.boot.ipxe is not None:
        return spec.boot.ipxe
    return boot_server_family(spec).ipxe


def boot_server_family(spec: ClusterSpec) -> Family:
    """Family of the boot servers' distribution; Debian's without an image."""
    image = boot_server_image(spec)
    return family_of(image.distribution if image is not None else "")


def boot_server_image(spec: ClusterSpec) -> Image | None:
    """The image of the boot servers; None for machines without one."""
    group = spec.node_group(spec.boot.servers) if spec.boot is not None else None
    return spec.image(group.image or "") if group is not None else None


def booted(plan: Plan) -> tuple[Device, ...]:
    """The nodes with network boot, in plan order: with a NIC on the boot fabric and an image not yet installed."""
    nics_by_node = boot_nics(plan)
    return tuple(device for device in plan.devices if device.name in nics_by_node)


def boot_nics(plan: Plan) -> Mapping[str, tuple[BootNic, ...]]:
    """The adapters on the boot fabric by node, of nodes with an image; empty without a ``boot`` section."""
    boot = plan.spec.boot
    if boot is None:
        return {}
    noted = boot.macs.by_end if boot.macs is not None else {}
    by_node: dict[str, list[BootNic]] = {}
    for cable in plan.cables:
        if cable.fabric != boot.fabric or cable.a.side != "host":
            continue
        device = plan.by_name[cable.a.device]
        image = plan.spec.image(device.image or "")
        if image is None or image.is_existing:
            continue
        if cable.bond is not None and cable.a.address is None:
            continue  # of NICs that are one link, the first asks
        node_nics = by_node.setdefault(device.name, [])
        mac = noted.get((device.name, cable.a.port))
        planned = PLANNED_MAC + device.index * _NICS_PER_NODE + len(node_nics)
        node_nics.append(
            BootNic(
                device=device.name,
                interface=cable.a,
                switch=cable.b.device,
                mac=planned if mac is None else mac,
                is_planned=mac is None,
            )
        )
    return {name: tuple(nics) for name, nics in by_node.items()}


def servers_by_rack(plan: Plan) -> Mapping[str, tuple[str, ...]]:
    """The boot servers of every rack with nodes to boot, the first one first; at most two."""
    return _servers_by_rack(plan, boot_nics(plan))


def _servers_by_rack(plan: Plan, nics: Container[str]) -> Mapping[str, tuple[str, ...]]:
    boot = plan.spec.boot
    if boot is None:
        return {}
    nodes = [device for device in plan.devices if device.kind == "node"]
    servers = [node for node in nodes if node.node_group == boot.servers]
    racks = {device.rack: device for device in plan.devices if device.name in nics}
    gone = frozenset(server.name for server in servers if server.state == OUT_OF_SERVICE)
    near = {rack: _nearest(servers, device) for rack, device in racks.items()}
    sharing: dict[tuple[str, ...], list[str]] = {}
    for rack, names in near.items():
        sharing.setdefault(names, []).append(rack)
    by_rack: dict[str, tuple[str, ...]] = {}
    for names, served in sharing.items():
        for number, rack in enumerate(served):
            first = number * len(names) // len(served)
            turned = (*names[first:], *names[:first])
            by_rack[rack] = (tuple(name for name in turned if name not in gone) or turned)[:2]
    return {rack: by_rack[rack] for rack in racks}


def server_addresses(plan: Plan) -> Mapping[str, int]:
    """Address of every boot server: that of its first NIC on the boot fabric."""
    boot = plan.spec.boot
    addresses: dict[str, int] = {}
    if boot is None:
        return addresses
    for cable in plan.cables:
        if cable.fabric != boot.fabric or cable.a.side != "host" or cable.a.address is None:
            continue
        if plan.by_name[cable.a.device].node_group == boot.servers:
            addresses.setdefault(cable.a.device, cable.a.address)
    return addresses


def relay_targets(plan: Plan) -> Mapping[str, int]:
    """Target of each switch's DHCP relay: its first boot server on the boot fabric.

    On the management network, the server of first contact.
    """
    return {**_boot_relays(plan), **contact_relays(plan)}


def _boot_relays(plan: Plan) -> Mapping[str, int]:
    if plan.spec.boot is None:
        return {}
    address, nics = server_addresses(plan), boot_nics(plan)
    servers = _servers_by_rack(plan, nics)
    relays: dict[str, int] = {}
    for name, node_nics in nics.items():
        rack_servers = servers[plan.by_name[name].rack]
        if rack_servers and rack_servers[0] in address:
            relays |= {nic.switch: address[rack_servers[0]] for nic in node_nics}
    return relays


def relay_sources(plan: Plan) -> Mapping[str, int]:
    """Source address of each switch's relayed DHCP requests.

    Its system decides; to a server behind the switch itself it is the hosts' gateway, since the route starts there.
    """
    sources: dict[str, int] = {}
    for switch, server in relay_targets(plan).items():
        device = plan.by_name[switch]
        subnet = plan.host_subnet_of[device.fabric, switch]
        system = system_of(plan.spec.catalogue[device.model])
        host_bits = (32 if subnet.version == 4 else 128) - subnet.prefix_length
        is_elsewhere = server >> host_bits != subnet.network >> host_bits
        from_loopback = is_elsewhere and system is not None and system.relays_from_loopback(subnet.version)
        source = device.loopback if from_loopback else subnet.gateway
        if source is not None:
            sources[switch] = source
    return sources


def _nearest(servers: list[Device], node: Device) -> tuple[str, ...]:
    """Those in the node's rack, else its pod, else all; of the nearest that are not all out of service."""
    in_rack = [server for server in servers if server.rack == node.rack]
    in_pod = [server for server in servers if server.pod == node.pod] if node.pod else []
    for group in (in_rack, in_pod):
        if any(server.state != OUT_OF_SERVICE for server in group):
            return tuple(server.name for server in group)
    return tuple(server.name for server in servers)


def is_placeholder(mac: int) -> bool:
    """Whether an address is a placeholder for an unknown adapter."""
    return mac >> _NUMBER_BITS == PLANNED_MAC >> _NUMBER_BITS


def format_mac(value: int) -> str:
    """A MAC address as people write it: 02:00:00:00:01:40."""
    return value.to_bytes(6, "big").hex(":")
