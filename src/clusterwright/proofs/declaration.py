"""What a spec asks for, as far as proofs compare rendered text with it: the members of every partition, by GUID.

Made from the plan and not by the renderers' code, so that a mistake of theirs shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from clusterwright.plan.bandwidth import promised_at_each_switch
from clusterwright.plan.chips import chips_of
from clusterwright.plan.figures import promised_shares
from clusterwright.plan.meeting import wiring_of_cables
from clusterwright.plan.model import Cable, Device, Plan
from clusterwright.plan.own_addresses import ipoib_nodes
from clusterwright.proofs.declared_logins import Accounts, declared_logins
from clusterwright.proofs.infiniband.declared import DeclaredNccl, DeclaredSubnet, declared_nccl, declared_subnets
from clusterwright.proofs.isolation.declaration import declared_of
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.spec.encryption import CLEAR
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.ipoib import lnet_networks
from clusterwright.spec.zone_reach import memberships_of, owner_in_clear


@dataclass(frozen=True, slots=True)
class DeclaredPartition:
    """A partition as the spec's zones want it: port GUIDs to ``full`` or ``limited``; ``ipoib`` where it carries IP."""

    fabric: str
    name: str
    pkey: int
    members: Mapping[int, str]
    ipoib: bool


@dataclass(frozen=True, slots=True)
class DeclaredIpoib:
    """An interface of IP over InfiniBand: the adapter ``parent``, the P_Key of 16 bits, the address with its length."""

    name: str
    parent: str
    pkey: int
    address: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a spec promises; ``ports`` are the GUIDs of every planned adapter port of a fabric.

    ``shares`` are the shares of the adapters' bandwidth that the spec promises of a fabric (1 is all of it, none
    where it states no oversubscription), ``open_default`` the fabrics whose spec wants full membership in the
    default partition for everybody. ``drained`` are devices that carry no traffic, ``drained_chips`` the GUIDs of
    the InfiniBand switch chips among them, ``idle`` by InfiniBand fabric the switches and ports that the spec
    drains or takes out of service, ``subnets`` by fabric what is asked of its manager, ``ratios`` the promised
    oversubscription by ``fabric.tier`` with its tolerance, ``switch_ratios`` that of each switch of it,
    ``encrypted_links`` the device and port at both ends of every link that is to have MACsec, ``isolation`` the matrix
    of zones and flows. ``endpoints`` are device and port of every planned GUID, ``managers`` for each fabric
    the hosts of which so many run its subnet manager. ``protections`` are the kind of protection of each node's mounts
    by mount point, ``in_clear`` those that nothing is to protect, with why and who answers for it, ``tls_files`` the
    files that tlshd is to have by its own words for them, ``ethernet`` each switch's fabric as the spec declares it,
    ``stopped`` are devices that are drained or out of service, ``unplugged`` device and port of every NIC and
    management port whose cable is out of service. ``nccl_nodes`` are the nodes that have an NCCL profile, each
    with its number, ``railed`` the fabrics whose lowest tier has switches for each rail. ``roles`` are those of the
    switches,
    ``joined`` by Ethernet fabric the planes in which switches with uplinks meet while all is in service.
    ``bonds`` are the ports of each device that are one link, by device and link, ``gpu_ports`` by fabric, node and GPU
    the NICs in service beside a GPU, where they are at several switches.
    ``accepted`` is by fabric why one switch or cable may cut off nodes.
    ``vouched`` are by device what the spec adds and no reader need know: the file, None for lines of text, and the
    place, with the reason. ``ipoib`` are the interfaces of each node that has such, ``lnet`` LNet's networks over
    them.
    """

    ports: Mapping[str, frozenset[int]]
    partitions: tuple[DeclaredPartition, ...]
    shares: Mapping[str, float]
    open_default: frozenset[str]
    drained: frozenset[str] = frozenset()
    drained_chips: frozenset[int] = frozenset()
    subnets: Mapping[str, DeclaredSubnet] = field(default_factory=dict)
    idle: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ratios: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    encrypted_links: frozenset[tuple[str, str]] = frozenset()
    isolation: DeclaredIsolation | None = None
    endpoints: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    managers: Mapping[str, tuple[frozenset[str], int]] = field(default_factory=dict)
    protections: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tls_files: Mapping[str, str] = field(default_factory=dict)
    ethernet: Mapping[str, Fabric] = field(default_factory=dict)
    stopped: frozenset[str] = frozenset()
    unplugged: frozenset[tuple[str, str]] = frozenset()
    nccl_nodes: Mapping[str, int] = field(default_factory=dict)
    railed: frozenset[str] = frozenset()
    roles: Mapping[str, str] = field(default_factory=dict)
    joined: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    bonds: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    gpu_ports: Mapping[tuple[str, str, int], frozenset[str]] = field(default_factory=dict)
    in_clear: Mapping[str, str] = field(default_factory=dict)
    accepted: Mapping[str, str] = field(default_factory=dict)
    vouched: Mapping[str, Mapping[tuple[str | None, str], str]] = field(default_factory=dict)
    ipoib: Mapping[str, tuple[DeclaredIpoib, ...]] = field(default_factory=dict)
    lnet: Mapping[str, str] = field(default_factory=dict)
    switch_ratios: Mapping[str, float] = field(default_factory=dict)
    cable_m: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """By device and port, the length in metres that buffers of a lossless fabric are sized for."""
    nccl_on_infiniband: Mapping[str, DeclaredNccl] = field(default_factory=dict)
    """By node, what is asked of its NCCL."""
    logins: Mapping[str, Accounts] = field(default_factory=dict)
    """By node that runs an image, its accounts."""
    single_mode: frozenset[tuple[str, str]] = frozenset()
    """Device and port at the lower end of every cable between switches that is single-mode fibre."""

    def fabric_with(self, port_guids: Iterable[int]) -> str | None:
        """The fabric that most of these adapter ports are planned in; None when none is."""
        found = set(port_guids)
        best = max(self.ports, key=lambda name: len(self.ports[name] & found), default=None)
        return best if best is not None and self.ports[best] & found else None


def declaration_of(plan: Plan) -> Declaration:
    """The declaration behind a plan."""
    ports: dict[str, dict[int, str]] = {}
    for cable in plan.cables:
        if cable.a.guid is not None:
            ports.setdefault(cable.fabric, {})[cable.a.guid] = plan.by_name[cable.a.device].node_group
    endpoints = {c.a.guid: (c.a.device, c.a.port) for c in plan.cables if c.a.guid is not None}
    wanted = []
    for fabric in plan.spec.fabrics:
        own = ports.get(fabric.name, {})
        for partition in fabric.partitions:
            by_group = memberships_of(plan.spec, partition)
            members = {guid: by_group[group] for guid, group in own.items() if group in by_group}
            wanted.append(
                DeclaredPartition(
                    fabric.name, partition.name, partition.pkey & 0x7FFF, members, partition.ipoib is not None
                )
            )
    opened = {
        fabric.name
        for fabric in plan.spec.fabrics
        if fabric.subnet_manager is not None and fabric.subnet_manager.default_membership == "full"
    }
    managers = {
        fabric.name: (
            frozenset(d.name for d in plan.devices if d.node_group == fabric.subnet_manager.nodes),
            fabric.subnet_manager.count,
        )
        for fabric in plan.spec.fabrics
        if fabric.subnet_manager is not None
    }
    planned = {name: frozenset(own) for name, own in ports.items()}
    drained = frozenset(device.name for device in plan.devices if device.state == "drained")
    ratios = {
        item.figure.partition(".")[2]: (item.value, item.tolerance)
        for item in plan.spec.expectations
        if item.figure.startswith("oversubscription.")
    }
    links = frozenset(_encrypted_links(plan))
    carried = tuple(ipoib_nodes(plan))
    return Declaration(
        planned,
        tuple(wanted),
        promised_shares(plan.spec),
        frozenset(opened),
        drained,
        frozenset(
            chip.guid
            for device in plan.devices
            if device.name in drained and device.guid is not None
            for chip in chips_of(plan, device)
        ),
        declared_subnets(plan),
        {fabric.name: tuple(_idle(plan, fabric)) for fabric in plan.spec.fabrics if fabric.technology == "infiniband"},
        ratios,
        links,
        declared_of(plan),
        endpoints,
        managers,
        _protections(plan),
        _tls_files(plan),
        _ethernet(plan),
        frozenset(device.name for device in plan.devices if device.state != "active"),
        frozenset((c.a.device, c.a.port) for c in plan.cables if not c.in_service and c.a.side != "up"),
        _nccl_nodes(plan),
        frozenset(fabric.name for fabric in plan.spec.fabrics if fabric.tiers[0].join == "rail"),
        {device.name: device.role for device in plan.devices if device.kind == "switch"},
        _joined(plan),
        _bonds(plan),
        _gpu_ports(plan),
        _in_clear(plan),
        {f.name: f.accepts_single_failures for f in plan.spec.fabrics if f.accepts_single_failures is not None},
        {device.name: added for device in plan.devices if (added := _vouched(plan, device))},
        {
            device.name: tuple(
                DeclaredIpoib(each.name, each.parent, each.pkey, each.address(device.index)) for each in own
            )
            for device, own in carried
        },
        {device.name: lnet_networks(plan.spec, device.node_group, own) for device, own in carried},
        {f"{fabric}.{role}": most for (fabric, role), most in promised_at_each_switch(plan.spec).items()},
        cable_m=_cable_lengths(plan),
        nccl_on_infiniband=declared_nccl(plan),
        logins=declared_logins(plan),
        single_mode=frozenset((c.a.device, c.a.port) for c in plan.cables if c.a.side == "up" and c.medium == "smf"),
    )


def _cable_lengths(plan: Plan) -> dict[tuple[str, str], float]:
    """By device and port, the length of cable that headroom is sized for, on fabrics with a lossless class."""
    lossless = {f.name for f in plan.spec.fabrics if any(item.priority is not None for item in f.classes)}
    found: dict[tuple[str, str], float] = {}
    for cable in plan.cables:
        if cable.fabric in lossless:
            found[cable.a.device, cable.a.port] = found[cable.b.device, cable.b.port] = cable.headroom_m
    return found


def _idle(plan: Plan, fabric: Fabric) -> Iterator[str]:
    for device in plan.devices:
        if device.kind == "switch" and device.fabric == fabric.name and device.state != "active":
            yield device.name
    for item in plan.spec.exceptions:
        if item.device and item.port and item.state:
            ends = (end for c in plan.cables_of.get(item.device, ()) for end in (c.a, c.b))
            if any(end.fabric == fabric.name and end.device == item.device for end in ends):
                yield f"{item.device} port {item.port}"


def _vouched(plan: Plan, device: Device) -> Mapping[tuple[str | None, str], str]:
    """What somebody vouches for on a device; `router bgp` without a number is its own process there."""
    return {
        (entry.file, re.sub(r"^router bgp(?= / )", f"router bgp {device.asn}", place)): each.because
        for entry in plan.spec.extra_config
        if entry.concerns(device.name, device.role, device.fabric)
        for each in entry.unread
        for place in entry.places(each.line)
    }


def _nccl_nodes(plan: Plan) -> Mapping[str, int]:
    profile_of = {name: number for number, each in enumerate(plan.spec.nccl_profiles) for name in each.nodes}
    return {d.name: profile_of[d.node_group] for d in plan.devices if d.node_group in profile_of}


def _joined(plan: Plan) -> Mapping[str, Mapping[str, int]]:
    names = {fabric.name for fabric in plan.spec.fabrics if fabric.technology != "infiniband"}
    cables: dict[str, list[Cable]] = {name: [] for name in names}
    for cable in plan.cables:
        if cable.fabric in names:
            cables[cable.fabric].append(cable)
    return {name: wiring_of_cables(own).joined for name, own in cables.items()}


def _bonds(plan: Plan) -> Mapping[tuple[str, str], frozenset[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for cable in plan.cables:
        if cable.bond is not None:
            found.setdefault((cable.a.device, cable.bond.interface), set()).add(cable.a.port)
    return {link: frozenset(ports) for link, ports in found.items()}


def _ethernet(plan: Plan) -> Mapping[str, Fabric]:
    fabrics = {fabric.name: fabric for fabric in plan.spec.fabrics if fabric.technology != "infiniband"}
    return {d.name: fabrics[d.fabric] for d in plan.devices if d.kind == "switch" and d.fabric in fabrics}


def _protections(plan: Plan) -> Mapping[str, Mapping[str, str]]:
    """The protection of every mount by node and mount point; nodes of a group share theirs."""
    by_group: dict[str, dict[str, str]] = {}
    for mount in plan.spec.mounts:
        if mount.protection is None:
            continue
        for group in mount.nodes:
            by_group.setdefault(group, {})[mount.mountpoint] = mount.protection.kind
    return {device.name: by_group[device.node_group] for device in plan.devices if device.node_group in by_group}


def _in_clear(plan: Plan) -> Mapping[str, str]:
    """Why the spec leaves mounts without protection, by mount point, and who answers for it."""
    found = {}
    for mount in plan.spec.mounts:
        if mount.protection is not None and mount.protection.kind == CLEAR:
            owner = owner_in_clear(plan.spec, mount) or "nobody"
            found[mount.mountpoint] = f"{mount.protection.reason} ({owner} answers for it)"
    return found


def _tls_files(plan: Plan) -> Mapping[str, str]:
    tls = plan.spec.encryption.tls
    if tls is None:
        return {}
    found = {
        "x509.truststore": tls.truststore,
        "x509.certificate": tls.certificate,
        "x509.private_key": tls.private_key,
    }
    return found if tls.crl is None else {**found, "x509.crl": tls.crl}


def _encrypted_links(plan: Plan) -> Iterator[tuple[str, str]]:
    """Both ends of the cables above every tier whose uplinks name a MACsec profile."""
    asked = {
        (fabric.name, tier.role)
        for fabric in plan.spec.fabrics
        for tier in fabric.tiers
        if tier.up is not None and tier.up.macsec is not None
    }
    for cable in plan.cables if asked else ():
        tier = plan.lower_tier(cable)
        if tier is not None and (cable.fabric, tier.role) in asked:
            yield cable.a.device, cable.a.port
            yield cable.b.device, cable.b.port


def _gpu_ports(plan: Plan) -> Mapping[tuple[str, str, int], frozenset[str]]:
    gpu_of = {
        (group.name, nic.interface): nic.gpu
        for group in plan.spec.node_groups
        for own in group.model.nic_groups
        for nic in own.nics
        if nic.gpu is not None and sum(each.gpu == nic.gpu for each in own.nics) > 1
    }
    found: dict[tuple[str, str, int], dict[str, str]] = {}
    for cable in plan.cables if gpu_of else ():
        node = plan.by_name[cable.a.device]
        gpu = gpu_of.get((node.node_group, cable.a.port))
        # Nobody here writes the network of a node that brings its own system.
        if gpu is not None and cable.in_service and node.image is not None:
            found.setdefault((cable.fabric, cable.a.device, gpu), {})[cable.a.port] = cable.b.device
    return {key: frozenset(ends) for key, ends in found.items() if len(set(ends.values())) > 1}
