"""CW246 and CW248: where directors stand, and whether all below one spread their uplinks alike over its chips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from clusterwright.finding import Severity
from clusterwright.plan.chips import chip_ports
from clusterwright.plan.ports import Allocation
from clusterwright.plan.skeleton import FabricSkeleton, joins
from clusterwright.rules.rule import Problem, Subject, rule


@rule("CW246", Severity.WARNING)
def straddling_uplinks(subject: Subject) -> Iterator[Problem]:
    """Tiers below directors of InfiniBand whose switches have uplinks to different numbers of leaf chips."""
    directors = {
        fabric.name
        for fabric in subject.spec.fabrics
        if fabric.technology == "infiniband" and any(tier.model.chips is not None for tier in fabric.tiers)
    }
    for fabric, allocations in subject.allocations if directors else ():
        if fabric.fabric.name not in directors:
            continue
        spreads = _spreads(fabric, allocations)
        for depth, tier in enumerate(fabric.fabric.tiers):
            own = {seat: spread for seat, spread in spreads.items() if fabric.seats[seat].tier == depth}
            usual = Counter(own.values()).most_common(1)[0][0] if own else ()
            odd = next((seat for seat, spread in own.items() if spread != usual), None)
            if tier.up is not None and odd is not None:
                yield Problem(
                    (*tier.up.path, "links"),
                    f"{fabric.seats[odd].name} has uplinks to {len(own[odd])} chips above it ({_shown(own[odd])}), most"
                    f" {tier.role} switches to {len(usual)} ({_shown(usual)}).",
                    "Choose a number of uplinks of which a whole number of switches fills each chip.",
                )


@rule("CW248", Severity.ERROR)
def director_below(subject: Subject) -> Iterator[Problem]:
    """Tiers of directors with switches above."""
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            if fabric.technology == "infiniband" and tier.up is not None and tier.model.chips is not None:
                message = f"{tier.role} is a {tier.model.name}, a director, and has switches above it."
                yield Problem((*tier.path, "model"), message, "Let the director be the highest tier.")


def _spreads(fabric: FabricSkeleton, allocations: Sequence[Allocation]) -> Mapping[int, tuple[int, ...]]:
    """For each switch below a director, how many of its uplinks end on each chip, the most first."""
    inside: dict[str, dict[str, int]] = {}
    for tier in fabric.fabric.tiers:
        if tier.model.chips is not None:
            places = chip_ports(tier.model, split=True) | chip_ports(tier.model, split=False)
            inside[tier.model.name] = {port: chip for port, (chip, _) in places.items()}
    given = Counter(attachment.seat for attachment in fabric.attachments)
    found: dict[int, Counter[tuple[int, int]]] = {}
    for bundle in fabric.bundles:
        chips = inside.get(fabric.fabric.tiers[bundle.tier].model.name)
        if chips is None:
            continue
        for lower, upper in joins(fabric, bundle):
            port = allocations[upper].down[given[upper]]
            given[upper] += 1
            found.setdefault(lower, Counter())[upper, chips[port]] += 1
    return {seat: tuple(sorted(chips.values(), reverse=True)) for seat, chips in found.items()}


def _shown(spread: Sequence[int]) -> str:
    return "+".join(map(str, spread))
