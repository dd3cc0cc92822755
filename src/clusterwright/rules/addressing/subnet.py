"""Subnet managers of InfiniBand fabrics: CW160, CW215, CW217, CW255, CW256 and CW310 to CW313."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.plan.chips import MOST_FABRICS, fabric_number
from clusterwright.plan.ports import free_ports
from clusterwright.plan.service import OUT_OF_SERVICE, stated
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import unknown
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.systems import system_of
from clusterwright.spec.infiniband import OPENSM, UFM

NVIDIA_ENGINE = "ar_"
# Engines of NVIDIA's subnet manager besides its own ar_ ones (MLNX_SM; nue, sssp and dfsssp are the open one's alone).
UFM_ENGINES = ("minhop", "updn", "dnup", "ftree", "lash")


@rule("CW160", Severity.ERROR, relied_on=True)
def unknown_tier(subject: Subject) -> Iterator[Problem]:
    """Tiers of an attachment missing in its fabric."""
    for fabric in subject.spec.fabrics:
        roles = [tier.role for tier in fabric.tiers]
        for attach in fabric.attach:
            if attach.to is not None and attach.to not in roles:
                yield unknown("tier", attach.to, roles, (*attach.path, "to"), fabric.name)


@rule("CW215", Severity.ERROR)
def spare_ports_used(subject: Subject) -> Iterator[Problem]:
    """Tiers with fewer free ports at a switch than they keep spare."""
    if not any(tier.down.spare for tier in subject.spec.tiers):
        return
    for skeleton, ports in subject.allocations:
        for depth, tier in enumerate(skeleton.fabric.tiers):
            if not tier.down.spare:
                continue
            short: list[tuple[str, int]] = []
            for number, seat in enumerate(skeleton.seats):
                speeds = skeleton.links_down[number]
                if seat.tier != depth or not speeds:
                    continue
                free = free_ports(ports[number], tier.model, max(speeds))
                if free < tier.down.spare:
                    short.append((seat.name, free))
            if short:
                name, free = short[0]
                yield Problem(
                    (*tier.down.path, "spare"),
                    f"{len(short):,} {tier.role} switches have too few ports left: {name} has"
                    f" {free} of {tier.down.spare} spare ports.",
                    "Attach less to them, take a larger model, or lower `spare`.",
                )


@rule("CW217", Severity.ERROR)
def manager_beside_fabric(subject: Subject) -> Iterator[Problem]:
    """Subnet managers on node groups not attached to the fabric, or with too few nodes."""
    for fabric in subject.spec.fabrics:
        manager = fabric.subnet_manager
        if manager is None:
            continue
        attached = [attach.nodes for attach in fabric.attach if attach.nodes is not None]
        group = subject.spec.node_group(manager.nodes)
        if group is None:
            continue  # CW150 reports it
        if manager.nodes not in attached:
            yield Problem(
                (*manager.path, "nodes"),
                f"{manager.nodes} has no NIC on {fabric.name}, which its subnet manager has to reach.",
                f"Name {' or '.join(attached)}, or attach {manager.nodes}.",
            )
        elif group.count < manager.count:
            message = f"{manager.count} subnet managers are requested, and {manager.nodes} has {group.count} nodes."
            yield Problem((*manager.path, "count"), message, f"Request {group.count} at most.")
        elif (serving := _not_gone(subject, manager.nodes, group.count)) < manager.count:
            message = (
                f"{manager.count} subnet managers are requested, and {serving} of the {group.count} nodes of"
                f" {manager.nodes} are in service."
            )
            yield Problem((*manager.path, "count"), message, "Request fewer, or return nodes to service.")


def _not_gone(subject: Subject, nodes: str, count: int) -> int:
    """The number of a group's nodes not out of service: drained ones keep running."""
    if not stated(subject.spec):
        return count
    states, names = subject.states, [group.name for group in subject.spec.node_groups]
    group_nodes = [node.name for node in subject.skeleton.layout.nodes if names[node.node_group] == nodes]
    return sum(states[name] != OUT_OF_SERVICE for name in group_nodes)


@rule("CW255", Severity.ERROR)
def one_prefix_for_two(subject: Subject) -> Iterator[Problem]:
    """InfiniBand fabrics with common nodes and one subnet prefix; each plane of a fabric has its own."""
    earlier: list[tuple[Fabric, range]] = []
    for fabric in subject.spec.fabrics:
        manager = fabric.subnet_manager
        if manager is None:
            continue
        nodes = _nodes_on(fabric)
        prefixes = range(manager.subnet_prefix, manager.subnet_prefix + _plane_count(subject, fabric))
        for other, other_prefixes in earlier:
            common = sorted(nodes & _nodes_on(other))
            shared = max(prefixes.start, other_prefixes.start)
            if common and shared in prefixes and shared in other_prefixes:
                message = (
                    f"{fabric.name} and {other.name} have the subnet prefix 0x{shared:016x}, and"
                    f" {common[0]} is in both: programs on it treat them as one subnet."
                )
                hint = f"Give {fabric.name} a `subnet_prefix` of its own, as 0x{other_prefixes.stop:016x}."
                yield Problem((*manager.path, "subnet_prefix"), message, hint)
                break
        earlier.append((fabric, prefixes))


