"""The typed spec: what an architect says about a cluster, and nothing that can be derived from it.

Every element keeps ``path``, its place in the document, so that a finding about it points at its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network

from clusterwright.spec.document import Document, Path
from clusterwright.spec.ethernet import ExtraConfig, Marking, PfcWatchdog
from clusterwright.spec.hardware import Catalogue, HardwareModel
from clusterwright.spec.infiniband import GuidFile, Partition, SubnetManager
from clusterwright.spec.site import Site

Network = IPv4Network | IPv6Network
CLUSTER = "cluster"  # the outermost level, which every group lies in


@dataclass(frozen=True, slots=True)
class Level:
    """A grouping level: ``of`` members of the level below make one (nodes for the lowest level).

    ``code`` is the letter in names (``p`` in p03), ``within`` the level in which instances are counted from 0.
    """

    name: str
    of: int
    code: str
    within: str
    path: Path


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Equal machines: ``count`` nodes of ``model``, grouped by ``levels`` from the smallest to the largest."""

    name: str
    role: str
    model: HardwareModel
    count: int
    levels: tuple[Level, ...]
    prefix: str
    zone: str | None
    image: str | None
    path: Path

    def nodes_per(self, level: str) -> int:
        """How many nodes a full instance of ``level`` holds; the whole group for the cluster level.

        Raises KeyError when the group has no such level.
        """
        if level == CLUSTER:
            return self.count
        size = 1
        for step in self.levels:
            size *= step.of
            if step.name == level:
                return size
        raise KeyError(level)


@dataclass(frozen=True, slots=True)
class Attach:
    """NICs that a fabric serves: a node group's NIC group. ``nics`` None means every management port of the cluster.

    ``to`` is the tier into whose free ports they go; None for the lowest tier around the node.
    """

    nodes: str | None
    nics: str | None
    to: str | None
    path: Path

    @property
    def is_management(self) -> bool:
        """True when this stands for the management ports of all devices."""
        return self.nics is None


@dataclass(frozen=True, slots=True)
class Side:
    """How a tier uses its ports towards one neighbour tier: blocks in order of use, the mode they run in, the cable.

    ``spare`` ports of each switch stay free on this side.
    """

    blocks: tuple[str, ...]
    mode: str | None
    medium: str
    length_m: float
    spare: int
    path: Path


@dataclass(frozen=True, slots=True)
class Uplinks:
    """What every switch of a tier sends up: ``links`` at ``speed_gbps`` each, over the ports of ``side``."""

    links: int
    speed_gbps: int
    side: Side
    path: Path


@dataclass(frozen=True, slots=True)
class AsnPlan:
    """AS numbers of a tier: counted up from ``base`` per ``switch`` or per ``group``, or one for the ``tier``."""

    base: int
    per: str
    path: Path


@dataclass(frozen=True, slots=True)
class Tier:
    """One layer of switches.

    In every instance of the level ``per`` there are ``count`` switches for each plane. ``join`` says which plane a link
    from below belongs to: ``all`` (one plane), ``rail`` (one per rail) or ``position`` (one per position that a
    switch of
    the tier below has in its own group).
    """

    role: str
    model: HardwareModel
    per: str
    join: str
    count: int
    down: Side
    up: Uplinks | None
    asn: AsnPlan | None
    path: Path


@dataclass(frozen=True, slots=True)
class FabricAddressing:
    """Prefixes of an Ethernet fabric. ``host_links`` is ``point-to-point`` (a /127 or /31 per NIC) or ``shared`` (one
    subnet per switch). ``hosts_per_switch`` is the length of the prefix that a bottom switch gets out of ``hosts``."""

    loopbacks: Network
    links: Network
    hosts: Network
    hosts_per_switch: int
    host_links: str
    path: Path


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """A class of service: which DSCPs it takes, its queue, its PFC priority (None when lossy), its scheduler weight.

    A ``strict`` class is served before all that have a weight; its own is 0. ``ecn`` is ``none``, ``count`` or
    ``mark``, the last with a ``marking``.

    On InfiniBand ``service_level`` takes the place of the DSCPs and ``queue`` is the virtual lane; ``arbitration`` is
    the table (``high`` or ``low``) that the lane stands in.
    """

    name: str
    dscp: tuple[int, ...]
    service_level: int | None
    queue: int
    priority: int | None
    weight: int
    strict: bool
    ecn: str
    marking: Marking | None
    arbitration: str
    path: Path


