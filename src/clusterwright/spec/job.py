"""How jobs run on the cluster: what NCCL is told, and how the batch system sees the topology."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from clusterwright.spec.credentials import Brought
from clusterwright.spec.structuring import By, Structuring, Text, one_or_several
from clusterwright.spec.text.document import Path

SLURM = "slurm"

Names = Annotated[tuple[str, ...], By(lambda _, value, __: (value,) if isinstance(value, str) else tuple(value))]
"""One name, or a list of them."""


def _by_name(_: Structuring, settings: Mapping[str, object], __: Path) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(settings[name])) for name in sorted(settings))


SlurmSettings = Annotated[tuple[tuple[str, str], ...], By(_by_name)]
"""Words of slurm.conf(5) and their values, by name."""


@dataclass(frozen=True, slots=True)
class FlightRecorder:
    """PyTorch's record of the last ``entries`` collectives of each rank, written below ``folder`` when one hangs."""

    entries: int
    folder: str


@dataclass(frozen=True, slots=True)
class TunerRow:
    """One choice of the tuner: for messages of a size in bytes, and optionally a number of channels, nodes and ranks.

    None stands for "any", and for ``channels`` for "as NCCL likes".
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
    """NCCL's example tuner: the ``plugin`` library on the nodes, which is built and not packaged, and its table."""

    plugin: str
    rows: tuple[TunerRow, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class NcclProfile:
    """The choices that NCCL settings of the groups ``nodes`` are derived from; HCA lists, traffic classes and GIDs
    follow from the plan.

    ``name`` is None where the only profile has none. ``partition`` is the InfiniBand partition that data travels in,
    None where nodes are full members of one alone. ``version`` is NCCL's, ``pytorch`` PyTorch's, None where jobs use
    something else. ``heartbeat_timeout_s`` is how long PyTorch's watchdog waits before it takes a process for hung.
    ``topology_file`` gives nodes the topology of their model. ``variables`` are further NCCL or PyTorch variables,
    written as they are. Without a word ``timeout`` is NCCL's own since 2.23.
    """

    name: str | None
    version: str
    fabric: str
    nodes: Names
    sockets: str
    partition: str | None
    qps_per_connection: int
    split_data_on_qps: bool
    data_class: str | None
    control_dscp: int | None
    service_level: int | None
    timeout: int
    retry_count: int
    cross_nic: int | None
    pytorch: str | None
    heartbeat_timeout_s: int | None
    flight_recorder: FlightRecorder | None
    tuner: Tuner | None
    topology_file: bool
    variables: Mapping[str, Text]
    path: Path


@dataclass(frozen=True, slots=True)
class Kueue:
    """Kueue's view of the same nodes: ``label_prefix`` is the domain of the topology labels, ``flavor`` the resource
    flavour that jobs ask for, ``api_port`` the TCP port at which Kubernetes' API server answers nodes."""

    label_prefix: str
    flavor: str
    api_port: int


@dataclass(frozen=True, slots=True)
class SlurmPartition:
    """Nodes that one job may span. Without ``allow_groups`` and ``allow_accounts`` anybody may submit to it."""

    name: str
    nodes: Names
    allow_groups: tuple[str, ...]
    allow_accounts: tuple[str, ...]
    shared: bool
    """Whether jobs share nodes; otherwise each has whole ones."""
    settings: SlurmSettings
    """Further words of its line."""
    path: Path


@dataclass(frozen=True, slots=True)
class Controllers:
    """Who runs a scheduler's controller: the first ``count`` machines in service of the group ``nodes``, None for those
    of role ``service``. ``state`` is slurmctld's folder, ``shared_by`` says who gives all of them the same one."""

    nodes: str | None
    count: int
    state: str
    shared_by: str | None
    path: Path


@dataclass(frozen=True, slots=True)
class Database:
    """The MySQL or MariaDB on ``host`` that slurmdbd writes to; ``secret`` is the name of its user's password."""

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
    """Slurm's view: ``leaf`` is the level that makes one switch of its tree, or the base block.

    ``block_sizes`` are in nodes, for the block plugin. ``munge`` is where the daemons' common key comes from.
    ``partitions`` are the written ones, the default one first. ``accounting`` is None where nobody keeps records.
    """

    plugin: str
    leaf: str
    block_sizes: tuple[int, ...]
    partitions: tuple[SlurmPartition, ...]
    munge: Brought | None
    settings: SlurmSettings
    """Further words of slurm.conf."""
    accounting: Accounting | None
    login: tuple[str, ...]
    """Node groups whose users submit jobs there: they have Slurm's commands and no daemon of it."""
    path: Path


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Who places jobs on the groups ``nodes``: ``slurm`` is None where Kueue alone does, ``kueue`` where Slurm alone
    does. ``name`` is None where the only one has none."""

    name: str | None
    nodes: Names
    slurm: SlurmTopology | None
    kueue: Kueue | None
    controllers: Controllers
    path: Path

    @classmethod
    def read(cls, typing: Structuring, data: Mapping[str, Any], path: Path) -> Scheduler:
        """Slurm's settings stand beside the kind."""
        slurm = typing.typed(SlurmTopology, data, path) if data["kind"] == SLURM else None
        return typing.fields(cls, data, path, slurm=slurm)

    @property
    def partitions(self) -> tuple[SlurmPartition, ...]:
        """Slurm's partitions, the default one first: where none is written, one for each node group, of its name."""
        if self.slurm is None:
            return ()
        default_partition = (
            SlurmPartition(
                name=name,
                nodes=(name,),
                allow_groups=(),
                allow_accounts=(),
                shared=False,
                settings=(),
                path=(*self.path, "nodes"),
            )
            for name in self.nodes
        )
        return self.slurm.partitions or tuple(default_partition)


NcclProfiles = Annotated[tuple[NcclProfile, ...], one_or_several(NcclProfile)]
Schedulers = Annotated[tuple[Scheduler, ...], one_or_several(Scheduler)]