def _plane_count(subject: Subject, fabric: Fabric) -> int:
    """The subnets of a fabric."""
    if not fabric.planes:
        return 1
    counts = [wiring.piece_count for skeleton, wiring in subject.wirings if skeleton.fabric.name == fabric.name]
    return max(counts, default=1)


def _nodes_on(fabric: Fabric) -> set[str]:
    return {attach.nodes for attach in fabric.attach if attach.nodes is not None}


@rule("CW256", Severity.ERROR)
def too_many_planned_alike(subject: Subject) -> Iterator[Problem]:
    """More InfiniBand fabrics with one `guid_prefix` than planned GUIDs distinguish."""
    fabrics = subject.spec.fabrics
    for fabric in fabrics:
        manager = fabric.subnet_manager
        if manager is not None and fabric_number(fabrics, fabric) == MOST_FABRICS:
            message = f"More than {MOST_FABRICS} fabrics plan GUIDs below one prefix: some would have the same."
            yield Problem((*manager.path, "guid_prefix"), message, f"Give {fabric.name} a `guid_prefix` of its own.")


@rule("CW310", Severity.WARNING)
def unreachable_management(subject: Subject) -> Iterator[Problem]:
    """Tiers of managed InfiniBand switches without a management network, in a spec with Ethernet.

    A spec of its InfiniBand fabric alone leaves the networks around it to others.
    """
    spec = subject.spec
    if all(fabric.technology == "infiniband" for fabric in spec.fabrics):
        return
    if any(fabric.is_management for fabric in spec.fabrics):
        return
    for fabric in spec.fabrics:
        for tier in fabric.tiers:
            if fabric.technology == "infiniband" and system_of(tier.model) is not None:
                message = f"{tier.model.name} runs {tier.model.network_os}, and no fabric serves its management port."
                hint = "Add a management fabric, or use a model without a management CPU."
                yield Problem((*tier.path, "model"), message, hint)


@rule("CW311", Severity.ERROR)
def foreign_engine(subject: Subject) -> Iterator[Problem]:
    """NVIDIA's routing engines with opensm, and engines unknown to NVIDIA's subnet manager with ufm."""
    for fabric in subject.spec.fabrics:
        manager = fabric.subnet_manager
        if manager is None:
            continue
        engine, path = manager.routing_engine, (*manager.path, "routing_engine")
        if manager.kind == OPENSM and engine.startswith(NVIDIA_ENGINE):
            message = f"{engine} is an engine of NVIDIA's subnet manager; opensm does not know it."
            yield Problem(path, message, "Write `kind: ufm`, or an engine of opensm: ftree.")
        if manager.kind == UFM and not engine.startswith(NVIDIA_ENGINE) and engine not in UFM_ENGINES:
            message = f"{engine} is an engine of opensm; NVIDIA's subnet manager does not have it."
            yield Problem(path, message, "Use ar_updn, the default of NVIDIA's subnet manager.")


@rule("CW312", Severity.ERROR)
def feature_without_manager(subject: Subject) -> Iterator[Problem]:
    """`adaptive_routing` and `sharp` with opensm, and adaptive routing with another engine."""
    for fabric in subject.spec.fabrics:
        manager = fabric.subnet_manager
        if manager is None:
            continue
        wanted = [key for key in ("adaptive_routing", "sharp") if getattr(manager, key)]
        if manager.kind == OPENSM:
            for key in wanted:
                message = f"opensm has no {key.replace('_', ' ')}; NVIDIA's subnet manager has it."
                yield Problem((*manager.path, key), message, "Write `kind: ufm`, or remove it.", key=True)
        if manager.kind == UFM and manager.adaptive_routing and not manager.routing_engine.startswith(NVIDIA_ENGINE):
            message = f"{manager.routing_engine} is not an adaptive engine."
            yield Problem((*manager.path, "routing_engine"), message, "Use ar_updn or ar_ftree.")


@rule("CW313", Severity.WARNING)
def endless_lease(subject: Subject) -> Iterator[Problem]:
    """M_Keys with a lease of 0."""
    for fabric in subject.spec.fabrics:
        key = fabric.subnet_manager.m_key if fabric.subnet_manager else None
        if key is not None and key.lease_s == 0:
            yield Problem((*key.path, "lease_s"), "A lease of 0 seconds never expires.", "Write 60.")