@dataclass(frozen=True, slots=True)
class Fabric:
    """One network: NICs attached at the lowest tier, tiers from the bottom up. ``technology`` is ``roce``, ``ethernet``
    or ``infiniband``; ``vrf`` names its routing instance on Ethernet devices and NICs."""

    name: str
    technology: str
    attach: tuple[Attach, ...]
    tiers: tuple[Tier, ...]
    mtu: int
    addressing: FabricAddressing | None
    subnet_manager: SubnetManager | None
    partitions: tuple[Partition, ...]
    guids: GuidFile | None
    classes: tuple[TrafficClass, ...]
    pfc_watchdog: PfcWatchdog
    path: Path

    def tier(self, role: str) -> Tier | None:
        """The tier with this role, or None."""
        for tier in self.tiers:
            if tier.role == role:
                return tier
        return None


@dataclass(frozen=True, slots=True)
class Mount:
    """A file system that nodes mount from a storage group; ``options`` in mount(8)'s words."""

    name: str
    mountpoint: str
    nodes: tuple[str, ...]
    system: str
    export: str
    type: str
    options: tuple[str, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class Zone:
    """A set of addresses that rules speak of: the networks of node groups on a fabric, and prefixes outside."""

    name: str
    nodes: tuple[str, ...]
    fabrics: tuple[str, ...]
    prefixes: tuple[Network, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class Flow:
    """Traffic that is allowed from one zone to another; everything else is denied.

    ``ports`` are inclusive ranges of destination ports, empty for every port (and for icmp).
    """

    name: str
    source: str
    target: str
    protocol: str
    ports: tuple[tuple[int, int], ...]
    reason: str
    path: Path


@dataclass(frozen=True, slots=True)
class Image:
    """What a node runs: distribution, modules, sysctls, kernel parameters and limits."""

    name: str
    distribution: str
    modules: tuple[str, ...]
    sysctl: Mapping[str, str]
    kernel_parameters: tuple[str, ...]
    limits: Mapping[str, str]
    path: Path


@dataclass(frozen=True, slots=True)
class NcclProfile:
    """The choices that NCCL settings are derived from; HCA lists, traffic classes and GIDs follow from the plan.

    ``variables`` are further NCCL or PyTorch variables, written as they are.
    """

    version: str
    fabric: str
    nodes: str
    sockets: str
    qps_per_connection: int
    split_data_on_qps: bool
    data_class: str | None
    control_dscp: int | None
    service_level: int | None
    timeout: int
    retry_count: int
    cross_nic: int | None
    variables: Mapping[str, str]
    path: Path


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The batch system's view: ``leaf`` is the level that makes one switch of a Slurm tree, or the base block.

    ``block_sizes`` are in nodes, for the block plugin.
    """

    kind: str
    nodes: str
    plugin: str
    leaf: str
    block_sizes: tuple[int, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class SpecException:
    """What is different somewhere: a drained switch, a port out of service, a group of nodes with another image."""

    device: str | None
    group: str | None
    port: str | None
    state: str | None
    image: str | None
    reason: str
    path: Path


@dataclass(frozen=True, slots=True)
class Expectation:
    """A published figure that the plan must meet, by its dotted name; ``tolerance`` is relative."""

    figure: str
    value: float
    tolerance: float
    source: str | None
    assumed: str | None
    path: Path


@dataclass(frozen=True)
class ClusterSpec:
    """A whole cluster as written. Immutable; positions through ``document``."""

    name: str
    title: str
    site: Site
    node_groups: tuple[NodeGroup, ...]
    fabrics: tuple[Fabric, ...]
    mounts: tuple[Mount, ...]
    zones: tuple[Zone, ...]
    flows: tuple[Flow, ...]
    images: tuple[Image, ...]
    nccl: NcclProfile | None
    scheduler: Scheduler | None
    exceptions: tuple[SpecException, ...]
    extra_config: tuple[ExtraConfig, ...]
    expectations: tuple[Expectation, ...]
    catalogue: Catalogue
    document: Document

    def node_group(self, name: str) -> NodeGroup | None:
        """The node group ``name``, or None."""
        return next((group for group in self.node_groups if group.name == name), None)

    def fabric(self, name: str) -> Fabric | None:
        """The fabric ``name``, or None."""
        return next((fabric for fabric in self.fabrics if fabric.name == name), None)

    def zone(self, name: str) -> Zone | None:
        """The zone ``name``, or None."""
        return next((zone for zone in self.zones if zone.name == name), None)

    def image(self, name: str) -> Image | None:
        """The image ``name``, or None."""
        return next((image for image in self.images if image.name == name), None)
