"""CW214, CW242 to CW244: paths between all nodes of a fabric, as designed."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.plan.meeting import AttachedEnd, Wiring
from clusterwright.plan.seats import Bundle
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.text.document import Path


@rule("CW214", Severity.ERROR)
def fabric_in_pieces(subject: Subject) -> Iterator[Problem]:
    """Fabrics without a path between two devices, and fabrics in pieces not declared to be planes."""
    for skeleton, wiring in subject.wirings:
        fabric = skeleton.fabric
        is_in_pieces = wiring.piece_count > 1
        pair = wiring.parted or wiring.torn(wiring.joined)
        if pair is None and (not is_in_pieces or fabric.planes):
            continue
        pair = pair or wiring.apart()
        path, cause = _cause(skeleton, wiring)
        hint = f"Add a tier with `per: cluster` above {fabric.tiers[-1].role}"
        if path[-1] == "links":
            hint = "Give them more uplinks, or put fewer switches above them"
        can_be_rails = fabric.technology != "infiniband" and not fabric.attach[0].is_management
        if is_in_pieces and wiring.parted is None and can_be_rails:
            hint += ", or write `join: rail` at each tier where every rail is meant to be a network of its own"
        if path[-1] == "per" and is_in_pieces:
            hint += ". Links between groups of one tier, as in a dragonfly, cannot be written"
        yield Problem(path, f"{cause}: {pair[0]} has no path to {pair[1]}.", f"{hint}.")


def _cause(skeleton: FabricSkeleton, wiring: Wiring) -> tuple[Path, str]:
    """The cause of the pieces: its place in the spec, and a sentence."""
    fabric = skeleton.fabric
    top, depth = fabric.tiers[-1], len(fabric.tiers) - 1
    top_groups = {seat.group for seat in skeleton.seats if seat.tier == depth}
    if len(top_groups) > 1:
        sentence = (
            f"{fabric.name} ends in {len(top_groups)} groups of {top.role}, one in each {top.per}, "
            "with nothing between them"
        )
        return (*top.path, "per"), sentence
    for bundle in skeleton.bundles:
        narrow = _narrow_bundle(skeleton, bundle, wiring)
        if narrow is not None:
            return narrow
    if fabric.planes:
        return (*top.path, "join"), f"The planes of {fabric.name} have not all of its devices in common"
    count = sum(seat.tier == depth for seat in skeleton.seats)
    sentence = f"{fabric.name} ends in {count} {top.role} switches, with nothing between them"
    return (*top.path, "count"), sentence


def _narrow_bundle(skeleton: FabricSkeleton, bundle: Bundle, wiring: Wiring) -> tuple[Path, str] | None:
    """The place of uplinks not reaching all switches above them, and a sentence."""
    fewest_reached: dict[int, int] = {}
    for number in bundle.lowers:
        seat = skeleton.seats[number]
        reached = len(wiring.above[seat.name])
        fewest_reached[seat.tier] = min(reached, fewest_reached.get(seat.tier, reached))
    narrowest = min(fewest_reached, key=lambda tier: fewest_reached[tier])
    lower, reached = skeleton.fabric.tiers[narrowest], fewest_reached[narrowest]
    if lower.up is None or reached >= len(bundle.uppers):
        return None
    upper = skeleton.fabric.tiers[bundle.tier]
    sentence = (
        f"{lower.up.links} uplinks of each {lower.role} reach {reached} of {len(bundle.uppers)} "
        f"{upper.role} switches, others than those of its neighbours"
    )
    return (*lower.up.path, "links"), sentence


@rule("CW243", Severity.WARNING)
def side_by_side(subject: Subject) -> Iterator[Problem]:
    """Fabrics with devices at several uppermost switches."""
    for skeleton, wiring in subject.wirings:
        if wiring.beside is None or skeleton.fabric.attach[0].is_management:
            continue
        first, second = wiring.beside
        top = skeleton.fabric.tiers[-1]
        yield Problem(
            (*top.path, "role"),
            f"{first} does not reach {second}: a path would go down from {top.role} and up again.",
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
