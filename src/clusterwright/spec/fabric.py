"""The networks of a cluster in the spec: attached NICs, tiers of switches, addresses, traffic classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
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

FLOWLET = "flowlet"  # after a pause a flow may take another path; for switches configured elsewhere
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
"""One box in place of all switches of a provider's fabric: a port for each adapter, and nothing to configure."""


@dataclass(frozen=True, slots=True)
class Bond:
    """NICs joined to one link by LACP (IEEE 802.1AX), with the name ``interface`` on nodes.

    ``rate`` is ``fast`` or ``slow``: LACPDUs every second or every 30.
    """

    interface: str
    rate: str
    path: Path


@dataclass(frozen=True, slots=True)
class Attach:
    """NICs on a fabric: a node group's NIC group. ``nics`` None means every management port of the cluster.

    ``to`` is the tier with free ports for them; None for the lowest tier around the node. ``bond`` joins them to one
    link, None if each is a link.
    """

    nodes: str | None
    nics: str | None
    to: str | None
    path: Path
    bond: Bond | None = None
    interfaces: tuple[str, ...] = ()
    """The kernel's names of the adapters; empty for the catalogue's names."""
    rdma_devices: tuple[str, ...] = ()
    """Their verbs names; empty for the catalogue's."""

    @property
    def is_management(self) -> bool:
        """True for the management ports of all devices."""
        return self.nics is None


@dataclass(frozen=True, slots=True)
class Side:
    """A tier's ports towards one neighbour tier: blocks in order of use, their mode, and the cable.

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
    """Uplinks of every switch of a tier: ``links`` at ``speed_gbps`` each, over the ports of ``side``."""

    links: int
    speed_gbps: int
    side: Annotated[Side, Key()]
    path: Path
    leaves_building: bool
    """True for cables accessible to strangers."""
    spread: str
    """``round-robin`` (link after link to the next upper switch) or ``adjacent`` (links to one switch lie side by
    side)."""
    macsec: str | None
    """The profile for their encryption."""
    authentication: SessionAuthentication | None
    to: tuple[str, ...] = ()
    """Roles of the possible upper tiers; empty for every tier above (``tier_order``)."""


@dataclass(frozen=True, slots=True)
class AsnPlan:
    """AS numbers of a tier: counted up from ``base`` per ``switch`` or per ``group``, or one for the ``tier``."""

    base: int
    per: str
    path: Path


@dataclass(frozen=True, slots=True)
class Tier:
    """One layer of switches.

    In every instance of the level ``per`` there are ``count`` switches for each plane. ``join`` decides the plane of a
    link from below: ``all`` (one plane), ``rail`` (one per rail) or ``position`` (one per position of a lower switch in
    its group). ``release`` is that of the switches' system, None for the model's. ``name_pattern`` is the site's naming
    pattern, None for planned names.
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
    """The level with the network racks of its switches; ``rack`` for the rack of the nodes. None lets the planner
    choose."""


@dataclass(frozen=True, slots=True)
class FabricAddressing:
    """Prefixes of an Ethernet fabric.

    ``host_links`` is ``point-to-point`` (a /127 or /31 per NIC) or ``shared`` (one subnet per switch).
    ``hosts_per_switch`` is the length of a bottom switch's prefix within ``hosts``."""

    loopbacks: Prefix | None
    """None if no switch routes to another one or to a border."""
    links: Prefix | None
    hosts: Prefix
    hosts_per_switch: int
    host_links: str
    path: Path

    @classmethod
    def read(cls, reading: Reading, data: Mapping[str, Any], path: Path) -> FabricAddressing:
        """By default one switch has all hosts."""
        _, _, length = str(data["hosts"]).rpartition("/")
        defaults = {"hosts_per_switch": int(length)} if length.isdecimal() else {}
        return reading.fields(cls, {**defaults, **data}, path)

    @property
    def pools(self) -> tuple[tuple[str, Network], ...]:
        """The existing pools, by their keys."""
        pools = (("loopbacks", self.loopbacks), ("links", self.links), ("hosts", self.hosts))
        return tuple((key, pool) for key, pool in pools if pool is not None)


def _codes(reading: Reading, items: Any, path: Path) -> tuple[int, ...]:
    """The DSCP code points in numbers and ranges."""
    spans = reading.ranges(items, path, 63)
    codes: set[int] = set()
    for low, high in spans:
        codes.update(range(low, min(high, 63) + 1))
    return tuple(sorted(codes))


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """A class of service: its DSCPs, queue, PFC priority (None for a lossy class) and scheduler weight.

    A ``strict`` class is served before all weighted ones; its weight is 0. ``ecn`` is ``none``, ``count`` or ``mark``,
    the last with a ``marking``.

    On InfiniBand ``service_level`` takes the place of the DSCPs and ``queue`` is the virtual lane; ``arbitration`` is
    the lane's table (``high`` or ``low``).
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
        """By default a lossless class counts marks; a strict one has no weight."""
        defaults = {"ecn": "count" if "priority" in data else "none"}
        weight = {"weight": 0} if data.get("strict") else {}
        return reading.fields(cls, {**defaults, **data, **weight}, path)


def _usual_recovery(watchdog: PfcWatchdog, tiers: tuple[Tier, ...]) -> PfcWatchdog:
    """The watchdog with the default recovery time, in steps supported by every system."""
    for tier in tiers:
        system = system_of(tier.model)
        if system is not None and system.limits.pfc_looks is not None:
            every_ms = min(watchdog.detection_ms, system.limits.pfc_looks.every_ms[1])
            return replace(watchdog, recovery_ms=every_ms)
    return watchdog


def _provider_tier(fabric: str, path: Path) -> Tier:
    """The tier standing for all switches of a provider's fabric."""
    owner_path = (*path, "owner")
    cables = Side(blocks=(), mode=None, medium=PROVIDER, length_m=0.0, path=owner_path)
    return Tier(
        role=f"{fabric}-{PROVIDER}",
        model=PROVIDER_FABRIC,
        per="cluster",
        join="all",
        count=1,
        down=cables,
        up=None,
        asn=None,
        path=owner_path,
    )


