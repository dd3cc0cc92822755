"""CW2xx: uplinks, planes, order of tiers, attached nodes and evenness of a fabric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from clusterwright.and_more import and_more
from clusterwright.finding import Severity
from clusterwright.plan.attaching import gpu_ports
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import unknown
from clusterwright.rules.topology.standing_levels import served_groups
from clusterwright.spec.attachment import tier_order
from clusterwright.spec.fabric import Fabric, Tier
from clusterwright.spec.model import CLUSTER, ClusterSpec
from clusterwright.spec.text.document import Path


@rule("CW202", Severity.ERROR, leaves_no_plan=True)
def loose_uplinks(subject: Subject) -> Iterator[Problem]:
    """Tiers with uplinks and nothing above them, and tiers without uplinks below another."""
    for skeleton in subject.skeleton.fabrics:
        loose = Counter(skeleton.seats[number].tier for number in skeleton.loose)
        order = tier_order(subject.spec, skeleton.fabric)
        for depth, tier in enumerate(skeleton.fabric.tiers):
            above = [skeleton.fabric.tiers[upper] for upper in order.above[depth]]
            if loose[depth] and tier.up:
                yield Problem(
                    tier.up.path,
                    f"{loose[depth]} {tier.role} switches have {tier.up.links} uplinks each, and {_missing(above)}",
                    f"Add a tier above each {tier.per}, such as `per: cluster`, or remove `up`.",
                )
            elif above and tier.up is None:
                yield Problem(
                    tier.path,
                    f"Tier {tier.role} has no `up`, though {above[0].role} is above it.",
                    f"Add `up: {{links: ..., speed_gbps: ...}}`: what each {tier.role} sends to {above[0].role}.",
                )


def _missing(above: Sequence[Tier]) -> str:
    """A clause on the tiers missing around a switch with uplinks."""
    if not above:
        return "no tier above them."
    roles = " or ".join(upper.role for upper in above)
    levels = " or ".join(dict.fromkeys(upper.per for upper in above))
    return f"no {roles} serves them: it is placed in each {levels}."


@rule("CW206", Severity.ERROR, leaves_no_plan=True)
def unattached_nodes(subject: Subject) -> Iterator[Problem]:
    """Node groups and management ports without a switch around them."""
    for skeleton in subject.skeleton.fabrics:
        fabric = skeleton.fabric
        places = " or ".join(dict.fromkeys(tier.per for tier in fabric.tiers))
        named = [attach for attach in fabric.attach if attach.nodes in skeleton.unattached]
        for attach in named:
            yield Problem(
                (*attach.path, "nodes"),
                f"No tier of {fabric.name} serves {attach.nodes}: its switches are placed in each {places}.",
                f"Give these nodes the level {places}, or the fabric a tier with `per: cluster`.",
            )
        served = {attach.nodes for attach in named}
        others = [name for name in skeleton.unattached if name not in served]
        if others:
            yield Problem(
                fabric.attach[0].path,
                f"No tier of {fabric.name} serves {and_more(others, 5)}: its switches are placed in each {places}.",
                f"Give these devices the level {places}, or the fabric a tier with `per: cluster`.",
            )


@rule("CW218", Severity.ERROR)
def crowded_tiers(subject: Subject) -> Iterator[Problem]:
    """Node groups with `to:` and too few free ports for their NICs in that tier."""
    for skeleton in subject.skeleton.fabrics:
        for item in skeleton.crowded:
            attach = next(attach for attach in skeleton.fabric.attach if attach.nodes == item.nodes)
            tier = skeleton.fabric.tier(item.tier)
            spare = f", beside {tier.down.spare} spare ones on each" if tier is not None and tier.down.spare else ""
            free = f"{item.free} of the ports of its {item.switches:,} switches are free"
            if not item.free:
                free = f"none of the ports of its {item.switches:,} switches is free"
            yield Problem(
                (*attach.path, "to"),
                f"The NICs of {item.nodes} want {item.wanted} ports of {item.speed_gbps}G on {item.tier}, and "
                f"{free}{spare}.",
                f"Attach fewer nodes to {item.tier}, give it a larger model or more switches, or name another tier.",
            )


@rule("CW207", Severity.ERROR)
def dark_switches(subject: Subject) -> Iterator[Problem]:
    """Upper switches without a link from below."""
    for skeleton in subject.skeleton.fabrics:
        seats = Counter(seat.tier for seat in skeleton.seats)
        for depth, count in sorted(_dark(skeleton).items()):
            tier = skeleton.fabric.tiers[depth]
            yield Problem(
                (*tier.path, "count"),
                f"No link from below reaches {count} of the {seats[depth]} {tier.role} switches.",
                f"Use fewer of them, or give what lies below {tier.role} more links.",
            )


def _dark(skeleton: FabricSkeleton) -> Counter[int]:
    lit = set(skeleton.attached)
    for bundle in skeleton.bundles:
        up = 0
        for lower in bundle.lowers:
            uplinks = skeleton.fabric.tiers[skeleton.seats[lower].tier].up
            up += uplinks.links if uplinks else 0
        lit.update(bundle.uppers[:up])
    return Counter(seat.tier for number, seat in enumerate(skeleton.seats) if number not in lit)


@rule("CW209", Severity.ERROR, leaves_no_plan=True)
def tiers_out_of_order(subject: Subject) -> Iterator[Problem]:
    """Tiers in a smaller level than the tier below them."""
    spec = subject.spec
    for fabric in spec.fabrics:
        reported: set[Path] = set()
        for group in served_groups(spec, fabric):
            levels = [level.name for level in group.levels] + [CLUSTER]
            for below, tier in _stacked(spec, fabric, levels):
                if levels.index(tier.per) >= levels.index(below.per) or tier.path in reported:
                    continue
                reported.add(tier.path)
                yield Problem(
                    (*tier.path, "per"),
                    f"Tier {tier.role} is placed in each {tier.per}, "
                    f"above {below.role}, which is placed in each {below.per}.",
                    f"The levels of {group.name} are, from the smallest: {', '.join(levels)}.",
                )


def _stacked(spec: ClusterSpec, fabric: Fabric, levels: Sequence[str]) -> Iterator[tuple[Tier, Tier]]:
    """The tiers around nodes with some levels, each with the next one above it around them too."""
    order = tier_order(spec, fabric)
    for depth, below in enumerate(fabric.tiers):
        if below.per not in levels:
            continue
        for upper in order.above[depth]:
            if fabric.tiers[upper].per in levels:
                yield below, fabric.tiers[upper]
                break


@rule("CW210", Severity.ERROR, relied_on=True)
def planes_without_source(subject: Subject) -> Iterator[Problem]:
    """Planes with nothing below to define them.

    `join: rail` above a tier without rails, `join: port` without ports of GPUs, `join: position` at the bottom, and
    rails on a management network.
    """
    for fabric in subject.spec.fabrics:
        order = tier_order(subject.spec, fabric)
        for depth, tier in enumerate(fabric.tiers):
            gpu_port_counts = Counter(gpu_ports(subject.spec, fabric, order, depth))
            joins_below = [fabric.tiers[lower].join for lower in order.next_below(depth)]
            path = (*tier.path, "join")
            if tier.join == "port":
                reason = _no_port_planes(fabric, tier, gpu_port_counts, joins_below)
                if reason:
                    hint = (
                        "Use `join: all`, or nodes each of whose GPUs has several NICs, and planes in each tier below."
                    )
                    yield Problem(path, f"{reason}: its ports do not distinguish planes.", hint)
            has_rails = all(join == "rail" for join in joins_below) and not fabric.attach[0].is_management
            if tier.join == "rail" and not has_rails:
                hint = "Use `join: all`, or `join: rail` below it too."
                yield Problem(path, f"Nothing below {tier.role} has rails.", hint)
            if tier.join == "position" and not joins_below:
                message = f"There is no tier below {tier.role} to count positions in."
                yield Problem(path, message, "Use `join: all` or `rail`.")


def _no_port_planes(fabric: Fabric, tier: Tier, gpu_port_counts: Counter[int], joins_below: Sequence[str]) -> str:
    """The obstacle to planes by port of a GPU; "" without one."""
    if len(gpu_port_counts) == 1:
        return f"Each GPU has one port on {fabric.name}"
    if len(set(gpu_port_counts.values())) > 1:
        return f"Some GPUs have more ports on {fabric.name} than others"
    if not all(join in ("rail", "port") for join in joins_below):
        return f"{tier.role} has no planes below"
    return ""


@rule("CW237", Severity.ERROR, relied_on=True)
def unknown_tier_above(subject: Subject) -> Iterator[Problem]:
    """`up.to` with an unknown tier, or one not further up the list."""
    for fabric in subject.spec.fabrics:
        roles = [tier.role for tier in fabric.tiers]
        for depth, tier in enumerate(fabric.tiers):
            upper_roles = tier.up.to if tier.up is not None else ()
            for index, role in enumerate(upper_roles):
                path = (*tier.path, "up", "to", index)
                if role not in roles:
                    yield unknown("tier", role, roles[depth + 1 :], path, fabric.name)
                elif roles.index(role) <= depth:
                    yield Problem(
                        path,
                        f"Uplinks of {tier.role} cannot lead to {role}: tiers are listed from the bottom up.",
                        f"Move {role} behind {tier.role} in `tiers`, or name one of: {', '.join(roles[depth + 1 :])}.",
                    )


@rule("CW238", Severity.ERROR, relied_on=True)
def unequal_planes_below(subject: Subject) -> Iterator[Problem]:
    """Tiers in planes above adjacent tiers with different numbers of planes."""
    for fabric in subject.spec.fabrics:
        order = tier_order(subject.spec, fabric)
        for depth, tier in enumerate(fabric.tiers):
            planes_by_role: dict[str, int] = {}
            for lower in order.next_below(depth):
                ports = gpu_ports(subject.spec, fabric, order, lower)
                below = fabric.tiers[lower]
                count = {"rail": len(ports), "port": max(ports) + 1, "position": below.count}.get(tier.join, 1)
                planes_by_role[below.role] = count
            if len(set(planes_by_role.values())) > 1:
                shown = ", ".join(f"{count} of {role}" for role, count in planes_by_role.items())
                yield Problem(
                    (*tier.path, "join"),
                    f"The tiers below {tier.role} have different numbers of planes: {shown}.",
                    "Use `join: all`, or put them below tiers of their own.",
                )


@rule("CW213", Severity.WARNING)
def uneven_spread(subject: Subject) -> Iterator[Problem]:
    """RDMA fabrics with different numbers of links at upper switches."""
    for skeleton in subject.skeleton.fabrics:
        if skeleton.fabric.technology == "ethernet":
            continue
        reported: set[int] = set()
        for bundle in skeleton.bundles:
            counts = Counter(skeleton.seats[lower].tier for lower in bundle.lowers)
            below = [(skeleton.fabric.tiers[depth], count) for depth, count in counts.items()]
            links = sum(tier.up.links * count for tier, count in below if tier.up)
            lowest = below[0][0]
            if links > len(bundle.uppers) and links % len(bundle.uppers) and bundle.tier not in reported and lowest.up:
                reported.add(bundle.tier)
                upper = skeleton.fabric.tiers[bundle.tier]
                uplinks = and_more(
                    [f"{count} x {tier.up.links} uplinks of {tier.role}" for tier, count in below if tier.up], 5
                )
                yield Problem(
                    (*lowest.up.path, "links"),
                    f"{uplinks} spread over {len(bundle.uppers)} {upper.role}: some get one link more than others.",
                    f"Make {links} a multiple of {len(bundle.uppers)}: change `links`, or the count of {upper.role}.",
                )
