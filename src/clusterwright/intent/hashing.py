"""Choice among equal paths: the hash function of every tier of an Ethernet fabric, and its inputs.

Where two tiers on a packet's path choose by one function, the second finds only packets that the first sent the same
way, and uses a part of its links (polarisation). A CRC is linear, so with one polynomial a seed only renames choices:
tiers take functions whose polynomials differ, and whose algorithm and seed never both agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Plan, fabric_of
from clusterwright.spec.hardware.systems import system_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clusterwright.spec.fabric import Fabric, Tier
    from clusterwright.spec.hardware.systems import HashAlgorithm, Hashing


@dataclass(frozen=True, slots=True)
class TierHashing:
    """Hashing of a ``tier``'s switches; without a known ``function`` (None) ``reason`` explains it.

    ``queue_pairs``: RoCE's destination queue pair goes into the hash beside addresses and ports; if it cannot,
    ``without`` explains it, else that is "". ``chooses``: the tier has equal paths at all.
    """

    tier: Tier
    function: HashAlgorithm | None
    reason: str
    queue_pairs: bool
    without: str
    chooses: bool


def hashed_fields(*, queue_pairs: bool) -> str:
    """The inputs of a hash, in words."""
    if queue_pairs:
        return "addresses, UDP ports, destination queue pair"
    return "addresses, UDP ports"


@per_plan
def planned_hashing(plan: Plan, name: str) -> tuple[TierHashing, ...]:
    """The hashing of every tier of a planned Ethernet fabric, from the bottom."""
    fabric = fabric_of(plan, name)
    tiers = {tier.role: tier for tier in fabric.tiers}
    joined = set()
    for cable in plan.cables:
        if cable.fabric == name and cable.a.side == "up":
            joined.add((plan.by_name[cable.a.device].role, plan.by_name[cable.b.device].role))
    return hashing_of(fabric, [(tiers[low], tiers[high]) for low, high in sorted(joined)])


def hashing_of(fabric: Fabric, joined: Collection[tuple[Tier, Tier]]) -> tuple[TierHashing, ...]:
    """The hashing of every tier of an Ethernet fabric, from the bottom.

    ``joined`` are pairs of tiers with links between them, the lower tier first.
    """
    hashings: list[TierHashing] = []
    for depth, tier in enumerate(fabric.tiers):
        function_of_tier = _known(tier)
        name = tier.model.network_os or "no system"
        if function_of_tier is None:
            chip = tier.model.asic or "a chip that the catalogue does not name"
            reason = f"nothing is known of how {name} on {chip} chooses among equal paths"
            hashings.append(
                TierHashing(
                    tier=tier,
                    function=None,
                    reason=reason,
                    queue_pairs=False,
                    without=reason,
                    chooses=_chooses(tier, joined),
                )
            )
            continue
        function = _free(function_of_tier.functions, depth, hashings)
        seeds = ", ".join(str(function.seed) for function in function_of_tier.functions)
        reason = "" if function else f"{name} takes the seeds {seeds} there, and the tiers below have them all"
        without = "" if function_of_tier.queue_pairs else function_of_tier.reason
        carries_pairs = function_of_tier.queue_pairs and fabric.technology == "roce"
        hashings.append(
            TierHashing(
                tier=tier,
                function=function,
                reason=reason,
                queue_pairs=carries_pairs,
                without=without,
                chooses=_chooses(tier, joined),
            )
        )
    return tuple(hashings)


def _known(tier: Tier) -> Hashing | None:
    system = system_of(tier.model)
    return None if system is None else system.hashing_on(tier.model.asic)


def _free(functions: Sequence[HashAlgorithm], depth: int, below: Sequence[TierHashing]) -> HashAlgorithm | None:
    """The first function from that of the tier's depth on with a CRC that no tier below has; None without one."""
    taken_crcs = {hashing.function.crc for hashing in below if hashing.function is not None}
    start = depth % len(functions)
    for function in (*functions[start:], *functions[:start]):
        if function.crc not in taken_crcs:
            return function
    return None


def _chooses(tier: Tier, joined: Collection[tuple[Tier, Tier]]) -> bool:
    """True for a tier with equal paths: several uplinks, or several cables to one switch below."""
    below = [low.up for low, high in joined if high is tier and low.up is not None]
    return (tier.up is not None and tier.up.links > 1) or any(up.links > tier.count for up in below)
