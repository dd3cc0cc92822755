"""CW216, CW253, CW323 and CW325: specs accepted by lint and refuted by `verify`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from clusterwright.finding import Severity
from clusterwright.plan.service import ACTIVE, DRAINED, OUT_OF_SERVICE, groups_around
from clusterwright.plan.skeleton import FabricSkeleton, Skeleton, joins
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.attachment import tier_order
from clusterwright.spec.encryption import MUTUAL_TLS
from clusterwright.spec.infiniband import OPENSM, SubnetManager
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path

# Engines of opensm that climb to a listed root and descend: no path leads through a top switch missing in the list.
AVOIDING = ("ftree", "updn")
# NVIDIA's do so too, by their descriptions; their behaviour for a switch missing in the list is untested.
UP_DOWN = (*AVOIDING, "ar_ftree", "ar_updn")
# opensm's engine with equal loads on the links of a regular tree, and NVIDIA's with a choice for each packet.
EVEN = "ftree"
_BALANCED = (EVEN, "ar_ftree", "ar_updn")
_HINT = "Write `state: out-of-service` and take its links down, or leave it in service."


@rule("CW216", Severity.ERROR)
def drained_and_routed(subject: Subject) -> Iterator[Problem]:
    """Exceptions draining a switch or a port still in use by the subnet manager."""
    spec, skeleton = subject.spec, subject.skeleton
    if not any(item.state == DRAINED for item in spec.exceptions):
        return
    states = subject.states
    for fabric in skeleton.fabrics:
        manager = fabric.fabric.subnet_manager
        if fabric.fabric.technology != "infiniband" or manager is None:
            continue
        names = {seat.name for seat in fabric.seats}
        for item in spec.exceptions:
            if item.port and item.state == DRAINED and item.device in names:
                message = (
                    f"Nothing keeps paths off one port of {item.device}: a subnet manager uses every link that is up."
                )
                yield Problem((*item.path, "state"), message, "Write `state: out-of-service`, and take the link down.")
        reported: set[Path] = set()
        for number, seat in enumerate(fabric.seats):
            reason = _reason(skeleton, fabric, manager, states, number) if states[seat.name] == DRAINED else ""
            path = _stated_at(spec, skeleton, fabric, number)
            if reason and path not in reported:
                reported.add(path)
                yield Problem(path, reason, _HINT)


def _stated_at(spec: ClusterSpec, skeleton: Skeleton, fabric: FabricSkeleton, number: int) -> Path:
    """The place of the exception with a switch's state."""
    names = (fabric.seats[number].name, *groups_around(skeleton, fabric, number))
    by_name = {item.device or item.group: item.path for item in spec.exceptions if item.state and not item.port}
    return (*next((by_name[name] for name in names if name in by_name), ()), "state")


def _reason(
    skeleton: Skeleton, fabric: FabricSkeleton, manager: SubnetManager, states: Mapping[str, str], number: int
) -> str:
    """The reason for paths through a drained switch; "" without such paths."""
    seat = fabric.seats[number]
    engine = manager.routing_engine
    live = [name for name in _below(skeleton, fabric, number) if states[name] == ACTIVE]
    if not live and engine in UP_DOWN:
        return ""
    if manager.kind != OPENSM:
        return (
            f"{manager.kind} gets no setting that keeps paths off {seat.name}: how NVIDIA's subnet manager drains"
            " a switch could not be tried."
        )
    if engine not in AVOIDING:
        return f"opensm's {engine} cannot route around {seat.name} while its links are up; {EVEN} can."
    attached = _attached(skeleton, fabric, number)
    if live_nodes := [name for name in attached if states[name] != OUT_OF_SERVICE]:
        return f"{seat.name} has adapters of {len(live_nodes)} nodes, as {live_nodes[0]}, which nothing else leads to."
    if seat.tier < len(fabric.fabric.tiers) - 1:
        return (
            f"opensm's {engine} cannot route around {seat.name} while its links are up: it lies between the leaves"
            f" and the"
            " roots, and only a root can be left out of the tree."
        )
    cut = next((name for name in live if not _uppers(fabric, name, states)), None)
    return f"{cut} is left without a way up: all switches above it are drained or gone." if cut else ""


def _attached(skeleton: Skeleton, fabric: FabricSkeleton, number: int) -> list[str]:
    return [skeleton.layout.nodes[node.node].name for node in fabric.nodes if number in node.seats]


