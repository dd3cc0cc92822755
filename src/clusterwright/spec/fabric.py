"""The networks of a cluster as written: the NICs they serve, tiers of switches, addresses, traffic classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from clusterwright.spec.ethernet import Marking, PfcWatchdog, SessionAuthentication
from clusterwright.spec.hardware.cages import PortBlock, PortMode
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.hardware.systems import EXTERNAL, system_of
from clusterwright.spec.infiniband import GuidFile, Partition, SubnetManager
from clusterwright.spec.isolation import Network, Prefix
from clusterwright.spec.labels.given_addresses import AddressList, read_given_addresses
from clusterwright.spec.labels.guids import labels_named
from clusterwright.spec.reading import Model, Reading
from clusterwright.spec.structuring import By, Key
from clusterwright.spec.text.document import Path

if TYPE_CHECKING:
    from clusterwright.spec.hardware.models import Nic, NicGroup
    from clusterwright.spec.model import ClusterSpec

FLOWLET = "flowlet"  # a flow that paused may take another path; for switches that somebody else configures
OURS, PROVIDER = "self", "provider"
DHCP = "dhcp"
_SPEEDS_GBPS = (1, 10, 25, 40, 50, 100, 200, 400, 800, 1600)
_MOST_ADAPTERS = 4096
PROVIDER_FABRIC = HardwareModel(
    name="provider-fabric",
    kind="switch",
    manufacturer="Provider",
    part="fabric of a provider",
    technology=("ethernet", "roce", "infiniband"),
    network_os=EXTERNAL,
    platform=None,
    asic=None,
    units=0,
    power_w=0,
    weight_kg=0,
    blocks=(
        PortBlock(
            name="adapters",
            cages=tuple(f"port{number}" for number in range(1, _MOST_ADAPTERS + 1)),
            connector="osfp",
            modes=tuple(PortMode(name=f"1x{speed}", speed_gbps=speed, subports=("",)) for speed in _SPEEDS_GBPS),
        ),
    ),
    management=(),
    nic_groups=(),
    gpus=None,
    chips=None,
    assumed=(),
)
"""One box that stands for all switches of a provider's fabric: a port for each adapter, and nothing to configure."""


@dataclass(frozen=True, slots=True)
class Bond:
    """NICs that LACP (IEEE 802.1AX) makes one link, which a node calls ``interface``.

    ``rate`` is ``fast`` or ``slow``: how often both ends say that they are there, every second or every 30.
    """

    interface: str
    rate: str
    path: Path


@dataclass(frozen=True, slots=True)
class Attach:
    """NICs that a fabric serves: a node group's NIC group. ``nics`` None means every management port of the cluster.

    ``to`` is the tier into whose free ports they go; None for the lowest tier around the node. ``bond`` is the one link
    that they make together, None where each is one.
    """

    nodes: str | None
    nics: str | None
    to: str | None
    path: Path
    bond: Bond | None = None
    interfaces: tuple[str, ...] = ()
    """What the kernel calls the adapters; none where they have the catalogue's names."""
    rdma_devices: tuple[str, ...] = ()
    """Their verbs names; none where they have the catalogue's."""

    @property
    def is_management(self) -> bool:
        """True when this stands for the management ports of all devices."""
        return self.nics is None


@dataclass(frozen=True, slots=True)
class Side:
    """How a tier uses its ports towards one neighbour tier: blocks in order of use, the mode they run in, the cable.

    ``spare`` ports of each switch stay free on this side, none towards the tier above.
    """

    blocks: tuple[str, ...]
    mode: str | None
    medium: str
    length_m: float
    path: Path
    spare: int = 0


