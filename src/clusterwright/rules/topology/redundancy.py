"""CW219, CW221, CW224: do nodes reach each other when one switch fails, and as well as promised while none does?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

from clusterwright.finding import Severity
from clusterwright.plan.figures import promised_shares
from clusterwright.plan.service import ACTIVE
from clusterwright.plan.skeleton import FabricSkeleton, joins
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.topology.drains import device_states
from clusterwright.spec.text.document import Path

_ROUNDING = 1e-9
_PAIRS_AT_MOST = 100_000  # of kinds of switches: beyond, only what cuts off one of them is looked for


@dataclass(frozen=True, slots=True)
class Ways:
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


def ways_up(fabric: FabricSkeleton, states: Mapping[str, str]) -> Ways:
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
    return Ways(fabric, {number: tuple(uppers) for number, uppers in above.items()}, roots, needed, tuple(leaves))


def parting(ways: Ways) -> tuple[int, int, int] | None:
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


def _needed_for(ways: Ways, tops: int) -> Mapping[int, int]:
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


@rule(
    code="CW224",
    severity=Severity.ERROR,
    title="units with less bandwidth than is promised",
    why="A collective goes at the pace of its narrowest unit, which the ratio of the whole tier does not show.",
    mend="Fill the units alike, give all of them the bandwidth of their NICs, or promise what the narrowest has.",
    docs="On InfiniBand each unit should reach all others with the bandwidth that the spec promises: of the ratios in"
    " `expect` (`oversubscription.FABRIC.TIER`, with their tolerances) the widest is what every unit must have. These"
    " figures are of a whole tier. Where its leaves, or the groups of a tier above them, have different numbers of"
    " adapters, as with a last unit that is not full or groups of several models, the fullest has less than the figure"
    " says. A `tolerance` that covers it promises that much less. `ib-bisection` proves the same from the cables, and"
    " names the narrow cuts. Without any promise all units must have the same share.",
)
def unequal_units(subject: Subject) -> Iterator[Problem]:
    """InfiniBand fabrics with a unit at some tier whose uplinks carry less of its adapters than is promised."""
    shares = promised_shares(subject.spec)
    for fabric in subject.skeleton.fabrics:
        if fabric.fabric.technology != "infiniband":
            continue
        adapters = _adapters(subject, fabric)
        most_to_one = 1 / shares[fabric.fabric.name] if fabric.fabric.name in shares else None
        for depth, tier in enumerate(fabric.fabric.tiers):
            units = _units(fabric, adapters, depth, apart=depth == 0) if tier.up is not None else []
            if tier.up is None or not units:
                continue
            least, most = min(units, key=_ratio), max(units, key=_ratio)
            has = f"{most.name} has {most.uplinks:,} uplinks for {most.adapters:,} adapters"
            if most_to_one is not None and _ratio(most) > most_to_one + _ROUNDING:
                message = f"{has}, {_ratio(most):.4g} to 1, and the spec promises {most_to_one:.4g} to 1."
            elif most_to_one is None and _ratio(most) > 1 and _ratio(most) != _ratio(least):
                message = f"{has}, {least.name} {least.uplinks:,} for {least.adapters:,}."
            else:
                continue
            hint = f"Fill the units alike, or give each {tier.role} more uplinks"
            hint += ", or promise no more than the narrowest has." if most_to_one is not None else "."
            yield Problem((*tier.up.path, "links"), message, hint)


@rule(
    code="CW219",
    severity=Severity.ERROR,
    title="promise that an uneven spread breaks",
    why="Where two units have more links to some switches above and fewer to others, not all of them meet a partner.",
    mend="Make the uplinks of each unit a multiple of the switches above it, or promise a tolerance.",
    docs="On InfiniBand a unit whose uplinks do not divide evenly over the switches above has one link more to some of"
    " them, the next unit to others: between the two, as many as lie differently carry nothing. With 64 links over"
    " three spines that is one of them, over 48 it is 16. Judged is what the spec promises in `expect`"
    " (`oversubscription.FABRIC.TIER`, with its `tolerance`), as `ib-bisection` does from the cables.",
)
def uneven_promise(subject: Subject) -> Iterator[Problem]:
    """InfiniBand tiers with a unit whose links in common with others carry less of its adapters than is promised."""
    shares = promised_shares(subject.spec)
    for fabric in subject.skeleton.fabrics:
        share = shares.get(fabric.fabric.name)
        if fabric.fabric.technology != "infiniband" or share is None:
            continue
        adapters = _adapters(subject, fabric)
        for depth, tier in enumerate(fabric.fabric.tiers):
            lost = _without_partner(fabric, depth)
            for unit in _units(fabric, adapters, depth, apart=False) if lost else ():
                spare = unit.uplinks - unit.adapters * share
                if tier.up is not None and lost.get(unit.group, 0) > spare + _ROUNDING and spare > -_ROUNDING:
                    yield Problem(
                        (*tier.up.path, "links"),
                        f"{unit.uplinks:,} uplinks of {unit.name} do not spread evenly: {lost[unit.group]:,} of them"
                        f" have no partner in other units, and {unit.adapters:,} adapters are promised {share:.2%}"
                        " of their bandwidth.",
                        "Make them a multiple of the switches above, or add a `tolerance` to the promise.",
                    )
                    break


def _without_partner(fabric: FabricSkeleton, depth: int) -> Mapping[int, int]:
    """By group, how many uplinks of a tier lead to switches above that another group has fewer links to."""
    tier = fabric.fabric.tiers[depth]
    lost = Counter[int]()
    for bundle in fabric.bundles:
        if tier.up is None or fabric.seats[bundle.lowers[0]].tier != depth:
            continue
        members = Counter(fabric.seats[number].group for number in bundle.lowers)
        for group, count in members.items() if len(members) > 1 else ():
            over = count * tier.up.links % len(bundle.uppers)
            lost[group] += min(over, len(bundle.uppers) - over)
    return +lost


def _adapters(subject: Subject, fabric: FabricSkeleton) -> Mapping[int, int]:
    """How many adapters each switch has, but for hosts that take free ports, such as the fabric's managers."""
    filling = {attach.nodes for attach in fabric.fabric.attach if attach.to is not None}
    groups = [subject.spec.node_groups[node.node_group].name for node in subject.skeleton.layout.nodes]
    return Counter(item.seat for item in fabric.attachments if item.node >= 0 and groups[item.node] not in filling)


