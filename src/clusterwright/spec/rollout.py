"""How a change goes over a running cluster: what may be disturbed at once, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.spec.structuring import Structuring
from clusterwright.spec.text.document import Path


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """One question between waves: devices have ``deadline_s`` to be well.

    ``budget`` devices of a wave may be not well by this question alone, None leaves it to the rollout's own budget.
    """

    deadline_s: int
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class GatePolicies:
    """The questions that the devices themselves answer between waves.

    ``jobs``: those of nodes that go out of service, before their ports are shut; asked before a wave.
    ``sessions``: BGP sessions of changed switches; longer than the 120 s of their graceful restart. ``subnet``: the
    links of an InfiniBand fabric. ``verdicts``: the node check. ``isolation``: whether a node is closed.
    """

    jobs: GatePolicy
    sessions: GatePolicy
    subnet: GatePolicy
    verdicts: GatePolicy
    isolation: GatePolicy


@dataclass(frozen=True, slots=True)
class BootPolicy:
    """Nodes that read their files at boot are booted by Slurm within the wave.

    ``deadline_s`` is how long that may take with the jobs that end before it, ``boot_s`` the boot alone.
    """

    deadline_s: int
    boot_s: int


@dataclass(frozen=True, slots=True)
class RolloutPolicy:
    """What a wave of a rollout may take.

    ``canaries`` units of each kind go first. While a wave lasts every rack outside it keeps at least
    ``min_bandwidth_percent`` of its way to the top of each fabric, and at most ``racks_at_once`` racks are disturbed.
    ``failure_budget`` devices of a wave may fail; one more stops the rollout. ``gates`` are asked after each wave.
    ``boots`` is None where nodes are booted by somebody else, at another time.
    """

    canaries: int
    min_bandwidth_percent: float
    racks_at_once: int
    failure_budget: int
    gates: GatePolicies
    boots: BootPolicy | None
    path: Path


DEFAULT_ROLLOUT = Structuring("cluster").fields(RolloutPolicy, {}, ("rollout",))
"""What holds where the spec is silent."""
