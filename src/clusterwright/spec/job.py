"""How jobs run on the cluster: what NCCL is told, and how the batch system sees the topology."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.spec.document import Path


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