@dataclass(frozen=True, slots=True)
class _Unit:
    """A switch with adapters, or all of one tier that stand in one ``group``: their uplinks, and who needs them."""

    name: str
    group: int
    uplinks: int
    adapters: int


def _ratio(unit: _Unit) -> float:
    return unit.adapters / unit.uplinks


def _units(fabric: FabricSkeleton, adapters: Mapping[int, int], depth: int, *, apart: bool) -> list[_Unit]:
    """What climbs through a tier with adapters below it: its switches of each group, or one by one (``apart``)."""
    tier = fabric.fabric.tiers[depth]
    if tier.up is None:
        return []
    if apart:
        own = [at for at in sorted(adapters) if fabric.seats[at].tier == depth]
        return [_Unit(fabric.seats[at].name, fabric.seats[at].group, tier.up.links, adapters[at]) for at in own]
    groups: dict[int, list[int]] = {}
    for number, seat in enumerate(fabric.seats):
        if seat.tier == depth:
            groups.setdefault(seat.group, []).append(number)
    above: dict[int, set[int]] = {
        number: {seat.group} for number, seat in enumerate(fabric.seats) if seat.tier == depth
    }
    for bundle in sorted(fabric.bundles, key=lambda each: -each.tier):
        if bundle.tier <= depth:
            for lower, upper in joins(fabric, bundle):
                above.setdefault(lower, set()).update(above.get(upper, ()))
    below = Counter[int]()
    for seat_number, count in adapters.items():
        for group in above.get(seat_number, ()):
            below[group] += count
    return [
        _Unit(
            fabric.seats[members[0]].name + (" with those beside it" if len(members) > 1 else ""),
            group,
            tier.up.links * len(members),
            below[group],
        )
        for group, members in groups.items()
        if below[group]
    ]
