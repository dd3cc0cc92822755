"""IP over InfiniBand on nodes, and the networks of Lustre over it.

LNet's driver o2ib binds to the address of such an interface, the name of a server or client in its network (its NID),
and finds others by ARP; connections are then made by management datagrams and carried by RDMA. None of these is a
packet of IP, so no filter of the kernel sees them: partitions separate them. The interface carries no flow of the spec,
and the filter of nodes blocks it in both directions. Sources: the Lustre manual (Configuring Lustre Networking), RFC
4391, the kernel's documentation of ipoib (an interface of another P_Key is a child of the adapter's).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.spec.infiniband import Ipoib, Partition
    from clusterwright.spec.model import ClusterSpec, Mount

_FULL_MEMBER = 0x8000  # the bit of a P_Key required for joining the partition's broadcast group
_NID = re.compile(r"([^:,@\s]+)@([a-z0-9]+)")  # ADDRESS@NETWORK; network number 0 may be omitted


@dataclass(frozen=True, slots=True)
class IpoibInterface:
    """An interface of nodes: its fabric, its adapter ``parent``, its partition, and the partition's IP settings."""

    fabric: str
    parent: str
    partition: Partition
    ipoib: Ipoib

    @property
    def name(self) -> str:
        """Interface name on nodes."""
        return self.ipoib.interface

    @property
    def pkey(self) -> int:
        """The P_Key for the kernel, 16 bits."""
        return self.partition.pkey | _FULL_MEMBER

    def address(self, number: int) -> str:
        """The address of the node with this unique number in the cluster, with the network's length."""
        return f"{ip_address(self.address_number(number))}/{self.ipoib.network.prefixlen}"

    def address_number(self, number: int) -> int:
        """The same as an integer."""
        return int(self.ipoib.addresses.network_address) + 1 + number


def ipoib_of(spec: ClusterSpec, node_group: str, cabled: Container[str]) -> tuple[IpoibInterface, ...]:
    """The interfaces on the ``cabled`` adapters of a group's nodes; one on an adapter without a cable is left out."""
    interfaces = []
    for fabric, partition, ipoib in carrying(spec):
        hosts = ipoib.of(node_group)
        if hosts is not None and hosts.nic in cabled:
            interfaces.append(IpoibInterface(fabric=fabric, parent=hosts.nic, partition=partition, ipoib=ipoib))
    return tuple(interfaces)


def carrying(spec: ClusterSpec) -> Iterator[tuple[str, Partition, Ipoib]]:
    """Fabric, partition and IP settings of each partition with IP over InfiniBand."""
    for fabric in spec.fabrics:
        for partition in fabric.partitions:
            if partition.ipoib is not None:
                yield fabric.name, partition, partition.ipoib


def nids_of(mount: Mount) -> tuple[tuple[str, str], ...]:
    """The LNet address and network of each server of a Lustre mount."""
    nids = _NID.findall(mount.export) if mount.type == "lustre" else []
    return tuple((address, re.sub(r"^(o2ib|tcp)0$", r"\1", network)) for address, network in nids)


def uses_rdma(mount: Mount) -> bool:
    """Whether a mount of Lustre has a server on a network of the driver o2ib."""
    return any(network.startswith("o2ib") for _, network in nids_of(mount))


def partition_with(spec: ClusterSpec, address: str) -> Partition | None:
    """The partition with an IP network around ``address``; None for no such partition, or for a host name."""
    try:
        number = ip_address(address)
    except ValueError:
        return None
    for _, partition, ipoib in carrying(spec):
        if number in ipoib.network:
            return partition
    return None


def lnet_networks(spec: ClusterSpec, node_group: str, interfaces: Iterable[IpoibInterface]) -> str:
    """LNet's networks over InfiniBand for the mounts of a node group, as its module takes them; "" without any."""
    names = {interface.partition: interface.name for interface in interfaces}
    networks: dict[str, str] = {}
    mounts = [mount for mount in spec.mounts if names and node_group in mount.nodes]
    for address, network in chain.from_iterable(map(nids_of, mounts)):
        partition = partition_with(spec, address)
        if network.startswith("o2ib") and partition in names:
            networks[network] = names[partition]
    return ",".join(f"{network}({interface})" for network, interface in sorted(networks.items()))
