"""CW2xx: does the fabric that the spec describes exist? Ports, speeds, uplinks, planes, published figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import pairwise

from clusterwright.finding import Severity
from clusterwright.plan.cabling import allocate_fabric
from clusterwright.plan.layout import group_counts
from clusterwright.plan.ports import PortShortage, capacity
from clusterwright.plan.skeleton import FabricSkeleton, rails_of
from clusterwright.rules.rule import Problem, Stage, Subject, rule
from clusterwright.spec.model import CLUSTER, ClusterSpec, Fabric, Tier

MAX_SWITCHES = 100_000
MAX_LINKS = 2_000_000


def _instances(spec: ClusterSpec, fabric: Fabric, tier: Tier) -> int:
    if tier.per == CLUSTER:
        return 1
    names = {attach.nodes for attach in fabric.attach}
    served = [group for group in spec.node_groups if group.name in names or None in names]
    return sum(group_counts(group).get(tier.per, 0) for group in served)


@rule(
    code="CW200",
    severity=Severity.ERROR,
    title="cluster larger than anybody builds",
    why="A slip in a count asks for millions of switches or links; the plan is refused before it fills the memory.",
    mend="Check the counts of nodes, switches and links.",
)
def too_large(subject: Subject) -> Iterator[Problem]:
    """Switches and links counted by multiplication, before anything is expanded."""
    spec = subject.spec
    total = sum(group.count for group in spec.node_groups)
    if total > MAX_SWITCHES:
        path = (*spec.node_groups[0].path, "count")
        yield Problem(path, f"{total:,} nodes are more than {MAX_SWITCHES:,}.", "Check the counts of the node groups.")
    for fabric in spec.fabrics:
        planes = 1
        for depth, tier in enumerate(fabric.tiers):
            if tier.join == "rail":
                planes = max(planes, rails_of(spec, fabric))
            elif tier.join == "position":
                planes = fabric.tiers[depth - 1].count
            else:
                planes = 1
            switches = _instances(spec, fabric, tier) * planes * tier.count
            links = switches * (tier.up.links if tier.up else 0)
            if switches > MAX_SWITCHES:
                message = f"{switches:,} switches in tier {tier.role} are more than {MAX_SWITCHES:,}."
                yield Problem((*tier.path, "count"), message, "Check the count and the level.")
            elif links > MAX_LINKS and tier.up:
                message = f"{links:,} uplinks of tier {tier.role} are more than {MAX_LINKS:,}."
                yield Problem((*tier.up.path, "links"), message, "Check the number of uplinks.")


@rule(
    code="CW201",
    severity=Severity.ERROR,
    title="too few ports",
    why="The links that the spec asks for do not fit on the switch that it names.",
    mend="Take a larger model, more switches in the tier, or fewer links.",
    stage=Stage.SKELETON,
)
def too_few_ports(subject: Subject) -> Iterator[Problem]:
    """Tiers whose switches lack ports, at the speed and in the blocks they are meant to use."""
    for skeleton in subject.skeleton.fabrics:
        try:
            allocate_fabric(subject.spec, skeleton)
        except PortShortage as error:
            tier = skeleton.fabric.tiers[error.tier]
            path = tier.up.path if error.side == "up" and tier.up else tier.path
            yield Problem(
                path,
                f"{error.switch} needs {error.need} ports at {error.speed_gbps}G {error.side}, "
                f"{tier.model.name} has {error.have} left for them.",
                "Take a larger model, more switches in the tier, or fewer links.",
            )


@rule(
    code="CW202",
    severity=Severity.ERROR,
    title="uplinks that lead nowhere",
    why="A switch whose uplinks meet no tier above it cuts its nodes off from the rest.",
    mend="Add a tier whose level lies around these switches, or take `up` away.",
    stage=Stage.SKELETON,
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
                    f"{loose[depth]} {tier.role} have uplinks, and no tier above them.",
                    "Add a tier around them, or take `up` away.",
                )
            elif above and tier.up is None:
                yield Problem(
                    tier.path,
                    f"Tier {tier.role} has no `up`, though {above[0].role} lies above it.",
                    f"Say how many links each {tier.role} sends up.",
                )


@rule(
    code="CW203",
    severity=Severity.ERROR,
    title="published figure not met",
    why="The spec claims to describe a cluster of which something else is known.",
    mend="Correct the spec, or the expectation and its source.",
    stage=Stage.SKELETON,
)
def expectation_missed(subject: Subject) -> Iterator[Problem]:
    """Expectations against the figures that the skeleton gives."""
    for item in subject.spec.expectations:
        planned = subject.figures.get(item.figure)
        if planned is None:
            continue
        if abs(planned - item.value) > item.tolerance * abs(item.value) + 1e-9:
            within = f" within {item.tolerance:.1%}" if item.tolerance else ""
            yield Problem(
                (*item.path, "value"),
                f"{item.figure} is planned as {planned:g}, expected {item.value:g}{within}.",
                f"The figure comes from: {item.source or item.assumed}",
            )


@rule(
    code="CW204",
    severity=Severity.ERROR,
    title="oversubscription that nobody declared",
    why="A training fabric that narrows above a tier slows every job that crosses it; that must be a decision.",
    mend="Add uplinks, or declare the ratio under `expect:` as `oversubscription.FABRIC.ROLE`.",
    stage=Stage.SKELETON,
)
def undeclared_oversubscription(subject: Subject) -> Iterator[Problem]:
    """RDMA fabrics with less bandwidth above a tier than NICs below it, without an expectation that says so."""
    declared = {item.figure for item in subject.spec.expectations}
    for fabric in subject.spec.fabrics:
        if fabric.technology == "ethernet":
            continue
        for tier in fabric.tiers:
            name = f"oversubscription.{fabric.name}.{tier.role}"
            ratio = subject.figures.get(name, 0)
            if tier.up and ratio > 1 + 1e-9 and name not in declared:
                yield Problem(
                    (*tier.up.path, "links"),
                    f"Above {tier.role} there is {ratio:.2f} times less bandwidth than its NICs have.",
                    f"Add uplinks, or expect {name} with its reason.",
                )


@rule(
    code="CW205",
    severity=Severity.ERROR,
    title="speed that the other end does not have",
    why="A link comes up only at a speed and in a mode that both ends offer.",
    mend="Choose a speed that the switch model lists, or another model.",
)
def speed_mismatch(subject: Subject) -> Iterator[Problem]:
    """NIC and uplink speeds that the tier's model offers on none of the ports it may use."""
    spec = subject.spec
    for fabric in spec.fabrics:
        for attach in fabric.attach:
            group = spec.node_group(attach.nodes or "")
            nics = group.model.nic_group(attach.nics or "") if group else None
            tier = fabric.tiers[0]
            if nics and not capacity(tier.model, tier.down.blocks, nics.speed_gbps, tier.down.mode):
                yield Problem(
                    attach.path,
                    f"{nics.name} NICs of {attach.nodes} run at {nics.speed_gbps}G, which the ports of {tier.role} "
                    f"({tier.model.name}) do not offer.",
                    f"{tier.model.name} offers {_speeds(tier)}.",
                )
        for depth, tier in enumerate(fabric.tiers):
            if tier.up is None:
                continue
            ends = [(tier, tier.up.side.blocks, tier.up.side.mode)]
            if depth + 1 < len(fabric.tiers):
                upper = fabric.tiers[depth + 1]
                ends.append((upper, upper.down.blocks, upper.down.mode))
            for end, blocks, mode in ends:
                if not capacity(end.model, blocks, tier.up.speed_gbps, mode):
                    yield Problem(
                        (*tier.up.path, "speed_gbps"),
                        f"Uplinks of {tier.role} run at {tier.up.speed_gbps}G, which the ports of {end.role} "
                        f"({end.model.name}) do not offer.",
                        f"{end.model.name} offers {_speeds(end)}.",
                    )


