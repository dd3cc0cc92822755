"""The typed spec: the architect's decisions about a cluster, without anything derivable.

Every element keeps ``path``, its place in the document, so that a finding about it points at its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import chain
from math import ceil
from typing import Annotated, Any

from clusterwright.spec.address_space import address_or_none
from clusterwright.spec.allocated.facts import NOTHING_STANDS, Allocated
from clusterwright.spec.credentials import NO_CREDENTIALS, Credentials
from clusterwright.spec.encryption import NO_ENCRYPTION, Dataset, Encryption, KeySchedule, Protection, SecretSource
from clusterwright.spec.ethernet import ExtraConfig
from clusterwright.spec.execution import ExecutionMesh
from clusterwright.spec.fabric import Fabric, FabricAddressing, Tier, with_provided_fabrics
from clusterwright.spec.growth import NO_ALLOCATION, AllocationPolicy, Renamed
from clusterwright.spec.hardware.chip_settings import ChipSettings
from clusterwright.spec.hardware.models import Catalogue
from clusterwright.spec.image import Boot, Image
from clusterwright.spec.isolation import Address, Border, Flow, Promise, Zone
from clusterwright.spec.job import NcclProfile, NcclProfiles, Scheduler, Schedulers
from clusterwright.spec.labels.device_names import DeviceNames, device_names_named
from clusterwright.spec.labels.overlay import NO_OVERLAY, Overlay
from clusterwright.spec.reading import Model, Reading
from clusterwright.spec.rollout import DEFAULT_ROLLOUT, RolloutPolicy
from clusterwright.spec.site import FirstContact, Site
from clusterwright.spec.structuring import By, Key
from clusterwright.spec.text.document import Document, Path
from clusterwright.spec.workload import Job
from clusterwright.spec.zone_reach import with_internet

CLUSTER = "cluster"  # the outermost level, around every group
RACK = "rack"
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Level:
    """A grouping level with ``of`` members of the level below (nodes for the lowest level).

    ``code`` is the letter in names (``p`` in p03), ``within`` the level that restarts the count of instances.
    """

    name: str
    of: int
    code: str
    within: str
    path: Path


@dataclass(frozen=True, slots=True)
class Inside:
    """Nodes within the groups of others: ``count`` in each group at ``level`` of the node group ``nodes``."""

    nodes: str
    level: str
    count: int
    path: Path


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Equal machines: ``count`` nodes of ``model``, grouped by ``levels`` from the smallest to the largest.

    ``left_out`` names skipped groups and nodes: their places stay empty. ``name_pattern`` is the site's naming pattern,
    None for planned names.
    """

    name: str
    role: str
    model: Model
    count: int
    left_out: tuple[str, ...]
    levels: tuple[Level, ...]
    prefix: str
    zone: str | None
    image: str | None
    path: Path
    name_pattern: str | None = None
    nvlink_domain: str | None = None
    """The level of an NVLink domain with common switch trays; None for nodes without one."""
    inside: Inside | None = None
    """The groups of other nodes around these; their levels are then those of the others, with ``count`` nodes in
    each.
    """

    @classmethod
    def read(cls, reading: Reading, data: Mapping[str, Any], path: Path) -> NodeGroup:
        """Read a node group; a level is counted within the next larger one, and named by its first letter by default.

        Without levels one rack holds all nodes. Nodes ``inside`` others get their levels later, from these.
        """
        data = {"prefix": data["name"].replace("-", ""), **data}
        if "inside" in data:
            return reading.fields(cls, {**data, "levels": [], "count": 0}, path)
        steps = data.get("levels") or [{"name": RACK, "of": data["count"]}]
        larger = (*(step["name"] for step in steps[1:]), CLUSTER)
        levels = [{"code": step["name"][0], "within": above, **step} for step, above in zip(steps, larger, strict=True)]
        return reading.fields(cls, {**data, "levels": levels}, path)

    def nodes_per(self, level: str) -> int:
        """Number of nodes in a full instance of ``level``; the whole group for the cluster level.

        Raises KeyError if the group has no such level.
        """
        if level == CLUSTER:
            return self.count
        size = 1
        for step in self.levels:
            size *= step.of
            if step.name == level:
                return size
        raise KeyError(level)

    def nodes_of_smallest(self, level: str) -> int:
        """Nodes in the smallest instance of ``level``: the last one may be partly filled.

        Raises KeyError if the group has no such level.
        """
        full = min(self.nodes_per(level), self.count)
        return self.count % full or full

    def standing_inside(self, groups: Mapping[str, NodeGroup]) -> NodeGroup:
        """The group with the levels and number of the ``groups`` around it; unchanged if there are none.

        Their skipped groups count as well: the layout knows the actual number.
        """
        host = groups.get(self.inside.nodes) if self.inside is not None else None
        host = None if host is self else host
        names = [level.name for level in host.levels] if host is not None else []
        if self.inside is None or host is None or self.inside.level not in names:
            return self
        outer = host.levels[names.index(self.inside.level) :]
        levels = (replace(outer[0], of=self.inside.count), *outer[1:])
        return replace(self, levels=levels, count=self.inside.count * ceil(host.count / host.nodes_per(outer[0].name)))


