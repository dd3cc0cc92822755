"""CW221: do nodes reach each other when one switch or cable fails?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

from clusterwright.finding import Severity
from clusterwright.plan.service import ACTIVE
from clusterwright.plan.skeleton import FabricSkeleton, joins
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.topology.drains import device_states
from clusterwright.spec.text.document import Path

_PAIRS_AT_MOST = 100_000  # of kinds of switches: beyond, only what cuts off one of them is looked for


@dataclass(frozen=True, slots=True)
class UpwardPaths:
    """The ways up through one fabric, without switches that are drained or gone; switches by their seat.

    ``parents`` are the switches above each, ``roots`` are bits of the uppermost ones that each can climb to, and
    ``needed``
    bits of those that every way up from it leads through, itself included. ``leaves`` have nodes and are in service.
    """

    fabric: FabricSkeleton
    parents: Mapping[int, tuple[int, ...]]
    roots: Mapping[int, int]
    needed: Mapping[int, int]
    leaves: tuple[int, ...]


def ways_up(fabric: FabricSkeleton, states: Mapping[str, str]) -> UpwardPaths:
    """The ways up of ``fabric``, whose switches have these ``states`` by name."""
    live = {number for number, seat in enumerate(fabric.seats) if states[seat.name] == ACTIVE}
    above: dict[int, dict[int, None]] = {number: {} for number in live}
    for bundle in fabric.bundles:
        for lower, upper in joins(fabric, bundle):
            if lower in live and upper in live:
                above[lower][upper] = None
    roots: dict[int, int] = {}
    needed: dict[int, int] = {}
    for number in sorted(live, key=lambda at: -fabric.seats[at].tier):
        uppers = above[number]
        if fabric.fabric.tiers[fabric.seats[number].tier].up is None:
            roots[number], needed[number] = 1 << number, 1 << number
            continue
        roots[number] = reduce(lambda found, at: found | roots[at], uppers, 0)
        climbing = [at for at in uppers if roots[at]]
        common = reduce(lambda found, at: found & needed[at], climbing[1:], needed[climbing[0]]) if climbing else 0
        needed[number] = common | 1 << number
    leaves = sorted({attachment.seat for attachment in fabric.attachments} & live)
    return UpwardPaths(
        fabric, {number: tuple(uppers) for number, uppers in above.items()}, roots, needed, tuple(leaves)
    )


def parting(ways: UpwardPaths) -> tuple[int, int, int] | None:
    """Two switches with nodes that meet at the top, and a third whose failure ends that; None where there is none."""
    kinds = list({(ways.roots[leaf], ways.needed[leaf], ways.parents[leaf]): leaf for leaf in ways.leaves}.values())
    if len(kinds) ** 2 > _PAIRS_AT_MOST:
        return None
    needed: dict[int, Mapping[int, int]] = {}
    for at, one in enumerate(kinds):
        for other in kinds[at + 1 :]:
            shared = ways.roots[one] & ways.roots[other]
            if not shared or shared == ways.roots[one] == ways.roots[other]:
                continue  # they do not meet at all, or whatever parts them cuts one off
            towards = needed.setdefault(shared, _needed_for(ways, shared))
            lost = (towards[one] | towards[other]) & ~(1 << one | 1 << other)
            if lost:
                return one, other, lost.bit_length() - 1
    return None


def _needed_for(ways: UpwardPaths, tops: int) -> Mapping[int, int]:
    """For each switch, bits of those that every way up from it to one of ``tops`` leads through."""
    found: dict[int, int] = {}
    for number in sorted(ways.roots, key=lambda at: -ways.fabric.seats[at].tier):
        climbing = [at for at in ways.parents[number] if ways.roots[at] & tops]
        own = 1 << number
        if own & tops or not climbing:
            found[number] = own
        else:
            found[number] = own | reduce(lambda common, at: common & found[at], climbing, -1)
    return found


@rule(
    code="CW221",
    severity=Severity.WARNING,
    title="nodes that one failure cuts off",
    why="When that switch or cable fails, all nodes below it stop, and with them every job that has one of them.",
    mend="Give the tier above a second switch, and its lower neighbours uplinks to both.",
    docs="Every way up from a switch with nodes must not lead through one and the same other switch. The nodes"
    " of a switch"
    " that fails itself are lost with it, which is not counted here. Switches that an exception drains or takes out of"
    " service lead nowhere, so that the finding also tells that a drain leaves no second way.\n\n"
    "A small cluster may be built so on purpose: suppress the finding with the reason. `verify` then says that"
    " `ethernet-failures` or `ib-failures` is refuted, because it is.",
)
def single_failures(subject: Subject) -> Iterator[Problem]:
    """Switches with nodes all of whose ways up need one other switch, once for each tier that they stand in."""
    subject.require_plan()
    states = device_states(subject.spec, subject.skeleton)
    for fabric in subject.skeleton.fabrics:
        ways = ways_up(fabric, states)
        told: set[int] = set()
        for leaf in ways.leaves:
            tier = fabric.seats[leaf].tier
            others = ways.needed[leaf] & ~(1 << leaf)
            if not others or not ways.roots[leaf] or tier in told:
                continue
            told.add(tier)
            seat, upper = fabric.seats[leaf], fabric.seats[others.bit_length() - 1]
            count = sum(1 for at in ways.leaves if fabric.seats[at].tier == tier and ways.needed[at] & ~(1 << at))
            role = fabric.fabric.tiers[tier].role
            yield Problem(
                _cause(subject, fabric, leaf, (*fabric.fabric.tiers[upper.tier].path, "role")),
                f"When {upper.name} fails, {seat.name} and its nodes are cut off; so it is with {count:,}"
                f" {role} switches.",
                f"Let each {role} have uplinks to two {fabric.fabric.tiers[upper.tier].role} switches.",
            )
        pair = parting(ways) if not told else None
        if pair is not None:
            one, other, upper = (fabric.seats[at] for at in pair)
            tier_above = fabric.fabric.tiers[upper.tier]
            yield Problem(
                _cause(subject, fabric, None, (*tier_above.path, "role")),
                f"When {upper.name} fails, the nodes of {one.name} no longer reach those of {other.name}.",
                f"Let both have a way up past {upper.name}: more uplinks below {tier_above.role}, or other counts.",
            )


def _cause(subject: Subject, fabric: FabricSkeleton, leaf: int | None, designed: Path) -> Path:
    """Where it comes from: ``designed`` in the fabric, or an exception without which there would be a second way."""
    stopped = [item for item in subject.spec.exceptions if item.state is not None and item.port is None]
    if not stopped:
        return designed
    whole = ways_up(fabric, dict.fromkeys((seat.name for seat in fabric.seats), ACTIVE))
    is_designed = whole.needed[leaf] & ~(1 << leaf) if leaf is not None else parting(whole)
    return designed if is_designed else (*stopped[0].path, "state")
