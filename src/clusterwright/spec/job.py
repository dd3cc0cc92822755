"""Jobs on the cluster: NCCL's settings, and the batch system's view of the topology."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from clusterwright.spec.credentials import CredentialSource
from clusterwright.spec.structuring import By, Structuring, Text, one_or_several
from clusterwright.spec.text.document import Path

SLURM = "slurm"

Names = Annotated[tuple[str, ...], By(lambda _, value, __: (value,) if isinstance(value, str) else tuple(value))]
"""One name, or a list of them."""


def _by_name(_: Structuring, settings: Mapping[str, object], __: Path) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(settings[name])) for name in sorted(settings))


SlurmSettings = Annotated[tuple[tuple[str, str], ...], By(_by_name)]
"""Settings of slurm.conf(5), by name."""


@dataclass(frozen=True, slots=True)
class FlightRecorder:
    """PyTorch's record of the last ``entries`` collectives of each rank, written below ``folder`` if one hangs."""

    entries: int
    folder: str


@dataclass(frozen=True, slots=True)
class TunerRow:
    """One choice of the tuner: for messages of a size in bytes, and optionally a number of channels, nodes and ranks.

    None stands for "any", and for ``channels`` for NCCL's choice.
    """

    collective: str
    min_bytes: int
    max_bytes: int
    algorithm: str
    protocol: str
    channels: int | None
    nodes: int | None
    ranks: int | None
    path: Path


@dataclass(frozen=True, slots=True)
class Tuner:
    """NCCL's example tuner: the ``plugin`` library on the nodes, built from source without a package, and its table."""

    plugin: str
    rows: tuple[TunerRow, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class NcclProfile:
    """Choices for the NCCL settings of the groups ``nodes``.

    HCA lists, traffic classes and GIDs follow from the plan.
    """

    name: str | None
    """None for a single unnamed profile."""
    version: str
    """NCCL's."""
    fabric: str
    nodes: Names
    sockets: str
    partition: str | None
    """The InfiniBand partition of data; None for nodes with full membership in only one."""
    qps_per_connection: int
    split_data_on_qps: bool
    data_class: str | None
    control_dscp: int | None
    service_level: int | None
    timeout: int
    """The default is NCCL's own since 2.23."""
    retry_count: int
    cross_nic: int | None
    pytorch: str | None
    """PyTorch's version; None for jobs without it."""
    heartbeat_timeout_s: int | None
    """Time until PyTorch's watchdog takes a process for hung."""
    flight_recorder: FlightRecorder | None
    tuner: Tuner | None
    topology_file: bool
    """True if nodes get the topology of their model."""
    variables: Mapping[str, Text]
    """Further NCCL or PyTorch variables, written unchanged."""
    path: Path


@dataclass(frozen=True, slots=True)
class Kueue:
    """Kueue's view of the same nodes.

    ``label_prefix`` is the domain of the topology labels, ``flavor`` the resource flavour of jobs, ``api_port`` the TCP
    port of Kubernetes' API server for nodes."""

    label_prefix: str
    flavor: str
    api_port: int


@dataclass(frozen=True, slots=True)
class SlurmPartition:
    """Nodes for one job. Without ``allow_groups`` and ``allow_accounts`` any user may submit to it."""

    name: str
    nodes: Names
    allow_groups: tuple[str, ...]
    allow_accounts: tuple[str, ...]
    shared: bool
    """True if jobs share nodes; otherwise each job has whole nodes."""
    settings: SlurmSettings
    """Further settings of its line."""
    path: Path


@dataclass(frozen=True, slots=True)
class Controllers:
    """Hosts of a scheduler's controller: the first ``count`` machines in service of the group ``nodes``.

    ``nodes`` None stands for machines of role ``service``. ``state`` is slurmctld's folder, ``shared_by`` describes how
    all of them share it."""

    nodes: str | None
    count: int
    state: str
    shared_by: str | None
    path: Path


@dataclass(frozen=True, slots=True)
class Database:
    """The MySQL or MariaDB of slurmdbd on ``host``; ``secret`` is the name of its user's password."""

    host: str
    name: str
    user: str
    secret: str
    path: Path


@dataclass(frozen=True, slots=True)
class Accounting:
    """Slurm's accounting: the first machine in service of the group ``nodes`` runs slurmdbd."""

    nodes: str
    database: Database
    path: Path


@dataclass(frozen=True, slots=True)
class SlurmTopology:
    """Slurm's view: ``leaf`` is the level of a switch of its tree, or of the base block.

    ``block_sizes`` are in nodes, for the block plugin. ``munge`` is the origin of the daemons' common key.
    ``partitions`` are those in the spec, the default one first. ``accounting`` is None without records.
    """

    plugin: str
    leaf: str
    block_sizes: tuple[int, ...]
    partitions: tuple[SlurmPartition, ...]
    munge: CredentialSource | None
    settings: SlurmSettings
    """Further settings of slurm.conf."""
    accounting: Accounting | None
    login: tuple[str, ...]
    """Node groups for submitting jobs: they have Slurm's commands and none of its daemons."""
    path: Path


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The scheduler of the groups ``nodes``: ``slurm`` is None with Kueue alone, ``kueue`` with Slurm alone.

    ``name`` is None for a single unnamed scheduler."""

    name: str | None
    nodes: Names
    slurm: SlurmTopology | None
    kueue: Kueue | None
    controllers: Controllers
    path: Path

    @classmethod
    def read(cls, typing: Structuring, data: Mapping[str, Any], path: Path) -> Scheduler:
        """Read a scheduler; Slurm's settings are in the same mapping as the kind."""
        slurm = typing.typed(SlurmTopology, data, path) if data["kind"] == SLURM else None
        return typing.fields(cls, data, path, slurm=slurm)

    @property
    def partitions(self) -> tuple[SlurmPartition, ...]:
        """Slurm's partitions, the default one first: by default one for each node group, with its name."""
        if self.slurm is None:
            return ()
        if self.slurm.partitions:
            return self.slurm.partitions
        return tuple(self._default_partition(name) for name in self.nodes)

    def _default_partition(self, node_group: str) -> SlurmPartition:
        return SlurmPartition(
            name=node_group,
            nodes=(node_group,),
            allow_groups=(),
            allow_accounts=(),
            shared=False,
            settings=(),
            path=(*self.path, "nodes"),
        )


NcclProfiles = Annotated[tuple[NcclProfile, ...], one_or_several(NcclProfile)]
Schedulers = Annotated[tuple[Scheduler, ...], one_or_several(Scheduler)]