def _speeds(tier: Tier) -> str:
    speeds = {mode.speed_gbps for block in tier.model.blocks for mode in block.modes}
    return ", ".join(f"{speed}G" for speed in sorted(speeds))


@rule(
    code="CW206",
    severity=Severity.ERROR,
    title="nodes without a switch",
    why="NICs that no switch lies around stay dark.",
    mend="Give the nodes the level that the fabric's switches stand in, or add a tier for the cluster.",
    stage=Stage.SKELETON,
)
def unattached_nodes(subject: Subject) -> Iterator[Problem]:
    """Node groups and management ports that find no switch around them."""
    for skeleton in subject.skeleton.fabrics:
        if skeleton.unattached:
            names = ", ".join(skeleton.unattached[:5]) + (", ..." if len(skeleton.unattached) > 5 else "")
            yield Problem(
                (*skeleton.fabric.path, "attach"),
                f"No switch of {skeleton.fabric.name} lies around {names}.",
                "Add a tier with `per: cluster`, or the missing level to the nodes.",
            )


@rule(
    code="CW207",
    severity=Severity.ERROR,
    title="dark switches",
    why="A switch that no link from below reaches carries nothing and hides a mistake in the counts.",
    mend="Use fewer upper switches, or more uplinks.",
    stage=Stage.SKELETON,
)
def dark_switches(subject: Subject) -> Iterator[Problem]:
    """Upper switches that nothing below is joined to."""
    for skeleton in subject.skeleton.fabrics:
        for depth, count in sorted(_dark(skeleton).items()):
            tier = skeleton.fabric.tiers[depth]
            yield Problem(
                (*tier.path, "count"),
                f"{count} of the {tier.role} switches have no link from below.",
                "Use fewer of them, or more uplinks below.",
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
    code="CW208",
    severity=Severity.ERROR,
    title="switch of another technology",
    why="An InfiniBand switch does not carry Ethernet, nor the other way round.",
    mend="Choose a model whose technology is the fabric's.",
)
def wrong_technology(subject: Subject) -> Iterator[Problem]:
    """Tiers whose model does not speak the fabric's technology."""
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            if fabric.technology not in tier.model.technology:
                yield Problem(
                    (*tier.path, "model"),
                    f"{tier.model.name} speaks {', '.join(tier.model.technology)}, "
                    f"fabric {fabric.name} is {fabric.technology}.",
                    "Choose another model.",
                )


