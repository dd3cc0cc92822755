"""The plan: every device, port, cable, address, AS number, GUID, rail and rank of a cluster.

Immutable, complete and free of vendors' syntax: renderers, reports and deployment read it and decide nothing. Addresses
are integers (a cluster has 100,000 of them); ``format_address`` gives their text.
"""

from __future__ import annotations

import socket
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from ipaddress import IPv6Address
from itertools import product
from typing import NamedTuple

from clusterwright.spec.attachment import TierOrder, tier_order
from clusterwright.spec.fabric import Bond, Fabric, Tier
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.isolation import Network
from clusterwright.spec.model import ClusterSpec


@dataclass(frozen=True, slots=True)
class Group:
    """An instance of a level: rack p03r017, pod p03, ... ``parent`` is the next larger one's name, "" for the cluster.

    ``node_group`` is the spec's node group it holds; "" for racks that hold only switches.
    """

    name: str
    level: str
    index: int
    parent: str
    node_group: str


@dataclass(frozen=True, slots=True)
class Device:
    """A machine with a name.

    ``kind`` is ``node``, ``switch`` or ``device`` (of management ports alone); ``role`` the spec's word (``node``,
    ``storage``, ``rtsw``, ``leaf``, ...).
    ``rack`` and ``unit`` say where it stands (lowest rack unit, from 1; 0 for a cabinet of its own), ``pod`` is the
    outermost group
    it lies in ("" when it serves the whole cluster), ``group`` the group it serves or is counted in, ``groups`` all
    groups around it from the smallest to the largest.
    ``index`` counts within the role, ``position`` within its group and plane; ``plane`` is its rail or plane, None
    where
    its tier has one plane. ``rank`` is a node's first GPU rank. ``zones`` are those of its node group, the group's own
    `zone` first. ``state`` is
    ``active``, ``drained`` (carries nothing, stays managed) or ``out-of-service``. ``planned_name`` is its name by
    group and number, which allocation files have; the site may call it otherwise.
    """

    name: str
    planned_name: str
    kind: str
    role: str
    model: str
    node_group: str
    fabric: str
    tier: int
    rack: str
    unit: float
    pod: str
    group: str
    groups: tuple[str, ...]
    index: int
    position: int
    plane: int | None
    rail: int | None
    rank: int | None
    asn: int | None
    loopback: int | None
    guid: int | None
    zones: tuple[str, ...]
    image: str | None
    state: str

    def __hash__(self) -> int:
        """The name's: caches by device are read a million times."""
        return hash(self.name)


class Interface(NamedTuple):
    """A used port of a device.

    ``side`` is ``host`` (a node's NIC), ``down``, ``up`` or ``management``. ``address`` with ``prefix_length`` is
    its IP
    address on an Ethernet fabric, None on InfiniBand and on switch ports of a shared subnet; ``guid`` the port GUID
    of an
    InfiniBand NIC.
    """

    device: str
    port: str
    fabric: str
    side: str
    speed_gbps: int
    rail: int | None
    address: int | None
    prefix_length: int
    guid: int | None = None


class Cable(NamedTuple):
    """A cable between two interfaces: ``a`` is the lower end (the node or the lower tier), ``b`` the upper.

    ``bond`` is a node's bond around this cable and others, None for a single link: its first cable's end has the
    address of all. ``tier`` is the index of ``b``'s tier. ``in_service`` is False if the spec drains either device or
    either port, or takes it out of service. ``length_m`` is ordered, ``stated_m`` the spec's length for the tier's
    cables.
    """

    fabric: str
    tier: int
    a: Interface
    b: Interface
    speed_gbps: int
    medium: str
    length_m: float
    in_service: bool = True
    bond: Bond | None = None
    stated_m: float = 0.0

    @property
    def headroom_m(self) -> float:
        """Length in metres for the size of buffers: no shorter than the spec states.

        So another cable than the order list names still has a lossless link.
        """
        return max(self.length_m, self.stated_m)


@dataclass(frozen=True, slots=True)
class Subnet:
    """A prefix with a meaning: ``kind`` is ``host``: the hosts behind the switch ``device``.

    ``gateway`` is the switch's own address in a shared host subnet, None otherwise.
    """

    fabric: str
    kind: str
    device: str
    version: int
    network: int
    prefix_length: int
    gateway: int | None


