"""Cables of one fabric: ports for every link, addresses for every interface.

Order is fixed: first the attached nodes, then the links between switches, lower switch by lower switch. Port n of a
switch is its n-th link in that order, as a technician expects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clusterwright.plan.addressing import FabricAddresses, fabric_addresses
from clusterwright.plan.allocation.fabric_ports import allocate_fabric
from clusterwright.plan.allocation.given_addresses import GivenAddresses
from clusterwright.plan.attaching import nic_ports
from clusterwright.plan.chips import fabric_number, hca_guid
from clusterwright.plan.layout import Layout
from clusterwright.plan.model import Cable, Device, Interface, Subnet
from clusterwright.plan.racks.lengths import CableRuns
from clusterwright.plan.service import Service
from clusterwright.plan.skeleton import FabricSkeleton, links_of
from clusterwright.spec.fabric import Attach, Fabric, Tier
from clusterwright.spec.model import ClusterSpec, NodeGroup


class _CableEnd(NamedTuple):
    """One end of a cable: ``side`` and ``address`` as an Interface has them."""

    device: str
    port: str
    side: str
    address: int | None


@dataclass(frozen=True, slots=True)
class _NicEnd:
    """The node's end of an attachment, as its hardware model describes it."""

    port: str
    side: str


def cable_fabric(
    spec: ClusterSpec,
    layout: Layout,
    skeleton: FabricSkeleton,
    *,
    switches: Sequence[Device],
    nodes: Sequence[Device],
    service: Service,
    runs: CableRuns,
) -> tuple[list[Cable], list[Subnet]]:
    """Cables and subnets of a fabric. Raises PortShortage when a switch runs out of ports."""
    ports = allocate_fabric(spec, skeleton)
    addressing = skeleton.fabric.addressing
    addresses = fabric_addresses(addressing) if addressing else None
    down_ports = [iter(allocation.down) for allocation in ports]
    up_ports = [iter(allocation.up) for allocation in ports]
    names = [switch.name for switch in switches]
    given = GivenAddresses(skeleton, addresses) if addresses else None
    host_cables, subnets = _attach(
        spec, layout, skeleton, names=names, nodes=nodes, down_ports=down_ports, given=given, service=service, runs=runs
    )
    below_m = [_stated_length_m(spec, tier) for tier in skeleton.fabric.tiers]
    return [
        *host_cables,
        *_link(
            skeleton, names, down_ports, up_ports=up_ports, given=given, service=service, runs=runs, below_m=below_m
        ),
    ], subnets


def _stated_length_m(spec: ClusterSpec, tier: Tier) -> float:
    """Stated length of a tier's cables from below; 0 without one."""
    is_stated = (*tier.down.path, "length_m") in spec.document.values
    return tier.down.length_m if is_stated else 0.0


def _nic_ends(group: NodeGroup, attach: Attach) -> list[_NicEnd]:
    side = "management" if attach.is_management else "host"
    return [_NicEnd(port, side) for port in nic_ports(group, attach)]


def _attach(
    spec: ClusterSpec,
    layout: Layout,
    skeleton: FabricSkeleton,
    *,
    names: Sequence[str],
    nodes: Sequence[Device],
    down_ports: Sequence[Iterator[str]],
    given: GivenAddresses | None,
    service: Service,
    runs: CableRuns,
) -> tuple[list[Cable], list[Subnet]]:
    fabric = skeleton.fabric
    ends = _ends_by_group(spec, fabric)
    prefix = fabric.subnet_manager.guid_prefix if fabric.subnet_manager else None
    number = fabric_number(spec.fabrics, fabric)
    scanned = fabric.guids.by_end if fabric.guids else {}
    filling = {attach.nodes for attach in fabric.attach if attach.to is not None}
    subnets: list[Subnet] = []
    cables: list[Cable] = []
    for item in skeleton.attachments():
        switch = names[item.seat]
        seat = skeleton.seats[item.seat]
        tier = fabric.tiers[seat.tier]
        address = upper_address = None
        length = 0
        if given is not None:
            if item.seat not in given.subnets:
                subnets.append(_host_subnet(fabric, switch, given.addresses, given.subnet(item.seat)))
            length = given.addresses.host_length
            if item.has_address and fabric.given is None:
                address, upper_address = given.host(item)
        if item.node >= 0:
            device = nodes[item.node].name
            end = ends[layout.nodes[item.node].node_group][item.nic]
        else:
            device = item.switch
            end = _NicEnd(item.port, "management")
        if fabric.given is not None:
            address = fabric.given.by_end.get((device, end.port))
        rail = None
        if end.side == "host":
            rail = seat.rail if nodes[item.node].node_group in filling else item.nic
        guid = None
        if prefix is not None and item.node >= 0:
            planned = hca_guid(prefix, number, layout.nodes[item.node].number, item.nic)
            guid = scanned.get((device, end.port), planned)
        lower, upper = _cable_ends(
            _CableEnd(device, end.port, end.side, address),
            _CableEnd(switch, next(down_ports[item.seat]), "down", upper_address),
            fabric=fabric.name,
            speed_gbps=item.speed_gbps,
            rail=rail,
            prefix_length=length,
            guid=guid,
        )
        cables.append(
            Cable(
                fabric=fabric.name,
                tier=seat.tier,
                a=lower,
                b=upper,
                speed_gbps=item.speed_gbps,
                medium=tier.down.medium,
                length_m=runs.between(device, switch, tier.down.length_m).length_m,
                in_service=service.carries(lower, upper),
                bond=item.bond,
                stated_m=tier.down.length_m,
            )
        )
    return cables, subnets


