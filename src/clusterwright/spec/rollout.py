"""How a change goes over a running cluster: what may be disturbed at once, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.spec.document import Path


@dataclass(frozen=True, slots=True)
class RolloutPolicy:
    """What a wave of a rollout may take.

    ``canaries`` units of each kind go first. While a wave lasts every rack outside it keeps at least
    ``min_bandwidth_percent`` of its way to the top of each fabric, and at most ``racks_at_once`` racks are disturbed.
    ``failure_budget`` devices of a wave may fail; one more stops the rollout. ``path`` is None where the spec is
    silent and the defaults hold.
    """

    canaries: int = 1
    min_bandwidth_percent: float = 75.0
    racks_at_once: int = 16
    failure_budget: int = 0
    path: Path | None = None


DEFAULT_ROLLOUT = RolloutPolicy()
