"""CW418: NCCL variables written by hand, against the InfiniBand fabric that carries them."""

from __future__ import annotations

from collections.abc import Iterator, Set

from clusterwright.finding import Severity
from clusterwright.rules.isolation.isolation import DEFAULT_PKEY
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.job import NcclProfile
from clusterwright.spec.model import ClusterSpec, NodeGroup
from clusterwright.spec.zone_reach import memberships_of


@rule("CW418", Severity.ERROR)
def contradicting_variable(subject: Subject) -> Iterator[Problem]:
    """NCCL_IB_HCA, NCCL_IB_PKEY and NCCL_IB_SL among the variables of a profile on InfiniBand."""
    for nccl in subject.spec.nccl_profiles:
        fabric = subject.spec.fabric(nccl.fabric)
        if fabric is None or fabric.technology != "infiniband":
            continue
        judges = [("NCCL_IB_SL", _level(nccl, fabric))]
        for group in (group for group in subject.spec.node_groups if group.name in nccl.nodes):
            judges += [
                ("NCCL_IB_HCA", _adapters(group, nccl, fabric)),
                ("NCCL_IB_PKEY", _partition(subject.spec, group.name, nccl, fabric)),
            ]
        for name, problem in judges:
            if problem is not None:
                path = (*nccl.path, "variables", name)
                yield Problem(path, f"{name}={nccl.variables[name]} {problem}.", "Take it away.")


def _adapters(group: NodeGroup, nccl: NcclProfile, fabric: Fabric) -> str | None:
    value = nccl.variables.get("NCCL_IB_HCA")
    if value is None:
        return None
    cabled = {attach.nics for attach in fabric.attach if attach.nodes == group.name}
    nics = [(nics.name, nic.rdma_device) for nics in group.model.nic_groups for nic in nics.nics if nic.rdma_device]
    wanted = {device for name, device in nics if name in cabled}
    chosen = _chosen(value, {device for _, device in nics})
    if chosen == wanted:
        return None
    extra, left_out = sorted(chosen - wanted), sorted(wanted - chosen)
    if extra:
        return f"chooses {', '.join(extra)}, which {fabric.name} does not serve"
    return f"leaves out {', '.join(left_out)} on {fabric.name}"


def _chosen(value: str, devices: Set[str]) -> set[str]:
    """The devices that NCCL takes: ``^`` leaves out, ``=`` compares whole names, ``:PORT`` may follow a name."""
    rest = value.removeprefix("^")
    exact = rest.startswith("=")
    words = [word.partition(":")[0] for word in rest.removeprefix("=").split(",") if word]
    named = {
        device for device in devices if any(device == word if exact else device.startswith(word) for word in words)
    }
    return set(devices) - named if value.startswith("^") else named


def _partition(spec: ClusterSpec, nodes: str, nccl: NcclProfile, fabric: Fabric) -> str | None:
    value = nccl.variables.get("NCCL_IB_PKEY")
    manager = fabric.subnet_manager
    if value is None or manager is None:
        return None
    member = [
        (partition.pkey, membership == "full")
        for partition in fabric.partitions
        if partition.pkey != DEFAULT_PKEY and (membership := memberships_of(spec, partition).get(nodes))
    ]
    is_full = [manager.default_membership == "full", *(full for _, full in sorted(member))]
    if not value.isdecimal() or int(value) >= len(is_full):
        return f"is no index of {nodes}: its ports on {fabric.name} have {len(is_full)}, from 0"
    if is_full[int(value)]:
        return None
    return f"is the index of a partition of {fabric.name} in which {nodes} is a limited member"


def _level(nccl: NcclProfile, fabric: Fabric) -> str | None:
    value = nccl.variables.get("NCCL_IB_SL")
    if value is None:
        return None
    levels = {item.service_level for item in fabric.classes} or {0}
    if value.isdecimal() and int(value) in levels:
        return None
    return f"is the service level of no class of {fabric.name}"