def _cable_ends(
    lower: _CableEnd,
    upper: _CableEnd,
    *,
    fabric: str,
    speed_gbps: int,
    rail: int | None,
    prefix_length: int,
    guid: int | None = None,
) -> tuple[Interface, Interface]:
    """The interfaces at both ends of a cable; only the lower one can have a GUID."""
    lower_interface = Interface(
        device=lower.device,
        port=lower.port,
        fabric=fabric,
        side=lower.side,
        speed_gbps=speed_gbps,
        rail=rail,
        address=lower.address,
        prefix_length=prefix_length,
        guid=guid,
    )
    upper_interface = Interface(
        device=upper.device,
        port=upper.port,
        fabric=fabric,
        side=upper.side,
        speed_gbps=speed_gbps,
        rail=rail,
        address=upper.address,
        prefix_length=prefix_length,
    )
    return lower_interface, upper_interface


def _host_subnet(fabric: Fabric, switch: str, addresses: FabricAddresses, network: int) -> Subnet:
    version = 4 if addresses.bits == 32 else 6
    length = addresses.addressing.hosts_per_switch
    return Subnet(
        fabric=fabric.name,
        kind="host",
        device=switch,
        version=version,
        network=network,
        prefix_length=length,
        gateway=None if fabric.is_provided else addresses.gateway(network),
    )


def _ends_by_group(spec: ClusterSpec, fabric: Fabric) -> list[list[_NicEnd]]:
    """For each node group of the spec, its NICs on this fabric."""
    wanted = {attach.nodes: attach for attach in fabric.attach}
    ends = []
    for group in spec.node_groups:
        attach = wanted.get(group.name) or wanted.get(None)
        ends.append(_nic_ends(group, attach) if attach else [])
    return ends


def _link(
    skeleton: FabricSkeleton,
    names: Sequence[str],
    down_ports: Sequence[Iterator[str]],
    *,
    up_ports: Sequence[Iterator[str]],
    given: GivenAddresses | None,
    service: Service,
    runs: CableRuns,
    below_m: Sequence[float],
) -> list[Cable]:
    fabric = skeleton.fabric
    cables: list[Cable] = []
    for bundle in skeleton.bundles:
        for lower, link in links_of(skeleton, bundle):
            upper = link.upper
            up = fabric.tiers[skeleton.seats[lower].tier].up
            if up is None:
                continue
            low_address, high_address = given.link(link) if given else (None, None)
            length = given.addresses.link_length if given else 0
            rail = skeleton.seats[lower].rail
            speed = up.speed_gbps
            a, b = _cable_ends(
                _CableEnd(names[lower], next(up_ports[lower]), "up", low_address),
                _CableEnd(names[upper], next(down_ports[upper]), "down", high_address),
                fabric=fabric.name,
                speed_gbps=speed,
                rail=rail,
                prefix_length=length,
            )
            working = service.carries(a, b)
            run = runs.between(names[lower], names[upper], up.side.length_m)
            stated_m = max(up.side.length_m, below_m[bundle.tier])
            cables.append(
                Cable(
                    fabric=fabric.name,
                    tier=bundle.tier,
                    a=a,
                    b=b,
                    speed_gbps=speed,
                    medium=up.side.medium,
                    length_m=run.length_m,
                    in_service=working,
                    stated_m=stated_m,
                )
            )
    return cables