@dataclass(frozen=True, slots=True)
class IbSubnet:
    """An InfiniBand subnet: a whole fabric, or one plane of a fabric whose planes meet in its nodes alone.

    ``name`` is the fabric's where the fabric is one subnet, else ``FABRIC.PLANE``; no fabric's name has a full stop.
    ``plane`` counts from 0 and is None where the fabric is one subnet.
    """

    name: str
    fabric: Fabric
    plane: int | None
    switches: frozenset[str]

    @property
    def prefix(self) -> int:
        """The prefix of its GIDs: the fabric's, counted on by planes. Raises ValueError without a subnet manager."""
        if self.fabric.subnet_manager is None:
            raise ValueError(f"{self.fabric.name} has no subnet manager")
        return self.fabric.subnet_manager.subnet_prefix + (self.plane or 0)


@dataclass(frozen=True)
class Plan:
    """A whole cluster, expanded. Sequences are in a fixed order: groups outermost first, nodes before switches."""

    spec: ClusterSpec
    groups: tuple[Group, ...]
    devices: tuple[Device, ...]
    cables: tuple[Cable, ...]
    subnets: tuple[Subnet, ...]

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.spec.name

    @cached_property
    def by_name(self) -> Mapping[str, Device]:
        """Devices by name."""
        return {device.name: device for device in self.devices}

    @cached_property
    def group_by_name(self) -> Mapping[str, Group]:
        """Groups by name."""
        return {group.name: group for group in self.groups}

    @cached_property
    def cables_of(self) -> Mapping[str, tuple[Cable, ...]]:
        """The cables at each device, in plan order; every device has an entry."""
        cables: dict[str, list[Cable]] = defaultdict(list)
        for cable in self.cables:
            cables[cable.a.device].append(cable)
            cables[cable.b.device].append(cable)
        return {device.name: tuple(cables.get(device.name, ())) for device in self.devices}

    @cached_property
    def host_subnet_of(self) -> Mapping[tuple[str, str], Subnet]:
        """The host subnet behind each bottom switch, by (fabric, switch)."""
        return {(net.fabric, net.device): net for net in self.subnets if net.kind == "host"}

    @cached_property
    def tenants_of(self) -> Mapping[str, Mapping[str, Mapping[str, list[int]]]]:
        """Addresses by fabric, bottom switch and node group ("" for the management ports of switches)."""
        tenants: dict[str, dict[str, dict[str, list[int]]]] = {}
        for cable in self.cables:
            end = cable.a
            if end.address is None or end.side not in {"host", "management"}:
                continue
            by_group = tenants.setdefault(cable.fabric, {}).setdefault(cable.b.device, {})
            by_group.setdefault(self.by_name[end.device].node_group, []).append(end.address)
        return tenants

    @cached_property
    def split_models(self) -> frozenset[str]:
        """InfiniBand switch models in their split profile in this plan: some used port is part of a cage."""
        subnets = {fabric.name for fabric in self.spec.fabrics if fabric.technology == "infiniband"}
        subports: dict[str, frozenset[str]] = {}
        for name, model in self.spec.catalogue.items():
            if "infiniband" in model.technology:
                subports[name] = _subports(model)
        split: set[str] = set()
        for cable in self.cables:
            if cable.fabric not in subnets:
                continue
            for end in (cable.a, cable.b):
                model_name = self.by_name[end.device].model
                if end.port in subports.get(model_name, ()):
                    split.add(model_name)
        return frozenset(split)

    @cached_property
    def ib_subnets(self) -> Mapping[str, IbSubnet]:
        """The InfiniBand subnets by name, in the order of the spec's fabrics and of their planes."""
        subnets: dict[str, IbSubnet] = {}
        for fabric in self.spec.fabrics:
            if fabric.technology != "infiniband":
                continue
            planes = _planes_of(self, fabric) if fabric.planes else []
            if len(planes) < 2:
                switches = frozenset(self._switches_of(fabric))
                subnets[fabric.name] = IbSubnet(name=fabric.name, fabric=fabric, plane=None, switches=switches)
                continue
            for number, switches in enumerate(planes):
                name = f"{fabric.name}.{number}"
                subnets[name] = IbSubnet(name=name, fabric=fabric, plane=number, switches=switches)
        return subnets

    def _switches_of(self, fabric: Fabric) -> Iterator[str]:
        for device in self.devices:
            if device.kind == "switch" and device.fabric == fabric.name:
                yield device.name

    def devices_of(self, *roles: str) -> tuple[Device, ...]:
        """Devices with one of these roles, in plan order."""
        return tuple(device for device in self.devices if device.role in roles)

    def lower_tier(self, cable: Cable) -> Tier | None:
        """The tier with this cable among its uplinks; None for a cable to a host.

        It need not be the next tier below the upper end: if a pod's tier has no switch around a rack, the rack's
        uplinks lead past it.
        """
        if cable.a.side != "up":
            return None
        return self._tiers[cable.fabric].get(self.by_name[cable.a.device].role)

    @cached_property
    def _tiers(self) -> Mapping[str, Mapping[str, Tier]]:
        """The first tier of each role, by fabric."""
        tiers: dict[str, dict[str, Tier]] = {}
        for fabric in self.spec.fabrics:
            tiers[fabric.name] = {tier.role: tier for tier in reversed(fabric.tiers)}
        return tiers

    @cached_property
    def tier_orders(self) -> Mapping[str, TierOrder]:
        """Which tiers stand above which, by fabric."""
        return {fabric.name: tier_order(self.spec, fabric) for fabric in self.spec.fabrics}

    def level(self, switch: Device) -> int:
        """Number of tiers on the longest path below a switch; 0 for a switch without a tier below it."""
        return self.tier_orders[switch.fabric].levels[switch.tier]

    def address_version(self, fabric: str) -> int:
        """4 or 6: the IP version of an Ethernet fabric. Raises KeyError for a fabric without addresses."""
        return self._versions[fabric]

    @cached_property
    def _versions(self) -> Mapping[str, int]:
        versions: dict[str, int] = {}
        for fabric in self.spec.fabrics:
            if fabric.addressing is not None:
                versions[fabric.name] = fabric.addressing.hosts.version
        return versions