def _below(skeleton: Skeleton, fabric: FabricSkeleton, number: int) -> list[str]:
    """The nodes and switches cabled to a switch from below."""
    lowers: dict[str, None] = {}
    for bundle in fabric.bundles:
        if number not in bundle.uppers:
            continue
        for lower, upper in joins(fabric, bundle):
            if upper == number:
                lowers[fabric.seats[lower].name] = None
    return [*_attached(skeleton, fabric, number), *lowers]


def _uppers(fabric: FabricSkeleton, lower_name: str, states: Mapping[str, str]) -> Set[int]:
    """The active switches above one; empty without uplinks."""
    uppers: set[int] = set()
    for bundle in fabric.bundles:
        for lower, upper in joins(fabric, bundle):
            if fabric.seats[lower].name == lower_name and states[fabric.seats[upper].name] == ACTIVE:
                uppers.add(upper)
    return uppers


@rule("CW323", Severity.WARNING)
def unproven_engine(subject: Subject) -> Iterator[Problem]:
    """Routing engines without a proof of their paths, or of the load on each link."""
    for fabric in subject.spec.fabrics:
        manager = fabric.subnet_manager
        if manager is None or manager.routing_engine in _BALANCED:
            continue
        has_uplinks = len(fabric.tiers) > 1 or fabric.tiers[0].model.chips is not None
        if manager.routing_engine in UP_DOWN and not has_uplinks:
            continue  # a single chip has one path between two ports, and ftree requires two tiers
        engine, path = manager.routing_engine, (*manager.path, "routing_engine")
        hint = f"Use {EVEN}." if manager.kind == OPENSM else "Use ar_ftree or ar_updn, with adaptive routing."
        if engine in UP_DOWN:
            message = (
                f"No proof follows how {engine} loads the links of {fabric.name}: some may carry many times what"
                " others do."
            )
        else:
            message = f"No proof follows the paths of {engine} on {fabric.name}."
        yield Problem(path, message, hint)


@rule("CW325", Severity.WARNING)
def without_withdrawal(subject: Subject) -> Iterator[Problem]:
    """Mounts with certificates on both sides without a revocation list."""
    spec = subject.spec
    tls = spec.encryption.tls
    if tls is None or tls.crl is not None:
        return
    mount = next((mount for mount in spec.mounts if mount.protection and mount.protection.kind == MUTUAL_TLS), None)
    if mount is not None:
        message = f"{mount.mountpoint} is mounted with certificates, and none of them could be withdrawn."
        yield Problem(tls.path, message, "Add `crl: /path/on/the/node.pem`.")


@rule("CW253", Severity.ERROR)
def nodes_at_two_tiers(subject: Subject) -> Iterator[Problem]:
    """InfiniBand fabrics with GPU nodes at tiers of different heights, or with different numbers of uplinks."""
    layout = subject.skeleton.layout
    for fabric in subject.skeleton.fabrics:
        if fabric.fabric.technology != "infiniband":
            continue
        groups: dict[int, str] = {}
        for node in fabric.nodes:
            group = subject.spec.node_groups[layout.nodes[node.node].node_group]
            if group.model.gpus:
                for seat in node.seats:
                    groups.setdefault(fabric.seats[seat].tier, group.name)
        levels = tier_order(subject.spec, fabric.fabric).levels
        if len({levels[depth] for depth in groups}) > 1:
            lowest = min(groups, key=levels.__getitem__)
            highest = max(groups, key=levels.__getitem__)
            low, high = fabric.fabric.tiers[lowest].role, fabric.fabric.tiers[highest].role
            name = groups[highest]
            attach = next(candidate for candidate in fabric.fabric.attach if candidate.nodes == name)
            yield Problem(
                (*attach.path, "nodes"),
                f"{name} is cabled to {high}, {groups[lowest]} to {low}.",
                f"Give {name} the level that {low} stands in, or a fabric of its own.",
            )
            continue
        leaves = [fabric.fabric.tiers[depth] for depth in sorted(groups)]
        for leaf in leaves[1:]:
            counts = [tier.up.links if tier.up else 0 for tier in (leaves[0], leaf)]
            if counts[0] != counts[1]:
                yield Problem(
                    (*leaf.path, "up", "links") if leaf.up else leaf.path,
                    f"{leaf.role} has {counts[1]} uplinks, {leaves[0].role} beside it {counts[0]}: no proof follows"
                    " paths that leaves share unevenly.",
                    "Give both tiers as many uplinks, or each a fabric of its own.",
                )