@dataclass(frozen=True, slots=True)
class Mount:
    """A file system mounted by nodes from a storage group, or from a server outside of the spec.

    ``options`` are those of mount(8). ``protection`` is None if the spec has no statement about it.
    """

    name: str
    mountpoint: str
    nodes: tuple[str, ...]
    system: str | None
    """The storage group; None for a server outside of the spec."""
    export: str
    type: str
    options: tuple[str, ...]
    protection: Protection | None
    path: Path
    server: str | None = None
    """The server outside of the spec, by address or by name."""
    addresses: tuple[Annotated[Address, By(Reading.address)], ...] = ()
    """The addresses of a server given by name."""

    @property
    def served_by(self) -> str:
        """The storage group or the server in the spec."""
        return self.system or self.server or ""

    @property
    def server_addresses(self) -> tuple[Address, ...]:
        """Addresses of the server outside of the spec; empty for a storage group, or for a name without addresses."""
        address = address_or_none(self.server or "")
        return self.addresses if address is None else (address,)


@dataclass(frozen=True, slots=True)
class SpecException:
    """A local difference: a drained switch, a port out of service, a group of nodes with another image.

    ``until`` is the last day of its need; it stays in force until it is removed.
    """

    device: str | None
    group: str | None
    port: str | None
    state: str | None
    image: str | None
    reason: str
    path: Path
    until: Annotated[date | None, By(Reading.day)] = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """A published figure for the plan, by its dotted name; ``tolerance`` is relative."""

    figure: str
    value: float | None
    at_most: float | None
    at_least: float | None
    tolerance: float
    source: str | None
    assumed: str | None
    path: Path

    @property
    def highest(self) -> float | None:
        """The highest accepted value; None without a bound."""
        bounds = [] if self.value is None else [self.value * (1 + self.tolerance)]
        if self.at_most is not None:
            bounds.append(self.at_most)
        return min(bounds, default=None)

    @property
    def lowest(self) -> float | None:
        """The lowest accepted value; None without a bound."""
        bounds = [] if self.value is None else [self.value * (1 - self.tolerance)]
        if self.at_least is not None:
            bounds.append(self.at_least)
        return max(bounds, default=None)

    @property
    def words(self) -> str:
        """The expectation, in words."""
        words = [] if self.value is None else [f"{self.value:.12g}"]
        if self.value is not None and self.tolerance:
            words = [f"{self.value:.12g} within {100 * self.tolerance:.4g}%"]
        words += [] if self.at_least is None else [f"at least {self.at_least:.12g}"]
        words += [] if self.at_most is None else [f"at most {self.at_most:.12g}"]
        return " and ".join(words)

    def is_met(self, planned: float) -> bool:
        """Whether a planned figure is accepted, apart from rounding errors."""
        too_low = self.lowest is not None and planned < self.lowest - _ROUNDING
        too_high = self.highest is not None and planned > self.highest + _ROUNDING
        return not too_low and not too_high


def _in_lossless_class(nccl: NcclProfile, spec: ClusterSpec) -> NcclProfile:
    """``nccl`` with data in the only lossless class of its RoCE fabric, if the spec names no class."""
    fabric = spec.fabric(nccl.fabric)
    if nccl.data_class is not None or fabric is None or fabric.technology != "roce":
        return nccl
    lossless = [traffic_class.name for traffic_class in fabric.classes if traffic_class.priority is not None]
    return replace(nccl, data_class=lossless[0]) if len(lossless) == 1 else nccl