@dataclass(frozen=True, slots=True)
class Uplinks:
    """Uplinks of every switch of a tier: ``links`` at ``speed_gbps`` each, over the ports of ``side``.

    ``spread`` is ``round-robin`` (link after link to the next upper switch) or ``adjacent`` (links to the same upper
    switch lie side by side).

    ``macsec`` names the profile that encrypts them, ``leaves_building`` says that strangers may touch the cables.
    ``authentication`` is that of the BGP sessions over them. ``to`` are the roles of the tiers that they may lead to;
    none for every tier above (``tier_order``).
    """

    links: int
    speed_gbps: int
    side: Annotated[Side, Key()]
    path: Path
    leaves_building: bool
    spread: str
    macsec: str | None
    authentication: SessionAuthentication | None
    to: tuple[str, ...] = ()


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
    the tier below has in its own group). ``release`` is that of the switches' system, None where the model's is meant.
    ``name_pattern`` is what the site calls them, None for planned names.
    """

    role: str
    model: Model
    per: str
    join: str
    count: int
    down: Side
    up: Uplinks | None
    asn: AsnPlan | None
    path: Path
    release: str | None = None
    name_pattern: str | None = None
    stands: str | None = None
    """The level in whose network racks its switches stand; ``rack`` for the rack of the nodes. None lets the planner
    choose."""


@dataclass(frozen=True, slots=True)
class FabricAddressing:
    """Prefixes of an Ethernet fabric. ``host_links`` is ``point-to-point`` (a /127 or /31 per NIC) or ``shared`` (one
    subnet per switch). ``hosts_per_switch`` is the length of the prefix that a bottom switch gets out of ``hosts``."""

    loopbacks: Prefix | None
    """None where no switch routes to another one or to a border."""
    links: Prefix | None
    hosts: Prefix
    hosts_per_switch: int
    host_links: str
    path: Path

    @classmethod
    def read(cls, reading: Reading, data: Mapping[str, Any], path: Path) -> FabricAddressing:
        """One switch has all hosts unless the spec gives each switch less."""
        _, _, length = str(data["hosts"]).rpartition("/")
        whole = {"hosts_per_switch": int(length)} if length.isdecimal() else {}
        return reading.fields(cls, {**whole, **data}, path)

    @property
    def pools(self) -> tuple[tuple[str, Network], ...]:
        """The pools that there are, by their keys."""
        pools = (("loopbacks", self.loopbacks), ("links", self.links), ("hosts", self.hosts))
        return tuple((key, pool) for key, pool in pools if pool is not None)


def _codes(reading: Reading, items: Any, path: Path) -> tuple[int, ...]:
    """The code points of DSCP that numbers and ranges name."""
    spans = reading.ranges(items, path, 63)
    codes: set[int] = set()
    for low, high in spans:
        codes.update(range(low, min(high, 63) + 1))
    return tuple(sorted(codes))


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """A class of service: which DSCPs it takes, its queue, its PFC priority (None when lossy), its scheduler weight.

    A ``strict`` class is served before all that have a weight; its own is 0. ``ecn`` is ``none``, ``count`` or
    ``mark``, the last with a ``marking``.

    On InfiniBand ``service_level`` takes the place of the DSCPs and ``queue`` is the virtual lane; ``arbitration`` is
    the table (``high`` or ``low``) that the lane stands in.
    """

    name: str
    dscp: Annotated[tuple[int, ...], By(_codes)]
    service_level: int | None
    queue: int
    priority: int | None
    weight: int
    strict: bool
    ecn: str
    marking: Marking | None
    arbitration: str
    path: Path

    @classmethod
    def read(cls, reading: Reading, data: Mapping[str, Any], path: Path) -> TrafficClass:
        """A lossless class counts marks unless it says otherwise; a strict one has no weight."""
        weight = {"weight": 0} if data.get("strict") else {}
        return reading.fields(cls, {"ecn": "count" if "priority" in data else "none", **data, **weight}, path)


def _usual_recovery(watchdog: PfcWatchdog, tiers: tuple[Tier, ...]) -> PfcWatchdog:
    """Default recovery time, in the steps that every system supports."""
    for tier in tiers:
        system = system_of(tier.model)
        if system is not None and system.limits.pfc_looks is not None:
            every_ms = min(watchdog.detection_ms, system.limits.pfc_looks.every_ms[1])
            return replace(watchdog, recovery_ms=every_ms)
    return watchdog


def _provider_tier(fabric: str, path: Path) -> Tier:
    """The tier of a provider's fabric, which stands for all of its switches."""
    here = (*path, "owner")
    cables = Side(blocks=(), mode=None, medium=PROVIDER, length_m=0.0, path=here)
    return Tier(
        role=f"{fabric}-{PROVIDER}",
        model=PROVIDER_FABRIC,
        per="cluster",
        join="all",
        count=1,
        down=cables,
        up=None,
        asn=None,
        path=here,
    )


def _of_provider(given: AddressList, path: Path) -> FabricAddressing:
    """The one subnet in which a provider gave addresses."""
    return FabricAddressing(
        loopbacks=None,
        links=None,
        hosts=given.network,
        hosts_per_switch=given.network.prefixlen,
        host_links="shared",
        path=(*path, "addresses"),
    )


