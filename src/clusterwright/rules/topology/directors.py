"""CW246 and CW248: where directors stand, and whether all below one spread their uplinks alike over its chips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from clusterwright.finding import Severity
from clusterwright.plan.chips import chip_ports
from clusterwright.plan.ports import Allocation
from clusterwright.plan.skeleton import FabricSkeleton, joins
from clusterwright.rules.rule import Problem, Subject, rule


@rule(
    code="CW246",
    severity=Severity.WARNING,
    title="uplinks that straddle the chips of a director",
    why="Routing sees the chips and not the chassis: switches with uplinks to more of them get more paths than others.",
    mend="Choose uplinks to each director of which a whole number fills a leaf chip's front ports.",
    docs="A director is a Clos of chips: the front ports of a CS8500 belong to leaf chips, 20 to each. Its ports are"
    " given out in order, so that of switches with 8 uplinks the first two end on one chip, and the third half on the"
    " next. All get through, for the director does not block, but not by equally many paths; `ib-path-balance` then"
    " names these switches and is refuted, because paths are uneven. 1, 2, 4, 5, 10 and 20 uplinks fill such chips.",
)
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


@rule(
    code="CW248",
    severity=Severity.ERROR,
    title="director below other switches",
    why="Its idle leaf chips look like roots that nobody listed, and its ways to what lies above are not alike.",
    mend="Let the director be the highest tier, or take a model of one chip for this tier.",
    docs="Looked at on InfiniBand, where a subnet manager routes between the chips inside a director: its uplinks leave"
    " by leaf chips, which lie above the others then. `ib-up-down` and `ib-path-balance` would be refuted.",
)
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