def _planes_of(plan: Plan, fabric: Fabric) -> list[frozenset[str]]:
    """The switches of each plane that adapters are cabled to, in the order of the first node's adapters.

    All cables count, in service or not: what is drained keeps its plane.
    """
    neighbours: dict[str, set[str]] = defaultdict(set)
    starts: dict[str, None] = {}
    for cable in plan.cables:
        if cable.fabric != fabric.name:
            continue
        if cable.a.side == "up":
            neighbours[cable.a.device].add(cable.b.device)
            neighbours[cable.b.device].add(cable.a.device)
        else:
            starts[cable.b.device] = None
    planes: list[frozenset[str]] = []
    placed: set[str] = set()
    for start in starts:
        if start in placed:
            continue
        reached = {start}
        queue = [start]
        for switch in queue:
            beyond = neighbours[switch] - reached
            reached |= beyond
            queue += sorted(beyond)
        placed |= reached
        planes.append(frozenset(reached))
    return planes


def fabric_of(plan: Plan, name: str) -> Fabric:
    """The spec's fabric by name. Raises KeyError when there is none."""
    fabric = plan.spec.fabric(name)
    if fabric is None:
        raise KeyError(name)
    return fabric


def _subports(model: HardwareModel) -> frozenset[str]:
    """A model's ports with only a part of a cage each."""
    ports: set[str] = set()
    for block in model.blocks:
        for mode, cage in product(block.modes, block.cages):
            if len(mode.subports) > 1:
                ports.update(mode.ports(cage))
    return frozenset(ports)


def format_address(value: int, version: int) -> str:
    """The text of an address held as an integer, as ``ipaddress`` writes it.

    A cluster has a million of them, and most differ from others in their last number alone. The text before a last
    number is always the same, but for 0 over IPv6: that can be left out with zeros before it.
    """
    if version == 4:
        return f"{_before_last_of_4(value >> 8)}{value & 0xFF}"
    last = value & 0xFFFF
    return f"{_before_last_of_6(value >> 16)}{last:x}" if last else _text_of_6(value)


@lru_cache(maxsize=4096)
def _before_last_of_4(numbers: int) -> str:
    return socket.inet_ntop(socket.AF_INET, (numbers << 8).to_bytes(4))[:-1]


@lru_cache(maxsize=4096)
def _before_last_of_6(numbers: int) -> str:
    return _text_of_6(numbers << 16 | 1)[:-1]


def _text_of_6(value: int) -> str:
    text = socket.inet_ntop(socket.AF_INET6, value.to_bytes(16))
    return text if "." not in text else str(IPv6Address(value))  # the library writes ::ffff:10.0.0.1


def format_network(network: Network) -> str:
    """The text of a network, as ``ipaddress`` writes it and as fast as an address."""
    return f"{format_address(int(network.network_address), network.version)}/{network.prefixlen}"


def format_guid(value: int) -> str:
    """A GUID as InfiniBand tools write it: 0x and 16 digits."""
    return f"0x{value:016x}"


def network_bounds(network: Network) -> tuple[int, int]:
    """First and last address of a network, as integers."""
    return int(network.network_address), int(network.broadcast_address)