@dataclass(frozen=True, slots=True)
class Fabric:
    """One network: NICs attached at the lowest tier, tiers from the bottom up. ``technology`` is ``roce``, ``ethernet``
    or ``infiniband``; ``vrf`` names its routing instance on Ethernet devices and NICs. ``accepts_single_failures`` says
    why one switch or cable may cut off nodes, None where none may."""

    name: str
    technology: str
    attach: tuple[Attach, ...]
    tiers: tuple[Tier, ...]
    mtu: int
    addressing: FabricAddressing | None
    subnet_manager: SubnetManager | None
    partitions: tuple[Partition, ...]
    guids: Annotated[GuidFile | None, By(labels_named)]
    classes: tuple[TrafficClass, ...]
    pfc_watchdog: PfcWatchdog
    accepts_single_failures: str | None
    path: Path
    balancing: Annotated[str, Key("balancing", "kind")] = "hash"
    """How switches choose among equal paths: ``hash``, FLOWLET or ``adaptive``."""
    owner: str = OURS
    """``self`` or ``provider``: whose switches these are."""
    addresses: str | None = None
    """``dhcp``, or the file of the addresses that a provider gave; None where adapters have none."""
    given: AddressList | None = None
    """The addresses in that file."""
    pkey_index: int | None = None
    """The entry of an adapter's P_Key table that NCCL uses on a provider's fabric; None for NCCL's own choice."""

    @classmethod
    def read(cls, reading: Reading, data: Mapping[str, Any], path: Path) -> Fabric:
        """Without partitions the default one is the network, and its members are full; with them they are limited."""
        if "subnet_manager" in data:
            membership = "limited" if data.get("partitions") else "full"
            data = {**data, "subnet_manager": {"default_membership": membership, **data["subnet_manager"]}}
        if data["technology"] != "roce" or data.get("owner") == PROVIDER:
            data = {"classes": [], **data}  # the schema's default is for RDMA on switches of one's own
        if data.get("owner") == PROVIDER:
            tier = _provider_tier(data["name"], path)
            fabric = reading.fields(cls, data, path, tiers=(tier,))
            is_listed = data.get("addresses", DHCP) != DHCP
            given = reading.named_file((*path, "addresses"), read_given_addresses) if is_listed else None
            return fabric if given is None else replace(fabric, given=given, addressing=_of_provider(given, path))
        fabric = reading.fields(cls, data, path)
        if "recovery_ms" in data.get("pfc_watchdog", {}):
            return fabric
        return replace(fabric, pfc_watchdog=_usual_recovery(fabric.pfc_watchdog, fabric.tiers))

    @property
    def is_provided(self) -> bool:
        """Whether another owner runs the switches, so that no file is rendered for them."""
        return self.owner == PROVIDER

    @property
    def is_management(self) -> bool:
        """Whether it serves the management ports of devices."""
        return any(attach.is_management for attach in self.attach)

    @property
    def is_adaptive(self) -> bool:
        """Whether switches choose a path for each packet, and not for each flow."""
        return self.balancing == "adaptive"

    @property
    def planes(self) -> str:
        """The criterion of planes that no tier joins: ``rail`` or ``position``; "" where all is one network."""
        join = self.tiers[-1].join
        return "" if join == "all" else join

    def tier(self, role: str) -> Tier | None:
        """The tier with this role, or None."""
        for tier in self.tiers:
            if tier.role == role:
                return tier
        return None


def with_provided_fabrics(spec: ClusterSpec) -> ClusterSpec:
    """The spec with the model that stands for a provider's fabric, and adapters on it as the kernel calls them.

    A node group whose adapters have names of their own gets a model of its own, ``MODEL-GROUP``.
    """
    provided = [fabric for fabric in spec.fabrics if fabric.is_provided]
    if not provided:
        return spec
    catalogue = {**spec.catalogue, PROVIDER_FABRIC.name: PROVIDER_FABRIC}
    groups = []
    for group in spec.node_groups:
        model = group.model
        for fabric in provided:
            for attach in fabric.attach:
                if attach.nodes == group.name and (attach.interfaces or attach.rdma_devices):
                    model = _with_names(model, attach)
        if model is group.model:
            groups.append(group)
            continue
        named = replace(model, name=f"{model.name}-{group.name}")
        catalogue[named.name] = named
        groups.append(replace(group, model=named))
    return replace(spec, node_groups=tuple(groups), catalogue=catalogue)


def _with_names(model: HardwareModel, attach: Attach) -> HardwareModel:
    """A model whose NIC group has the names of an attachment, and no PCI addresses, by which images rename adapters."""
    groups = (_named(nics, attach) if nics.name == attach.nics else nics for nics in model.nic_groups)
    return replace(model, nic_groups=tuple(groups))


def _named(group: NicGroup, attach: Attach) -> NicGroup:
    named: list[Nic] = []
    count = len(attach.interfaces) or len(attach.rdma_devices)
    for index, nic in enumerate(group.nics[:count]):
        interface = attach.interfaces[index] if index < len(attach.interfaces) else nic.interface
        rdma_device = attach.rdma_devices[index] if index < len(attach.rdma_devices) else nic.rdma_device
        named.append(replace(nic, interface=interface, rdma_device=rdma_device, pci=None))
    return replace(group, nics=tuple(named))
