"""CW221, CW250 to CW252: paths between nodes after the failure of one switch or cable, and accepted failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

from clusterwright.finding import Severity
from clusterwright.plan.service import ACTIVE, groups_around, state_of, stated
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.model import SpecException
from clusterwright.spec.text.document import Path

_PAIRS_AT_MOST = 100_000  # of kinds of switches: with more, only failures cutting off one of them are searched


@dataclass(frozen=True, slots=True)
class UpwardPaths:
    """The uplink paths of one fabric, without switches drained or gone; switches by their seat.

    ``parents`` are the switches above each. ``roots`` are the bits of the uppermost switches reachable from each, and
    ``needed`` the bits of those on every path up from it, itself included. ``leaves`` have nodes and are in service.
    """

    fabric: FabricSkeleton
    parents: Mapping[int, tuple[int, ...]]
    roots: Mapping[int, int]
    needed: Mapping[int, int]
    leaves: tuple[int, ...]


def ways_up(fabric: FabricSkeleton, states: Mapping[str, str]) -> UpwardPaths:
    """The uplink paths of ``fabric``, with the ``states`` of its switches by name."""
    live = {number for number, seat in enumerate(fabric.seats) if states[seat.name] == ACTIVE}
    above: dict[int, tuple[int, ...]] = dict.fromkeys(live, ())
    for lower, uppers in fabric.uppers_of.items():
        if lower in live:
            above[lower] = tuple(dict.fromkeys(upper for upper in uppers if upper in live))
    roots: dict[int, int] = {}
    needed: dict[int, int] = {}
    roots_by_parents: dict[frozenset[int], tuple[int, int]] = {}  # of switches below the same ones
    for number in sorted(live, key=lambda number: -fabric.seats[number].tier):
        uppers = above[number]
        if fabric.fabric.tiers[fabric.seats[number].tier].up is None:
            roots[number], needed[number] = 1 << number, 1 << number
            continue
        if (together := frozenset(uppers)) not in roots_by_parents:
            climbing = [upper for upper in uppers if roots[upper]]
            common = reduce(lambda shared, upper: shared & needed[upper], climbing, -1) if climbing else 0
            roots_by_parents[together] = reduce(lambda union, upper: union | roots[upper], climbing, 0), common
        roots[number], common = roots_by_parents[together]
        needed[number] = common | 1 << number
    leaves = sorted(fabric.attached.keys() & live)
    return UpwardPaths(fabric=fabric, parents=above, roots=roots, needed=needed, leaves=tuple(leaves))


def parting(ways: UpwardPaths) -> tuple[int, int, int] | None:
    """Two switches with nodes joined at the top, and a third separating them by its failure; None without one."""
    leaf_by_kind = {(ways.roots[leaf], ways.needed[leaf], ways.parents[leaf]): leaf for leaf in ways.leaves}
    leaves = list(leaf_by_kind.values())
    if len(leaves) ** 2 > _PAIRS_AT_MOST:
        return None
    needed_by_roots: dict[int, Mapping[int, int]] = {}
    for first, second in combinations(leaves, 2):
        shared = ways.roots[first] & ways.roots[second]
        if not shared or shared == ways.roots[first] == ways.roots[second]:
            continue  # without a common root, or separated only by a failure that cuts one of them off
        if shared not in needed_by_roots:
            needed_by_roots[shared] = _needed_for(ways, shared)
        needed = needed_by_roots[shared]
        lost = (needed[first] | needed[second]) & ~(1 << first | 1 << second)
        if lost:
            return first, second, lost.bit_length() - 1
    return None


def _needed_for(ways: UpwardPaths, tops: int) -> Mapping[int, int]:
    """For each switch, the bits of the switches on every path up from it to one of ``tops``."""
    needed: dict[int, int] = {}
    for number in sorted(ways.roots, key=lambda number: -ways.fabric.seats[number].tier):
        climbing = [upper for upper in ways.parents[number] if ways.roots[upper] & tops]
        bit = 1 << number
        if bit & tops or not climbing:
            needed[number] = bit
        else:
            needed[number] = bit | reduce(lambda common, upper: common & needed[upper], climbing, -1)
    return needed


@rule("CW221", Severity.ERROR)
def single_failures(subject: Subject) -> Iterator[Problem]:
    """Fabrics with nodes cut off by a single failure, with everything in service and without accepting it."""
    for fabric in _planned_fabrics(subject):
        if fabric.fabric.accepts_single_failures is None:
            for path, message, hint in _cuts(_whole(fabric)):
                alternative = f"Or state the reason under `accepts_single_failures` of {fabric.fabric.name}."
                yield Problem(path, message, f"{hint} {alternative}")


@rule("CW250", Severity.WARNING)
def single_failures_left(subject: Subject) -> Iterator[Problem]:
    """Fabrics with nodes cut off by a single failure only under exceptions, without accepting it."""
    if not stated(subject.spec):
        return
    for fabric in _planned_fabrics(subject):
        if fabric.fabric.accepts_single_failures is not None or any(_cuts(_whole(fabric))):
            continue
        cuts = list(_cuts(ways_up(fabric, subject.states)))
        causes = _causes(subject, fabric) if cuts else {}
        for tier, message, _ in cuts:
            hint = (
                "Keep a second path in service, or drain the nodes behind it too: `up` refuses the change"
                " without `--accept-refuted`."
            )
            yield Problem((*causes[tier].path, "state"), message, hint)


def _causes(subject: Subject, fabric: FabricSkeleton) -> Mapping[Path, SpecException]:
    """By the place of a single failure: the first exception that leaves it, together with those before."""
    seats = list(enumerate(fabric.seats))
    groups = {seat.name: groups_around(subject.skeleton, fabric, number) for number, seat in seats}
    state_by_name: dict[str, str] = {}
    switch_states = dict.fromkeys(groups, ACTIVE)
    causes: dict[Path, SpecException] = {}
    for item in subject.spec.exceptions:
        if item.state is None or item.port is not None:
            continue
        state_by_name[item.device or item.group or ""] = item.state
        states = {name: state_of(state_by_name, name, around) for name, around in groups.items()}
        if states == switch_states:
            continue  # an exception of nodes, or of another fabric
        switch_states = states
        for tier, _, _ in _cuts(ways_up(fabric, states)):
            causes.setdefault(tier, item)
    return causes


@rule("CW251", Severity.NOTE)
def accepted_failures(subject: Subject) -> Iterator[Problem]:
    """Single failures in fabrics accepting them, with the reason."""
    for fabric in _planned_fabrics(subject):
        reason = fabric.fabric.accepts_single_failures
        if reason is not None:
            for _, message, hint in _cuts(ways_up(fabric, subject.states)):
                yield Problem((*fabric.fabric.path, "accepts_single_failures"), f"{message} Accepted: {reason}", hint)


@rule("CW252", Severity.WARNING)
def idle_acceptance(subject: Subject) -> Iterator[Problem]:
    """Fabrics accepting single failures without one cutting off nodes."""
    for fabric in _planned_fabrics(subject):
        reason = fabric.fabric.accepts_single_failures
        if reason is None or any(_cuts(_whole(fabric))) or any(_cuts(ways_up(fabric, subject.states))):
            continue
        name = fabric.fabric.name
        message = f"No single failure cuts off nodes of {name}, and one is accepted"
        if not fabric.bundles:
            message = f"Nodes of {name} meet in one switch, which fails with all of them: that needs no acceptance"
        path = (*fabric.fabric.path, "accepts_single_failures")
        yield Problem(path, f"{message}: {reason}", "Remove it.")


def _planned_fabrics(subject: Subject) -> tuple[FabricSkeleton, ...]:
    subject.require_plan()
    return subject.skeleton.fabrics


def _whole(fabric: FabricSkeleton) -> UpwardPaths:
    """The uplink paths with everything in service."""
    return ways_up(fabric, dict.fromkeys((seat.name for seat in fabric.seats), ACTIVE))


def _cuts(ways: UpwardPaths) -> Iterator[tuple[Path, str, str]]:
    """Failures cutting off nodes, one for each tier of these, or else one separating two of them: place, message and
    hint.
    """
    fabric = ways.fabric
    reported: set[int] = set()
    for leaf in ways.leaves:
        tier = fabric.seats[leaf].tier
        others = ways.needed[leaf] & ~(1 << leaf)
        if not others or not ways.roots[leaf] or tier in reported:
            continue
        reported.add(tier)
        seat, upper = fabric.seats[leaf], fabric.seats[others.bit_length() - 1]
        count = sum(1 for leaf in ways.leaves if fabric.seats[leaf].tier == tier and ways.needed[leaf] & ~(1 << leaf))
        role, above = fabric.fabric.tiers[tier].role, fabric.fabric.tiers[upper.tier]
        yield (
            (*above.path, "role"),
            f"When {upper.name} fails, {seat.name} and its nodes are cut off; this affects {count:,} {role} switches.",
            f"Let each {role} have uplinks to two {above.role} switches.",
        )
    pair = parting(ways) if not reported else None
    if pair is not None:
        one, other, upper = (fabric.seats[seat] for seat in pair)
        above = fabric.fabric.tiers[upper.tier]
        yield (
            (*above.path, "role"),
            f"When {upper.name} fails, the nodes of {one.name} no longer reach those of {other.name}.",
            f"Give both an uplink past {upper.name}: more uplinks below {above.role}, or other counts.",
        )
