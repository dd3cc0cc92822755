"""CW650 to CW652: nodes with InfiniBand adapters in several subnets, and traffic between planes."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.plan.meeting import Wiring
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.addressing.subnet import NVIDIA_ENGINE
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.infiniband import UFM
from clusterwright.spec.runtime.switches import PXN, c_number, switched_off


def _in_planes(subject: Subject) -> Iterator[tuple[FabricSkeleton, Wiring]]:
    """The fabrics with planes joined in their nodes alone."""
    if not any(fabric.planes for fabric in subject.spec.fabrics):
        return
    for skeleton, wiring in subject.wirings:
        if skeleton.fabric.planes and wiring.piece_count > 1:
            yield skeleton, wiring


@rule("CW650", Severity.ERROR)
def several_subnets_for_ufm(subject: Subject) -> Iterator[Problem]:
    """UFM for a fabric in planes, and on nodes running it for another fabric."""
    planes = {skeleton.fabric.name: wiring.piece_count for skeleton, wiring in _in_planes(subject)}
    managed_by: dict[str, Fabric] = {}
    for fabric in subject.spec.fabrics:
        manager = fabric.subnet_manager
        if manager is None or manager.kind != UFM:
            continue
        if fabric.name in planes:
            message = f"{fabric.name} is {planes[fabric.name]} subnets, one for each plane, and UFM manages one."
            hint = "Write `kind: opensm`, which runs once for each plane."
            if manager.routing_engine.startswith(NVIDIA_ENGINE):
                hint = "Write `kind: opensm`, which runs once for each plane, and an engine that it knows, as ftree."
            yield Problem((*manager.path, "kind"), message, hint)
        first = managed_by.setdefault(manager.nodes, fabric)
        if first is not fabric:
            message = f"{manager.nodes} run UFM for {first.name}, and UFM manages one subnet."
            hint = f"Name other nodes for {fabric.name}, or write `kind: opensm` there."
            yield Problem((*manager.path, "nodes"), message, hint)


@rule("CW651", Severity.ERROR)
def crossing_planes(subject: Subject) -> Iterator[Problem]:
    """NCCL profiles sending between planes of a fabric without a path between them."""
    planes = {skeleton.fabric.name: wiring for skeleton, wiring in _in_planes(subject)}
    for nccl in subject.spec.nccl_profiles:
        wiring = planes.get(nccl.fabric)
        if wiring is None:
            continue
        many = f"{wiring.piece_count} planes of {nccl.fabric}"
        written = nccl.variables.get("NCCL_CROSS_NIC")
        if nccl.cross_nic or (written is not None and c_number(written) != 0):
            path = (*nccl.path, "cross_nic") if written is None else (*nccl.path, "variables", "NCCL_CROSS_NIC")
            value = nccl.cross_nic if written is None else written
            message = f"NCCL_CROSS_NIC {value} lets NCCL send between the {many}, and no path joins them."
            yield Problem(path, message, "Remove it, or write 0.", key=True)
        for switch in switched_off(nccl.variables):
            if switch.name in PXN:
                message = f"{switch.name} {switch.effect}, and no path joins the {many}."
                yield Problem((*nccl.path, "variables", switch.name), message, "Remove it.", key=True)


@rule("CW652", Severity.ERROR)
def ip_network_over_planes(subject: Subject) -> Iterator[Problem]:
    """IP over InfiniBand on adapters in several planes: one network with unreachable hosts."""
    groups = [group.name for group in subject.spec.node_groups]
    group_of = {node.name: groups[node.node_group] for node in subject.skeleton.layout.nodes}
    for skeleton, wiring in _in_planes(subject):
        for partition in skeleton.fabric.partitions:
            if partition.ipoib is None:
                continue
            adapters = {(host.nodes, host.nic) for host in partition.ipoib.hosts}
            ends = [end for end in wiring.ends if (group_of.get(end.device, ""), end.port) in adapters]
            for end in ends:
                if wiring.piece_of[end.switch] == wiring.piece_of[ends[0].switch]:
                    continue
                message = f"{ends[0]} and {end} are in different planes: {partition.name} has no IP between them."
                yield Problem((*partition.ipoib.path, "hosts"), message, "Name adapters of one plane in `hosts`.")
                break
