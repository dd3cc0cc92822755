"""CW216, CW253, CW323 and CW325: specs accepted by lint and refuted by `verify`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from clusterwright.finding import Severity
from clusterwright.plan.service import ACTIVE, DRAINED, OUT_OF_SERVICE, groups_around
from clusterwright.plan.skeleton import FabricSkeleton, Skeleton, joins
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.attachment import tier_order
from clusterwright.spec.encryption import MUTUAL_TLS
from clusterwright.spec.fabric import Tier
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
        yield from _drained_ports(spec, fabric)
        reported: set[Path] = set()
        for number, seat in enumerate(fabric.seats):
            if states[seat.name] != DRAINED:
                continue
            reason = _reason(skeleton, fabric, manager, states, number)
            path = _stated_at(spec, skeleton, fabric, number)
            if reason and path not in reported:
                reported.add(path)
                yield Problem(path, reason, _HINT)


def _drained_ports(spec: ClusterSpec, fabric: FabricSkeleton) -> Iterator[Problem]:
    switches = {seat.name for seat in fabric.seats}
    for item in spec.exceptions:
        if item.port and item.state == DRAINED and item.device in switches:
            message = (
                f"No setting keeps paths off a port of {item.device}: a subnet manager uses every link that is up."
            )
            yield Problem((*item.path, "state"), message, "Write `state: out-of-service`, and take the link down.")


def _stated_at(spec: ClusterSpec, skeleton: Skeleton, fabric: FabricSkeleton, number: int) -> Path:
    """The place of the exception with a switch's state."""
    path_by_name: dict[str | None, Path] = {}
    for item in spec.exceptions:
        if item.state is not None and item.port is None:
            path_by_name[item.device or item.group] = item.path
    for name in (fabric.seats[number].name, *groups_around(skeleton, fabric, number)):
        if name in path_by_name:
            return (*path_by_name[name], "state")
    return ("state",)


def _reason(
    skeleton: Skeleton, fabric: FabricSkeleton, manager: SubnetManager, states: Mapping[str, str], number: int
) -> str:
    """The reason for paths through a drained switch; "" without such paths."""
    seat = fabric.seats[number]
    engine = manager.routing_engine
    active_below = [name for name in _below(skeleton, fabric, number) if states[name] == ACTIVE]
    if not active_below and engine in UP_DOWN:
        return ""
    if manager.kind != OPENSM:
        return (
            f"{manager.kind} has no known setting that keeps paths off {seat.name}: a drain with NVIDIA's subnet"
            " manager was not tested."
        )
    if engine not in AVOIDING:
        return f"opensm's {engine} cannot route around {seat.name} while its links are up; {EVEN} can."
    nodes = [name for name in _attached(skeleton, fabric, number) if states[name] != OUT_OF_SERVICE]
    if nodes:
        return f"{seat.name} has adapters of {len(nodes)} nodes, as {nodes[0]}, which nothing else leads to."
    if seat.tier < len(fabric.fabric.tiers) - 1:
        return (
            f"opensm's {engine} cannot route around {seat.name} while its links are up: it lies between the leaves"
            " and the roots, and only a root can be left out of the tree."
        )
    for name in active_below:
        if not _uppers(fabric, name, states):
            return f"{name} has no uplink left: all switches above it are drained or out of service."
    return ""


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
        engine = manager.routing_engine
        if engine in UP_DOWN and not has_uplinks:
            continue  # a single chip has one path between two ports, and ftree requires two tiers
        message = f"`verify` cannot follow the paths of {engine} on {fabric.name}."
        if engine in UP_DOWN:
            message = (
                f"`verify` cannot predict how {engine} loads the links of {fabric.name}: some may carry many times what"
                " others do."
            )
        hint = f"Use {EVEN}." if manager.kind == OPENSM else "Use ar_ftree or ar_updn, with adaptive routing."
        yield Problem((*manager.path, "routing_engine"), message, hint)


@rule("CW325", Severity.WARNING)
def without_withdrawal(subject: Subject) -> Iterator[Problem]:
    """Mounts with certificates on both sides without a revocation list."""
    spec = subject.spec
    tls = spec.encryption.tls
    if tls is None or tls.crl is not None:
        return
    for mount in spec.mounts:
        if mount.protection is not None and mount.protection.kind == MUTUAL_TLS:
            message = f"{mount.mountpoint} is mounted with certificates, and there is no list to revoke them."
            yield Problem(tls.path, message, "Add `crl: /path/on/the/node.pem`.")
            return


@rule("CW253", Severity.ERROR)
def nodes_at_two_tiers(subject: Subject) -> Iterator[Problem]:
    """InfiniBand fabrics with GPU nodes at tiers of different heights, or with different numbers of uplinks."""
    for fabric in subject.skeleton.fabrics:
        if fabric.fabric.technology != "infiniband":
            continue
        group_by_tier = _gpu_group_by_tier(subject, fabric)
        tiers = fabric.fabric.tiers
        levels = tier_order(subject.spec, fabric.fabric).levels
        if len({levels[depth] for depth in group_by_tier}) > 1:
            lowest = min(group_by_tier, key=levels.__getitem__)
            highest = max(group_by_tier, key=levels.__getitem__)
            low, high = tiers[lowest].role, tiers[highest].role
            name = group_by_tier[highest]
            attach = next(attach for attach in fabric.fabric.attach if attach.nodes == name)
            yield Problem(
                (*attach.path, "nodes"),
                f"{name} is cabled to {high}, {group_by_tier[lowest]} to {low}.",
                f"Give {name} the level of {low}, or a fabric of its own.",
            )
            continue
        yield from _uneven_leaves([tiers[depth] for depth in sorted(group_by_tier)])


def _gpu_group_by_tier(subject: Subject, fabric: FabricSkeleton) -> Mapping[int, str]:
    """The first group of GPU nodes at each tier, by its index."""
    groups: dict[int, str] = {}
    for node in fabric.nodes:
        group = subject.spec.node_groups[subject.skeleton.layout.nodes[node.node].node_group]
        if group.model.gpus:
            for seat in node.seats:
                groups.setdefault(fabric.seats[seat].tier, group.name)
    return groups


def _uplink_count(tier: Tier) -> int:
    return tier.up.links if tier.up is not None else 0


def _uneven_leaves(leaves: Sequence[Tier]) -> Iterator[Problem]:
    for leaf in leaves[1:]:
        first_count, count = _uplink_count(leaves[0]), _uplink_count(leaf)
        if first_count != count:
            yield Problem(
                (*leaf.path, "up", "links") if leaf.up else leaf.path,
                f"{leaf.role} has {count} uplinks, {leaves[0].role} beside it {first_count}: `verify` cannot"
                " follow paths that leaves share unevenly.",
                "Give both tiers as many uplinks, or each a fabric of its own.",
            )
