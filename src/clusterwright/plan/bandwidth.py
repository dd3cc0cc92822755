"""What a tier carries, counted cable by cable: the one meaning of oversubscription for lint, reports and promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import inf

from clusterwright.plan.model import Cable, Plan


def oversubscription(plan: Plan, cables: Iterable[Cable]) -> Mapping[tuple[str, str], float]:
    """The bandwidth of all NICs at or below a tier over that of the tier's uplinks, by fabric and role.

    Counted over ``cables``: all of the plan's for what is designed, those in service for what is left of it. Infinite
    where NICs have no uplink among them; the uppermost tiers have no entry.
    """
    nics: Counter[tuple[str, int]] = Counter()
    up: Counter[tuple[str, str]] = Counter()
    for cable in cables:
        if cable.a.side == "up":
            up[cable.fabric, plan.by_name[cable.a.device].role] += cable.speed_gbps
        else:
            nics[cable.fabric, cable.tier] += cable.speed_gbps
    found: dict[tuple[str, str], float] = {}
    for fabric in plan.spec.fabrics:
        below = 0
        for depth, tier in enumerate(fabric.tiers):
            below += nics[fabric.name, depth]
            if tier.up is not None:
                gbps = up[fabric.name, tier.role]
                found[fabric.name, tier.role] = below / gbps if gbps else inf if below else 0.0
    return found
