"""CW560 to CW563: IP over InfiniBand, and Lustre over it."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.attachment import attached_nics
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.infiniband import UFM, Ipoib, IpoibHosts, Partition
from clusterwright.spec.ipoib import nids_of, partition_with, uses_rdma
from clusterwright.spec.model import ClusterSpec, NodeGroup
from clusterwright.spec.zone_reach import memberships_of


def _carried(spec: ClusterSpec) -> Iterator[tuple[Fabric, Partition, Ipoib]]:
    for fabric in spec.fabrics:
        for partition in fabric.partitions:
            if partition.ipoib is not None:
                yield fabric, partition, partition.ipoib


@rule("CW560", Severity.ERROR)
def lustre_over_infiniband(subject: Subject) -> Iterator[Problem]:
    """Lustre mounts over InfiniBand with servers or nodes without an address there."""
    spec = subject.spec
    for mount in spec.mounts:
        if not uses_rdma(mount):
            continue
        for address, network in nids_of(mount):
            partition = partition_with(spec, address) if network.startswith("o2ib") else None
            if partition is None or partition.ipoib is None:
                message = f"{mount.mountpoint} is mounted from {address}@{network}, which is on no IPoIB network."
                hint = "Name servers on such a network, and describe it under `ipoib` of their partition."
                yield Problem((*mount.path, "export"), message, hint)
                continue
            for index, name in enumerate(mount.nodes):
                group = spec.node_group(name)
                if group is None or group.image is None or partition.ipoib.of(name) is not None:
                    continue
                message = f"{name} mounts {mount.mountpoint} from {address}@{network}, and has no address there."
                hint = f"Name {name} under `hosts` of {partition.name}'s `ipoib`."
                yield Problem((*mount.path, "nodes", index), message, hint)


@rule("CW561", Severity.ERROR)
def cannot_carry(subject: Subject) -> Iterator[Problem]:
    """IP over InfiniBand not supported by the subnet manager, membership, adapter or image."""
    spec = subject.spec
    for fabric, partition, carried in _carried(spec):
        if fabric.subnet_manager is not None and fabric.subnet_manager.kind == UFM:
            message = f"The subnet manager of {fabric.name} is UFM, which writes its own partition file."
            yield Problem((*carried.path, "network"), message, "Use opensm there, or mount Lustre over Ethernet.")
        memberships = memberships_of(spec, partition)
        for host in carried.hosts:
            group = spec.node_group(host.nodes)
            if group is not None:
                yield from _unable(
                    spec, fabric, partition, hosts=host, group=group, membership=memberships.get(host.nodes)
                )


def _unable(
    spec: ClusterSpec,
    fabric: Fabric,
    partition: Partition,
    *,
    hosts: IpoibHosts,
    group: NodeGroup,
    membership: str | None,
) -> Iterator[Problem]:
    path = (*hosts.path, "nodes")
    if membership != "full":
        article = "no" if membership is None else "a limited"
        message = f"{group.name} is {article} member of partition {partition.name}."
        hint = "Make its zone a full member: limited members are not in the broadcast group (RFC 4391)."
        yield Problem(path, message, hint)
    image = spec.image(group.image or "")
    if image is None:
        message = f"{group.name} runs no image, so that its nodes get no addresses."
        yield Problem(path, message, "Remove it: its own system has its addresses.")
    elif "ib_ipoib" in image.blacklist:
        message = f"Image {image.name} of {group.name} keeps ib_ipoib from being loaded."
        yield Problem(path, message, f"Remove ib_ipoib from the blacklist of {image.name}.")
    adapters: list[str] = []
    for attach in fabric.attach:
        nics = attached_nics(spec, attach) if attach.nodes == group.name else None
        if nics is not None:
            adapters += [nic.interface for nic in nics.nics]
    if hosts.nic not in adapters:
        message = f"{hosts.nic} is no adapter of {group.name} on {fabric.name}."
        yield Problem((*hosts.path, "nic"), message, f"It has {', '.join(adapters) or 'none there'}.")


@rule("CW562", Severity.ERROR)
def addresses_over_infiniband(subject: Subject) -> Iterator[Problem]:
    """Addresses of IP over InfiniBand of another version or network, too few, or shared with a server."""
    spec = subject.spec
    servers: set[str] = set()
    for mount in spec.mounts:
        servers.update(address for address, network in nids_of(mount) if network.startswith("o2ib"))
    for _, _, carried in _carried(spec):
        path, pool = (*carried.path, "addresses"), carried.addresses
        if carried.network.version != 4:
            message = f"{carried.network} is not an IPv4 network, and LNet's o2ib supports IPv4 only."
            yield Problem((*carried.path, "network"), message, "Choose an IPv4 network.")
            continue
        if pool.version != 4 or not pool.subnet_of(carried.network):
            yield Problem(path, f"{pool} is not part of {carried.network}.", "Choose a part of the network.")
            continue
        needed, available = _needed_addresses(subject, carried), pool.num_addresses - 2
        if needed > available:
            nodes = f"{carried.interface} has nodes up to number {needed:,}"
            yield Problem(path, f"{nodes}, and {pool} has addresses for {available:,}.", "Choose a shorter prefix.")
        inside = sorted(server for server in servers if partition_with(spec, server) and ip_address(server) in pool)
        if inside:
            message = f"{pool} of {carried.interface} is for nodes, and {inside[0]} is a server's."
            yield Problem(path, message, "Choose a part without servers.")


def _needed_addresses(subject: Subject, carried: Ipoib) -> int:
    """The highest number of a node with an address, counted from 1."""
    names = [group.name for group in subject.spec.node_groups]
    nodes = subject.skeleton.layout.nodes
    numbers = [node.number for node in nodes if carried.of(names[node.node_group]) is not None]
    return max(numbers, default=0) + 1


@rule("CW563", Severity.ERROR)
def one_name_two_things(subject: Subject) -> Iterator[Problem]:
    """Interfaces with a name already in use, and conflicting LNet networks of a node."""
    spec = subject.spec
    for group in spec.node_groups:
        interfaces = {nic.interface for nic in group.model.nics}
        for fabric in spec.fabrics:
            for attach in fabric.attach:
                if attach.nodes == group.name and attach.bond is not None:
                    interfaces.add(attach.bond.interface)
        for _, _, carried in _carried(spec):
            if sum(host.nodes == group.name for host in carried.hosts) > 1:
                message = f"{carried.interface} is on {group.name} twice."
                yield Problem((*carried.path, "interface"), message, "Name the group once.")
            if carried.of(group.name) is None:
                continue
            if carried.interface in interfaces:
                message = f"{group.name} has another interface {carried.interface}."
                yield Problem((*carried.path, "interface"), message, "Choose another name.")
            interfaces.add(carried.interface)
        yield from _side_by_side(spec, group)


def _side_by_side(spec: ClusterSpec, group: NodeGroup) -> Iterator[Problem]:
    mounts = [mount for mount in spec.mounts if mount.type == "lustre" and group.name in mount.nodes]
    has_rdma = any(uses_rdma(mount) for mount in mounts)
    partition_by_network: dict[str, str] = {}
    for mount in mounts:
        path = (*mount.path, "export")
        if not uses_rdma(mount):
            if has_rdma:
                message = f"{group.name} mounts {mount.mountpoint} over TCP, and others over InfiniBand."
                yield Problem(path, message, "Mount all of its Lustre over one of them.")
            continue
        for address, network in nids_of(mount):
            partition = partition_with(spec, address)
            if partition is None:
                continue
            first = partition_by_network.setdefault(network, partition.name)
            if first != partition.name:
                message = f"{network} is in the partitions {first} and {partition.name} for {group.name}."
                yield Problem(path, message, "Give one of them another number, such as o2ib1, on its servers too.")