def _of_provider(addresses: AddressList, path: Path) -> FabricAddressing:
    """The one subnet of a provider's addresses."""
    return FabricAddressing(
        loopbacks=None,
        links=None,
        hosts=addresses.network,
        hosts_per_switch=addresses.network.prefixlen,
        host_links="shared",
        path=(*path, "addresses"),
    )


@dataclass(frozen=True, slots=True)
class Fabric:
    """One network: NICs attached at the lowest tier, tiers from the bottom up.

    ``technology`` is ``roce``, ``ethernet`` or ``infiniband``; ``vrf`` names its routing instance on Ethernet devices
    and NICs. ``accepts_single_failures`` is the reason for single points of failure (a switch or cable that cuts off
    nodes), None if there may be none."""

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
    """The choice among equal paths: ``hash``, FLOWLET or ``adaptive``."""
    owner: str = OURS
    """Owner of the switches: ``self`` or ``provider``."""
    addresses: str | None = None
    """``dhcp``, or the file with addresses from a provider; None for adapters without addresses."""
    given: AddressList | None = None
    """The addresses in that file."""
    pkey_index: int | None = None
    """The entry of an adapter's P_Key table for NCCL on a provider's fabric; None for NCCL's default."""

    @classmethod
    def read(cls, reading: Reading, data: Mapping[str, Any], path: Path) -> Fabric:
        """Members of the default partition are full without other partitions, and limited with them."""
        if "subnet_manager" in data:
            membership = "limited" if data.get("partitions") else "full"
            data = {**data, "subnet_manager": {"default_membership": membership, **data["subnet_manager"]}}
        if data["technology"] != "roce" or data.get("owner") == PROVIDER:
            data = {"classes": [], **data}  # the schema's default is for RDMA on the owner's switches
        if data.get("owner") == PROVIDER:
            return cls._read_provided(reading, data, path)
        fabric = reading.fields(cls, data, path)
        if "recovery_ms" in data.get("pfc_watchdog", {}):
            return fabric
        return replace(fabric, pfc_watchdog=_usual_recovery(fabric.pfc_watchdog, fabric.tiers))

    @classmethod
    def _read_provided(cls, reading: Reading, data: Mapping[str, Any], path: Path) -> Fabric:
        """A provider's fabric, with the addresses in its file if it names one."""
        fabric = reading.fields(cls, data, path, tiers=(_provider_tier(data["name"], path),))
        if data.get("addresses", DHCP) == DHCP:
            return fabric
        addresses = reading.named_file((*path, "addresses"), read_given_addresses)
        if addresses is None:
            return fabric
        return replace(fabric, given=addresses, addressing=_of_provider(addresses, path))

    @property
    def is_provided(self) -> bool:
        """True for switches of another owner: no file is rendered for them."""
        return self.owner == PROVIDER

    @property
    def is_management(self) -> bool:
        """True for the fabric of the devices' management ports."""
        return any(attach.is_management for attach in self.attach)

    @property
    def is_adaptive(self) -> bool:
        """True if switches choose a path for each packet instead of each flow."""
        return self.balancing == "adaptive"

    @property
    def planes(self) -> str:
        """The criterion of planes that stay separate up to the top: ``rail`` or ``position``; "" for a single
        network."""
        join = self.tiers[-1].join
        return "" if join == "all" else join

    def tier(self, role: str) -> Tier | None:
        """The tier with this role, or None."""
        for tier in self.tiers:
            if tier.role == role:
                return tier
        return None


def with_provided_fabrics(spec: ClusterSpec) -> ClusterSpec:
    """The spec with the stand-in model of provider's fabrics, and their adapters under the kernel's names.

    A node group with given adapter names gets a separate model, ``MODEL-GROUP``.
    """
    provided = [fabric for fabric in spec.fabrics if fabric.is_provided]
    if not provided:
        return spec
    catalogue = {**spec.catalogue, PROVIDER_FABRIC.name: PROVIDER_FABRIC}
    groups = []
    for group in spec.node_groups:
        model = group.model
        for attach in chain.from_iterable(fabric.attach for fabric in provided):
            if attach.nodes == group.name and (attach.interfaces or attach.rdma_devices):
                nic_groups = tuple(_with_adapter_names(nics, attach) for nics in model.nic_groups)
                model = replace(model, nic_groups=nic_groups)
        if model is group.model:
            groups.append(group)
            continue
        named = replace(model, name=f"{model.name}-{group.name}")
        catalogue[named.name] = named
        groups.append(replace(group, model=named))
    return replace(spec, node_groups=tuple(groups), catalogue=catalogue)


def _with_adapter_names(group: NicGroup, attach: Attach) -> NicGroup:
    """A NIC group with the attachment's adapter names, and no PCI addresses: images rename adapters by these."""
    if group.name != attach.nics:
        return group
    nics: list[Nic] = []
    count = len(attach.interfaces) or len(attach.rdma_devices)
    for index, nic in enumerate(group.nics[:count]):
        interface = attach.interfaces[index] if index < len(attach.interfaces) else nic.interface
        rdma_device = attach.rdma_devices[index] if index < len(attach.rdma_devices) else nic.rdma_device
        nics.append(replace(nic, interface=interface, rdma_device=rdma_device, pci=None))
    return replace(group, nics=tuple(nics))