@dataclass(frozen=True)
class ClusterSpec:
    """A whole cluster as written: immutable, with positions through ``document``.

    ``allocated`` is the built part of it, ``overlay`` the labels and names recorded on site.
    """

    name: str
    title: str
    site: Site
    node_groups: Annotated[tuple[NodeGroup, ...], Key("nodes")]
    fabrics: tuple[Fabric, ...]
    mounts: tuple[Mount, ...]
    zones: tuple[Zone, ...]
    flows: tuple[Flow, ...]
    borders: tuple[Border, ...]
    promises: tuple[Promise, ...]
    images: tuple[Image, ...]
    boot: Boot | None
    nccl_profiles: Annotated[NcclProfiles, Key("nccl")]
    schedulers: Annotated[Schedulers, Key("scheduler")]
    jobs: tuple[Job, ...]
    exceptions: tuple[SpecException, ...]
    extra_config: tuple[ExtraConfig, ...]
    expectations: Annotated[tuple[Expectation, ...], Key("expect")]
    catalogue: Catalogue
    document: Document
    first_contact: FirstContact | None = None
    encryption: Encryption = NO_ENCRYPTION
    datasets: tuple[Dataset, ...] = ()
    keys: tuple[KeySchedule, ...] = ()
    secrets: tuple[SecretSource, ...] = ()
    credentials: Credentials = NO_CREDENTIALS
    rollout: RolloutPolicy = DEFAULT_ROLLOUT
    execution: ExecutionMesh | None = None
    chip_settings: tuple[ChipSettings, ...] = ()
    allocation: AllocationPolicy = NO_ALLOCATION
    renamed: tuple[Renamed, ...] = ()
    device_names: Annotated[DeviceNames | None, By(device_names_named)] = None
    allocated: Allocated = NOTHING_STANDS
    overlay: Overlay = NO_OVERLAY

    @classmethod
    def read(cls, reading: Reading, data: Mapping[str, Any], path: Path) -> ClusterSpec:
        """Read the whole document; errors in its values are recorded."""
        data = {"title": data["name"], **data}
        spec = reading.fields(cls, data, path, catalogue=reading.catalogue, document=reading.document)
        group_by_name = {group.name: group for group in spec.node_groups}
        groups = tuple(group.standing_inside(group_by_name) for group in spec.node_groups)
        profiles = tuple(_in_lossless_class(nccl, spec) for nccl in spec.nccl_profiles)
        return with_internet(with_provided_fabrics(replace(spec, node_groups=groups, nccl_profiles=profiles)))

    @cached_property
    def noted_macs(self) -> Mapping[tuple[str, str], int]:
        """The MAC addresses read from labels, by device and port."""
        macs: dict[tuple[str, str], int] = {}
        if self.boot is not None and self.boot.macs is not None:
            macs.update(self.boot.macs.by_end)
        for row in self.overlay.rows:
            if row.mac is not None:
                macs[row.device, row.port] = row.mac
        return macs

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """Tiers of all fabrics."""
        return tuple(chain.from_iterable(fabric.tiers for fabric in self.fabrics))

    def node_group(self, name: str) -> NodeGroup | None:
        """The node group ``name``, or None."""
        return next((group for group in self.node_groups if group.name == name), None)

    def fabric(self, name: str) -> Fabric | None:
        """The fabric ``name``, or None."""
        for fabric in self.fabrics:  # called for every cable, so without a generator
            if fabric.name == name:
                return fabric
        return None

    def plain_network(self, name: str) -> tuple[Fabric, FabricAddressing] | None:
        """The fabric ``name`` with its addresses, if it is plain Ethernet with addresses; None otherwise."""
        fabric = self.fabric(name)
        if fabric is None or fabric.technology != "ethernet" or fabric.addressing is None:
            return None
        return fabric, fabric.addressing

    @property
    def boot_network(self) -> tuple[Fabric, FabricAddressing] | None:
        """The network for booting machines.

        None without booting, and for a fabric that cannot serve it (CW606).
        """
        return self.plain_network(self.boot.fabric) if self.boot is not None else None

    def zone(self, name: str) -> Zone | None:
        """The zone ``name``, or None."""
        return next((zone for zone in self.zones if zone.name == name), None)

    def key(self, name: str) -> KeySchedule | None:
        """The entry ``name`` of the key schedule, or None."""
        return next((key for key in self.keys if key.name == name), None)

    def image(self, name: str) -> Image | None:
        """The image ``name``, or None."""
        return next((image for image in self.images if image.name == name), None)

    def job(self, name: str) -> Job | None:
        """The job ``name``, or None."""
        return next((job for job in self.jobs if job.name == name), None)

    def nccl(self, node_group: str) -> NcclProfile | None:
        """The NCCL profile of a node group, or None."""
        return next((profile for profile in self.nccl_profiles if node_group in profile.nodes), None)

    def scheduler(self, node_group: str) -> Scheduler | None:
        """The scheduler of a node group, or None."""
        return next((scheduler for scheduler in self.schedulers if node_group in scheduler.nodes), None)