@rule(
    code="CW209",
    severity=Severity.ERROR,
    title="tiers out of order",
    why="Tiers are read from the nodes upwards: a tier above another one stands in the same level or a larger one.",
    mend="List the tiers from the smallest level to the largest.",
)
def tiers_out_of_order(subject: Subject) -> Iterator[Problem]:
    """Tiers that stand in a smaller level than the tier below them."""
    spec = subject.spec
    for fabric in spec.fabrics:
        names = {attach.nodes for attach in fabric.attach}
        for group in spec.node_groups:
            if group.name not in names and None not in names:
                continue
            order = [level.name for level in group.levels] + [CLUSTER]
            depths = [(order.index(tier.per), tier) for tier in fabric.tiers if tier.per in order]
            for (lower, below), (upper, tier) in pairwise(depths):
                if upper < lower:
                    yield Problem(
                        (*tier.path, "per"),
                        f"Tier {tier.role} stands in each {tier.per}, "
                        f"above {below.role}, which stands in each {below.per}.",
                        "List the tiers from the smallest level to the largest.",
                    )


@rule(
    code="CW210",
    severity=Severity.ERROR,
    title="planes that nothing below has",
    why="A tier joined by rail needs rails below it, one joined by position needs a tier below it.",
    mend="Use `join: all`, or give the tier below the same planes.",
)
def planes_without_source(subject: Subject) -> Iterator[Problem]:
    """`join: rail` above a tier without rails, `join: position` at the bottom, rails on a management network."""
    for fabric in subject.spec.fabrics:
        railed = True
        for depth, tier in enumerate(fabric.tiers):
            if tier.join == "rail" and (not railed or fabric.attach[0].is_management):
                yield Problem((*tier.path, "join"), f"Nothing below {tier.role} has rails.", "Use `join: all`.")
            if tier.join == "position" and depth == 0:
                yield Problem(
                    (*tier.path, "join"), f"There is no tier below {tier.role}.", "Use `join: all` or `rail`."
                )
            railed = tier.join == "rail"


@rule(
    code="CW211",
    severity=Severity.ERROR,
    title="NICs attached twice",
    why="A NIC has one cable.",
    mend="Attach each NIC group to one fabric, and each node group once to a fabric.",
)
def attached_twice(subject: Subject) -> Iterator[Problem]:
    """NIC groups that two fabrics serve, node groups that one fabric serves twice, two management networks."""
    seen: dict[tuple[str | None, str | None], str] = {}
    for fabric in subject.spec.fabrics:
        here: set[str | None] = set()
        if len(fabric.attach) > 1 and any(attach.is_management for attach in fabric.attach):
            yield Problem(
                fabric.attach[0].path,
                f"{fabric.name} serves management ports and NICs at once.",
                "Describe the management network as a fabric of its own.",
            )
        for attach in fabric.attach:
            key = (attach.nodes, attach.nics)
            what = "The management ports" if attach.is_management else f"{attach.nics} NICs of {attach.nodes}"
            if key in seen:
                yield Problem(attach.path, f"{what} are attached to {seen[key]} already.", "Leave one of them out.")
            elif attach.nodes in here:
                yield Problem(
                    attach.path,
                    f"{fabric.name} serves {attach.nodes} twice.",
                    "Put the NICs in one group of the model.",
                )
            seen.setdefault(key, fabric.name)
            here.add(attach.nodes)


@rule(
    code="CW212",
    severity=Severity.ERROR,
    title="unknown figure",
    why="An expectation of a figure that does not exist is never checked.",
    mend="Use a figure that `clusterwright inventory` reports under totals.",
    stage=Stage.SKELETON,
)
def unknown_figure(subject: Subject) -> Iterator[Problem]:
    """Expectations whose name is no figure of this cluster."""
    for item in subject.spec.expectations:
        if item.figure not in subject.figures:
            close = get_close_matches(item.figure, subject.figures, n=1)
            hint = f'Did you mean "{close[0]}"?' if close else "See the totals of `clusterwright inventory`."
            yield Problem((*item.path, "figure"), f'This cluster has no figure "{item.figure}".', hint)


@rule(
    code="CW213",
    severity=Severity.WARNING,
    title="uneven spread",
    why="Where uplinks do not divide evenly over the switches above, some links of a job are busier than others.",
    mend="Make the uplinks of a group a multiple of the switches above it.",
    stage=Stage.SKELETON,
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
            if links % len(bundle.uppers) and bundle.tier not in told and tier.up:
                told.add(bundle.tier)
                upper = skeleton.fabric.tiers[bundle.tier]
                yield Problem(
                    (*tier.up.path, "links"),
                    f"{links} uplinks spread over {len(bundle.uppers)} {upper.role}: some get one more than others.",
                    "Make one a multiple of the other.",
                )
