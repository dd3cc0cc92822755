"""The planned Ethernet cables and ports: bonds, planes, lengths, media and the ports of each GPU."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.plan.meeting import wiring_of_cables
from clusterwright.plan.model import Cable, Plan
from clusterwright.spec.attachment import leaves_of_gpus
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.systems import EXTERNAL, UNMANAGED


def switches_configured_elsewhere(plan: Plan) -> Mapping[str, str]:
    """Fabric of each switch configured by another system.

    Every Ethernet switch has something to configure; on InfiniBand the manager routes for switches without a CPU.
    """
    ethernet = {fabric.name for fabric in plan.spec.fabrics if fabric.technology != "infiniband"}
    fabric_by_switch: dict[str, str] = {}
    for device in plan.devices:
        if device.kind != "switch":
            continue
        system = plan.spec.catalogue[device.model].network_os
        if system == EXTERNAL or (system == UNMANAGED and device.fabric in ethernet):
            fabric_by_switch[device.name] = device.fabric
    return fabric_by_switch


def switch_fabrics(plan: Plan) -> Mapping[str, Fabric]:
    """Ethernet fabric of each switch as the spec declares it."""
    fabrics = {fabric.name: fabric for fabric in plan.spec.fabrics if fabric.technology != "infiniband"}
    switches = (device for device in plan.devices if device.kind == "switch")
    return {switch.name: fabrics[switch.fabric] for switch in switches if switch.fabric in fabrics}


@dataclass(frozen=True, slots=True)
class DeclaredTiers:
    """Tiers of all fabrics, by role."""

    levels: Mapping[str, int]
    """Number of tiers stacked below that of a role on an Ethernet fabric."""
    at_or_below: Mapping[tuple[str, str], frozenset[str]]
    """By fabric and role, the roles of that tier and of all tiers with uplinks towards it."""


def declared_tiers(plan: Plan) -> DeclaredTiers:
    """Tiers of all fabrics as the spec declares them."""
    levels: dict[str, int] = {}
    roles: dict[tuple[str, str], frozenset[str]] = {}
    for fabric in plan.spec.fabrics:
        order = plan.tier_orders[fabric.name]
        for depth, tier in enumerate(fabric.tiers):
            lower_tiers = order.at_or_below(depth)
            roles[fabric.name, tier.role] = frozenset(fabric.tiers[index].role for index in lower_tiers)
            if fabric.technology != "infiniband":
                levels[tier.role] = order.levels[depth]
    return DeclaredTiers(levels=levels, at_or_below=roles)


def railed_fabrics(plan: Plan) -> frozenset[str]:
    """Fabrics with one leaf for each rail of nodes with GPUs."""
    railed: set[str] = set()
    for fabric in plan.spec.fabrics:
        leaves = leaves_of_gpus(plan.spec, fabric) or fabric.tiers[:1]
        if all(tier.join == "rail" for tier in leaves):
            railed.add(fabric.name)
    return frozenset(railed)


def joined_planes(plan: Plan) -> Mapping[str, Mapping[str, int]]:
    """Planes shared by switches with uplinks while all cables are in service, by Ethernet fabric."""
    cables: dict[str, list[Cable]] = {}
    for fabric in plan.spec.fabrics:
        if fabric.technology != "infiniband":
            cables[fabric.name] = []
    for cable in plan.cables:
        if cable.fabric in cables:
            cables[cable.fabric].append(cable)
    return {name: wiring_of_cables(fabric_cables).joined for name, fabric_cables in cables.items()}


def bonded_ports(plan: Plan) -> Mapping[tuple[str, str], frozenset[str]]:
    """Member ports of each link aggregation, by device and link."""
    ports: dict[tuple[str, str], set[str]] = defaultdict(set)
    for cable in plan.cables:
        if cable.bond is not None:
            ports[cable.a.device, cable.bond.interface].add(cable.a.port)
    return {link: frozenset(members) for link, members in ports.items()}


def headroom_lengths(plan: Plan) -> Mapping[tuple[str, str], float]:
    """Metres of cable for sizing headroom, by device and port of fabrics with a lossless class."""
    lossless: set[str] = set()
    for fabric in plan.spec.fabrics:
        if any(traffic_class.priority is not None for traffic_class in fabric.classes):
            lossless.add(fabric.name)
    lengths: dict[tuple[str, str], float] = {}
    for cable in plan.cables:
        if cable.fabric in lossless:
            lengths[cable.a.device, cable.a.port] = cable.headroom_m
            lengths[cable.b.device, cable.b.port] = cable.headroom_m
    return lengths


def ports_of_gpus(plan: Plan) -> Mapping[tuple[str, str, int], frozenset[str]]:
    """NICs in service of one GPU at several switches, by Ethernet fabric, node and GPU.

    Nodes without an image are left out: their network is not rendered. So are those on InfiniBand: the switch of each
    port is proven from the subnet manager's list of cables.
    """
    gpu_of = _gpus_with_several_nics(plan)
    if not gpu_of:
        return {}
    routed = {fabric.name for fabric in plan.spec.fabrics if fabric.technology != "infiniband"}
    switch_at: dict[tuple[str, str, int], dict[str, str]] = defaultdict(dict)
    for cable in plan.cables:
        if cable.fabric not in routed or not cable.in_service:
            continue
        node = plan.by_name[cable.a.device]
        gpu = gpu_of.get((node.node_group, cable.a.port))
        if gpu is not None and node.image is not None:
            switch_at[cable.fabric, cable.a.device, gpu][cable.a.port] = cable.b.device
    return {key: frozenset(switches) for key, switches in switch_at.items() if len(set(switches.values())) > 1}


def _gpus_with_several_nics(plan: Plan) -> dict[tuple[str, str], int]:
    """GPU of each NIC sharing its GPU with another NIC, by node group and interface."""
    gpu_of = {}
    for group in plan.spec.node_groups:
        for nic_group in group.model.nic_groups:
            nics_of_gpu = Counter(nic.gpu for nic in nic_group.nics)
            for nic in nic_group.nics:
                if nic.gpu is not None and nics_of_gpu[nic.gpu] > 1:
                    gpu_of[group.name, nic.interface] = nic.gpu
    return gpu_of
