"""CW214, CW242 to CW244: paths between all nodes of a fabric, as designed."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.plan.meeting import AttachedEnd, Wiring
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.text.document import Path


@rule("CW214", Severity.ERROR)
def fabric_in_pieces(subject: Subject) -> Iterator[Problem]:
    """Fabrics without a path between two devices, and fabrics in pieces not declared to be planes."""
    for skeleton, wiring in subject.wirings:
        fabric, count = skeleton.fabric, wiring.piece_count
        pair = wiring.parted or wiring.torn(wiring.joined)
        if pair is None and (count < 2 or fabric.planes):
            continue
        top = fabric.tiers[-1]
        pair = pair or wiring.apart()
        path, how = _cause(skeleton, wiring)
        hint = f"Add a tier with `per: cluster` above {top.role}"
        if path[-1] == "links":
            hint = "Give them more uplinks, or put fewer switches above them"
        if (
            count > 1
            and wiring.parted is None
            and fabric.technology != "infiniband"
            and not fabric.attach[0].is_management
        ):
            hint += ", or write `join: rail` at each tier where every rail is meant to be a network of its own"
        if path[-1] == "per" and count > 1:
            hint += ". Links between groups of one tier, as in a dragonfly, cannot be written"
        yield Problem(path, f"{how}: {pair[0]} has no path to {pair[1]}.", f"{hint}.")


def _cause(skeleton: FabricSkeleton, wiring: Wiring) -> tuple[Path, str]:
    """The cause of the pieces: its place in the spec, and a sentence."""
    fabric = skeleton.fabric
    top, depth = fabric.tiers[-1], len(fabric.tiers) - 1
    places = {seat.group for seat in skeleton.seats if seat.tier == depth}
    if len(places) > 1:
        return (
            (*top.path, "per"),
            (
                f"{fabric.name} ends in {len(places)} groups of {top.role}, one in each {top.per}, "
                "with nothing between them"
            ),
        )
    for bundle in skeleton.bundles:
        reached_by_tier: dict[int, int] = {}
        for number in bundle.lowers:
            seat = skeleton.seats[number]
            reached = len(wiring.above[seat.name])
            reached_by_tier[seat.tier] = min(reached, reached_by_tier.get(seat.tier, reached))
        narrowest = min(reached_by_tier, key=lambda tier: reached_by_tier[tier])
        lower, least = fabric.tiers[narrowest], reached_by_tier[narrowest]
        if lower.up is not None and least < len(bundle.uppers):
            upper = fabric.tiers[bundle.tier]
            return (
                (*lower.up.path, "links"),
                (
                    f"{lower.up.links} uplinks of each {lower.role} reach {least} of {len(bundle.uppers)} "
                    f"{upper.role} switches, others than those of its neighbours"
                ),
            )
    if fabric.planes:
        return (*top.path, "join"), f"The planes of {fabric.name} have not all of its devices in common"
    count = sum(seat.tier == depth for seat in skeleton.seats)
    return (
        (*top.path, "count"),
        f"{fabric.name} ends in {count} {top.role} switches, with nothing between them",
    )


@rule("CW243", Severity.WARNING)
def side_by_side(subject: Subject) -> Iterator[Problem]:
    """Fabrics with devices at several uppermost switches."""
    for skeleton, wiring in subject.wirings:
        if wiring.beside is not None and not skeleton.fabric.attach[0].is_management:
            one, other = wiring.beside
            top = skeleton.fabric.tiers[-1]
            yield Problem(
                (*top.path, "role"),
                f"{one} does not reach {other}: a way would go down from {top.role} and climb again.",
                f"Use one {top.role}, attach them to a lower tier, or add a tier above {top.role}.",
            )


@rule("CW244", Severity.ERROR)
def planes_without_manager(subject: Subject) -> Iterator[Problem]:
    """InfiniBand fabrics with a plane without an adapter of a subnet manager host."""
    groups = [group.name for group in subject.spec.node_groups]
    group_of = {node.name: groups[node.node_group] for node in subject.skeleton.layout.nodes}
    for skeleton, wiring in subject.wirings:
        fabric, manager = skeleton.fabric, skeleton.fabric.subnet_manager
        if manager is None or not fabric.planes or wiring.piece_count < 2 or wiring.parted is not None:
            continue
        for host in wiring.kinds:
            if group_of.get(host) != manager.nodes:
                continue
            planes = {wiring.piece_of[switch] for switch in wiring.devices[host].switches}
            missing = sorted(set(range(wiring.piece_count)) - planes)
            if missing:
                yield Problem(
                    (*manager.path, "nodes"),
                    f"{host} has no adapter in plane {missing[0]} of {fabric.name}: nothing manages that subnet.",
                    "Run the subnet manager on nodes with an adapter in each plane, or add a tier with `per: cluster`"
                    " and `join: all` above them.",
                )
                break


@rule("CW242", Severity.ERROR)
def nic_in_different_planes(subject: Subject) -> Iterator[Problem]:
    """Fabrics in planes with a NIC in different planes on different nodes."""
    group_of = {node.name: node.node_group for node in subject.skeleton.layout.nodes}
    for skeleton, wiring in subject.wirings:
        fabric = skeleton.fabric
        if not fabric.planes or wiring.piece_count < 2 or wiring.parted is not None:
            continue
        first: dict[tuple[int, str], AttachedEnd] = {}
        for end in wiring.ends:
            if end.device not in group_of:
                continue
            other = first.setdefault((group_of[end.device], end.port), end)
            if wiring.piece_of[other.switch] != wiring.piece_of[end.switch]:
                yield Problem(
                    fabric.path,
                    f"{other} and {end} are in different planes of {fabric.name}.",
                    "Make the NICs of a node a multiple of the switches of a group, or use `join: rail`.",
                )
                break
