"""CW2xx: does the fabric that the spec describes hang together? Uplinks, planes, order, attached nodes, evenness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from clusterwright.and_more import and_more
from clusterwright.finding import Severity
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.model import CLUSTER
from clusterwright.spec.text.document import Path


@rule(
    code="CW202",
    severity=Severity.ERROR,
    title="uplinks that lead nowhere",
    why="A switch whose uplinks meet no tier above it cuts its nodes off from the rest.",
    mend="Add a tier whose level lies around these switches, or take `up` away.",
    leaves_no_plan=True,
)
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
                    f"Add a tier that stands around each {tier.per}, such as `per: cluster`, or take `up` away.",
                )
            elif above and tier.up is None:
                yield Problem(
                    tier.path,
                    f"Tier {tier.role} has no `up`, though {above[0].role} lies above it.",
                    f"Add `up: {{links: ..., speed_gbps: ...}}`: what each {tier.role} sends to {above[0].role}.",
                )


@rule(
    code="CW206",
    severity=Severity.ERROR,
    title="nodes without a switch",
    why="NICs that no switch lies around stay dark.",
    mend="Give the nodes the level that the fabric's switches stand in, or add a tier for the cluster.",
    docs="A NIC is cabled to the lowest tier that stands around its node, a management port to the lowest tier"
    " around its device. Services and storage often stand in racks of their own, outside the pods; they need a"
    " tier of theirs, or one for the cluster.",
    leaves_no_plan=True,
)
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


@rule(
    code="CW218",
    severity=Severity.ERROR,
    title="no free port on the tier",
    why="A NIC that is sent to a tier whose ports are all taken stays dark.",
    mend="Attach fewer nodes to the tier, take a larger model or more switches, or lower what the tier keeps spare.",
    docs="`attach: {to: leaf}` puts NICs into the ports that are left on a tier once the others have theirs: the nodes"
    " that its switches stand around, the uplinks, and what `down: {spare: ...}` keeps free. NVIDIA's reference designs"
    " leave a node out for it: 127 in four scalable units, so that each of the eight leaves of a unit has a port for a"
    " manager. A port counts as free only at the speed of the NIC.",
)
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


@rule(
    code="CW207",
    severity=Severity.ERROR,
    title="dark switches",
    why="A switch that no link from below reaches carries nothing and hides a mistake in the counts.",
    mend="Use fewer upper switches, or more uplinks.",
    docs="A group of lower switches spreads its links over the upper ones in turn, so with fewer links than upper"
    " switches the last ones stay dark. At the lowest tier the links are NICs: a group of eight switches for"
    " nodes with four NICs leaves four without any.",
)
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
    lit = {attachment.seat for attachment in skeleton.attachments}
    for bundle in skeleton.bundles:
        up = 0
        for lower in bundle.lowers:
            uplinks = skeleton.fabric.tiers[skeleton.seats[lower].tier].up
            up += uplinks.links if uplinks else 0
        lit.update(bundle.uppers[:up])
    return Counter(seat.tier for number, seat in enumerate(skeleton.seats) if number not in lit)


@rule(
    code="CW209",
    severity=Severity.ERROR,
    title="tiers out of order",
    why="Tiers are read from the nodes upwards: a tier above another one stands in the same level or a larger one.",
    mend="List the tiers from the smallest level to the largest.",
    leaves_no_plan=True,
)
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


@rule(
    code="CW210",
    severity=Severity.ERROR,
    title="planes that nothing below has",
    why="A tier joined by rail needs rails below it, one joined by position needs a tier below it.",
    mend="Use `join: all`, or give the tier below the same planes.",
    docs="With `join: rail` each rail has switches of its own: NIC n of every node goes to plane n, and the planes"
    " meet only in a tier above that joins all of them. With `join: position` the switches that have the same"
    " place in their groups are joined: switch n of each pod goes to plane n of the tier above, as in a fabric"
    " of four parallel planes.",
    relied_on=True,
)
def planes_without_source(subject: Subject) -> Iterator[Problem]:
    """`join: rail` above a tier without rails, `join: position` at the bottom, rails on a management network."""
    for fabric in subject.spec.fabrics:
        railed = True
        for depth, tier in enumerate(fabric.tiers):
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


@rule(
    code="CW213",
    severity=Severity.WARNING,
    title="uneven spread",
    why="Where uplinks do not divide evenly over the switches above, some links of a job are busier than others.",
    mend="Make the uplinks of a group a multiple of the switches above it.",
    docs="Link j of the i-th lower switch goes to upper switch (i * links + j) modulo their number, so totals"
    " differ by one at most. ECMP sends equal shares over all next hops, and collective operations run at the"
    " pace of the slowest link. On InfiniBand `ib-path-balance` may be refuted by it.",
)
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
