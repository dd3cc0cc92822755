"""IP over InfiniBand on nodes, and the networks of Lustre over it: what a spec means by them.

LNet's driver o2ib binds to the address of such an interface, which is a server's or client's name there (its NID), and
finds others by ARP; connections are then made by management datagrams and carried by RDMA. None of these is a packet of
IP, so no filter of the kernel sees them: partitions are what keeps them apart. The interface carries no flow of the
spec, and the filter of nodes lets nothing in or out there. Sources: the Lustre manual (Configuring Lustre Networking),
RFC 4391, the kernel's documentation of ipoib (an interface of another P_Key is a child of the adapter's).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.spec.infiniband import Ipoib, Partition
    from clusterwright.spec.model import ClusterSpec, Mount

_FULL_MEMBER = 0x8000  # the bit of a P_Key with which the interface joins its partition's group for broadcasts
_NID = re.compile(r"([^:,@\s]+)@([a-z0-9]+)")  # ADDRESS@NETWORK, of which 0 is the first and needs no number


@dataclass(frozen=True, slots=True)
class IpoibInterface:
    """An interface of nodes: its fabric, the adapter ``parent`` that it is on, its partition, and what that carries."""

    fabric: str
    parent: str
    partition: Partition
    carried: Ipoib

    @property
    def name(self) -> str:
        """Interface name on nodes."""
        return self.carried.interface

    @property
    def pkey(self) -> int:
        """The P_Key that the kernel is told, 16 bits."""
        return self.partition.pkey | _FULL_MEMBER

    def address(self, number: int) -> str:
        """The address, with the network's length, of the node with that number in the cluster, which no other has."""
        return f"{ip_address(self.address_number(number))}/{self.carried.network.prefixlen}"

    def address_number(self, number: int) -> int:
        """The same as an integer."""
        return int(self.carried.addresses.network_address) + 1 + number


def ipoib_of(spec: ClusterSpec, node_group: str, cabled: Container[str]) -> tuple[IpoibInterface, ...]:
    """The interfaces of nodes of a group with these adapters ``cabled``; one whose adapter has no cable is none."""
    return tuple(
        IpoibInterface(fabric=fabric, parent=hosts.nic, partition=partition, carried=carried)
        for fabric, partition, carried in carrying(spec)
        if (hosts := carried.of(node_group)) and hosts.nic in cabled
    )


def carrying(spec: ClusterSpec) -> Iterator[tuple[str, Partition, Ipoib]]:
    """Fabric, partition and purpose of each partition with IP over InfiniBand."""
    for fabric in spec.fabrics:
        for partition in fabric.partitions:
            if partition.ipoib is not None:
                yield fabric.name, partition, partition.ipoib


def nids_of(mount: Mount) -> tuple[tuple[str, str], ...]:
    """The address and network of LNet of each server that a mount of Lustre names."""
    nids = _NID.findall(mount.export) if mount.type == "lustre" else []
    return tuple((address, re.sub(r"^(o2ib|tcp)0$", r"\1", network)) for address, network in nids)


def uses_rdma(mount: Mount) -> bool:
    """Whether a mount of Lustre has a server on a network of the driver o2ib."""
    return any(network.startswith("o2ib") for _, network in nids_of(mount))


def partition_with(spec: ClusterSpec, address: str) -> Partition | None:
    """The partition on whose network of IP an address is, None where it is on none, or is no address."""
    try:
        number = ip_address(address)
    except ValueError:
        return None
    return next((partition for _, partition, carried in carrying(spec) if number in carried.network), None)


def lnet_networks(spec: ClusterSpec, node_group: str, interfaces: Iterable[IpoibInterface]) -> str:
    """LNet's networks over InfiniBand that mounts ask for, as its module takes them; "" where none does."""
    names = {interface.partition: interface.name for interface in interfaces}
    networks: dict[str, str] = {}
    if names:
        for mount in spec.mounts:
            if node_group in mount.nodes:
                for address, network in nids_of(mount):
                    partition = partition_with(spec, address)
                    if network.startswith("o2ib") and partition in names:
                        networks[network] = names[partition]
    return ",".join(f"{network}({interface})" for network, interface in sorted(networks.items()))
