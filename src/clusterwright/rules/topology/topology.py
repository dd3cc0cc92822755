"""CW2xx: does the fabric that the spec describes hang together? Uplinks, planes, order, attached nodes, evenness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from clusterwright.and_more import and_more
from clusterwright.finding import Severity
from clusterwright.plan.skeleton import FabricSkeleton, gpu_ports
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.model import CLUSTER
from clusterwright.spec.text.document import Path


@rule("CW202", Severity.ERROR, leaves_no_plan=True)
def loose_uplinks(subject: Subject) -> Iterator[Problem]:
    """Tiers with uplinks but nothing above, and tiers below another that have none."""
    for skeleton in subject.skeleton.fabrics:
        loose = Counter(skeleton.seats[number].tier for number in skeleton.loose)
        for depth, tier in enumerate(skeleton.fabric.tiers):
            above = skeleton.fabric.tiers[depth + 1 :]
            if loose[depth] and tier.up:
                yield Problem(
                    tier.up.path,
                    f"{loose[depth]} {tier.role} switches have {tier.up.links} uplinks each, and "
                    + (
                        f"no {' or '.join(upper.role for upper in above)} lies around them: it stands in each "
                        f"{' or '.join(dict.fromkeys(upper.per for upper in above))}."
                        if above
                        else "no tier above them."
                    ),
                    f"Add a tier that stands around each {tier.per}, such as `per: cluster`, or remove `up`.",
                )
            elif above and tier.up is None:
                yield Problem(
                    tier.path,
                    f"Tier {tier.role} has no `up`, though {above[0].role} lies above it.",
                    f"Add `up: {{links: ..., speed_gbps: ...}}`: what each {tier.role} sends to {above[0].role}.",
                )


@rule("CW206", Severity.ERROR, leaves_no_plan=True)
def unattached_nodes(subject: Subject) -> Iterator[Problem]:
    """Node groups and management ports that find no switch around them."""
    for skeleton in subject.skeleton.fabrics:
        fabric = skeleton.fabric
        places = " or ".join(dict.fromkeys(tier.per for tier in fabric.tiers))
        named = [attach for attach in fabric.attach if attach.nodes in skeleton.unattached]
        for attach in named:
            yield Problem(
                (*attach.path, "nodes"),
                f"No switch of {fabric.name} lies around {attach.nodes}: its tiers stand in each {places}.",
                f"Give these nodes the level {places}, or the fabric a tier with `per: cluster`.",
            )
        served = {attach.nodes for attach in named}
        others = [name for name in skeleton.unattached if name not in served]
        if others:
            yield Problem(
                fabric.attach[0].path,
                f"No switch of {fabric.name} lies around {and_more(others, 5)}: its tiers stand in each {places}.",
                f"Give what stands there the level {places}, or the fabric a tier with `per: cluster`.",
            )


@rule("CW218", Severity.ERROR)
def crowded_tiers(subject: Subject) -> Iterator[Problem]:
    """Node groups with `to:` for whose NICs the tier has too few free ports."""
    for skeleton in subject.skeleton.fabrics:
        for item in skeleton.crowded:
            attach = next(each for each in skeleton.fabric.attach if each.nodes == item.nodes)
            tier = skeleton.fabric.tier(item.tier)
            spare = f", beside {tier.down.spare} spare ones on each" if tier is not None and tier.down.spare else ""
            yield Problem(
                (*attach.path, "to"),
                f"The NICs of {item.nodes} want {item.wanted} ports of {item.speed_gbps}G on {item.tier}, and "
                f"{item.free or 'none'} of the ports of its {item.switches:,} switches {'are' if item.free else 'is'} "
                f"free{spare}.",
                f"Attach fewer nodes to {item.tier}, give it a larger model or more switches, or name another tier.",
            )


@rule("CW207", Severity.ERROR)
def dark_switches(subject: Subject) -> Iterator[Problem]:
    """Upper switches that nothing below is joined to."""
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
    """Tiers that stand in a smaller level than the tier below them."""
    spec = subject.spec
    for fabric in spec.fabrics:
        names = {attach.nodes for attach in fabric.attach}
        told: set[Path] = set()
        for group in spec.node_groups:
            if group.name not in names and None not in names:
                continue
            order = [level.name for level in group.levels] + [CLUSTER]
            depths = [(order.index(tier.per), tier) for tier in fabric.tiers if tier.per in order]
            for (lower, below), (upper, tier) in pairwise(depths):
                if upper < lower and tier.path not in told:
                    told.add(tier.path)
                    yield Problem(
                        (*tier.path, "per"),
                        f"Tier {tier.role} stands in each {tier.per}, "
                        f"above {below.role}, which stands in each {below.per}.",
                        f"The levels of {group.name} are, from the smallest: {', '.join(order)}.",
                    )


@rule("CW210", Severity.ERROR, relied_on=True)
def planes_without_source(subject: Subject) -> Iterator[Problem]:
    """`join: rail` above a tier without rails, `join: port` without ports of GPUs, `join: position` at the
    bottom, rails on a management network.
    """
    for fabric in subject.spec.fabrics:
        railed = True
        of_gpu = Counter(gpu_ports(subject.spec, fabric))
        for depth, tier in enumerate(fabric.tiers):
            below = fabric.tiers[depth - 1].join if depth else ""
            if tier.join == "port":
                why = ""
                if len(of_gpu) == 1:
                    why = f"Each GPU has one port on {fabric.name}"
                elif len(set(of_gpu.values())) > 1:
                    why = f"Some GPUs have more ports on {fabric.name} than others"
                elif depth and below not in ("rail", "port"):
                    why = f"{tier.role} has no planes below"
                if why:
                    hint = (
                        "Use `join: all`, or nodes each of whose GPUs has several NICs, and planes in each tier below."
                    )
                    yield Problem((*tier.path, "join"), f"{why}: its ports tell no planes apart.", hint)
            if tier.join == "rail" and (not railed or fabric.attach[0].is_management):
                yield Problem(
                    (*tier.path, "join"),
                    f"Nothing below {tier.role} has rails.",
                    "Use `join: all`, or `join: rail` below it too.",
                )
            if tier.join == "position" and depth == 0:
                yield Problem(
                    (*tier.path, "join"),
                    f"There is no tier below {tier.role} to count positions in.",
                    "Use `join: all` or `rail`.",
                )
            railed = tier.join == "rail"


@rule("CW213", Severity.WARNING)
def uneven_spread(subject: Subject) -> Iterator[Problem]:
    """RDMA fabrics in which upper switches get different numbers of links."""
    for skeleton in subject.skeleton.fabrics:
        if skeleton.fabric.technology == "ethernet":
            continue
        told: set[int] = set()
        for bundle in skeleton.bundles:
            tier = skeleton.fabric.tiers[skeleton.seats[bundle.lowers[0]].tier]
            links = (tier.up.links if tier.up else 0) * len(bundle.lowers)
            if links > len(bundle.uppers) and links % len(bundle.uppers) and bundle.tier not in told and tier.up:
                told.add(bundle.tier)
                upper = skeleton.fabric.tiers[bundle.tier]
                yield Problem(
                    (*tier.up.path, "links"),
                    f"{len(bundle.lowers)} x {tier.up.links} uplinks of {tier.role} spread over {len(bundle.uppers)} "
                    f"{upper.role}: some get one link more than others.",
                    f"Make {links} a multiple of {len(bundle.uppers)}: change `links`, or the count of {upper.role}.",
                )
