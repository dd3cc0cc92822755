"""CW409 to CW414: service levels, and NCCL on InfiniBand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import named_groups
from clusterwright.spec.attachment import leaves_of_gpus
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.job import NcclProfile
from clusterwright.spec.zone_reach import memberships_of

INFINIBAND = "infiniband"
MANAGEMENT_LEVEL = 0


@rule("CW409", Severity.ERROR)
def level_on_ethernet(subject: Subject) -> Iterator[Problem]:
    """Classes with a service level on fabrics other than InfiniBand."""
    for fabric in subject.spec.fabrics:
        if fabric.technology == INFINIBAND:
            continue
        for item in fabric.classes:
            if item.service_level is not None:
                message = f"{fabric.name} is {fabric.technology}: class {item.name} has no packets there."
                yield Problem((*item.path, "service_level"), message, "Write `dscp: [...]` instead.", key=True)


@rule("CW410", Severity.ERROR)
def levels(subject: Subject) -> Iterator[Problem]:
    """Service levels of two classes, fabrics without a class for level 0, and PFC priorities."""
    for fabric in subject.spec.fabrics:
        if fabric.technology != INFINIBAND or not fabric.classes or not _all_have_levels(fabric):
            continue
        owner: dict[int | None, str] = {}
        for item in fabric.classes:
            if item.priority is not None:
                message = f"{fabric.name} is InfiniBand, which pauses no priority."
                yield Problem((*item.path, "priority"), message, "Remove `priority`.", key=True)
            if item.service_level in owner:
                message = f"Service level {item.service_level} belongs to {owner[item.service_level]} already."
                yield Problem((*item.path, "service_level"), message, f"Choose another level for {item.name}.")
            owner.setdefault(item.service_level, item.name)
        if MANAGEMENT_LEVEL not in owner:
            message = f"No class of {fabric.name} has service level 0."
            yield Problem((*fabric.path, "classes"), message, "Give one class `service_level: 0`.")


def _all_have_levels(fabric: Fabric) -> bool:
    """False for a fabric with a class of DSCPs instead: CW301 reports it."""
    return all(item.service_level is not None for item in fabric.classes)


def _targets(subject: Subject) -> Iterator[tuple[NcclProfile, Fabric]]:
    """The NCCL profiles on InfiniBand, each with its fabric."""
    for nccl in subject.spec.nccl_profiles:
        fabric = subject.spec.fabric(nccl.fabric)
        if fabric is not None and fabric.technology == INFINIBAND:
            yield nccl, fabric


@rule("CW411", Severity.ERROR)
def nccl_level(subject: Subject) -> Iterator[Problem]:
    """NCCL's service level and data class, compared with the classes of its InfiniBand fabric."""
    for nccl, fabric in _targets(subject):
        if _all_have_levels(fabric):
            yield from _level_faults(nccl, fabric)


def _level_faults(nccl: NcclProfile, fabric: Fabric) -> Iterator[Problem]:
    level_by_class = {item.name: item.service_level for item in fabric.classes}
    if nccl.data_class is not None and nccl.data_class not in level_by_class:
        message = f"{fabric.name} has no class {nccl.data_class}."
        yield Problem((*nccl.path, "data_class"), message, f"There is: {', '.join(level_by_class) or 'none'}.")
        return
    if nccl.service_level is None:
        return
    path = (*nccl.path, "service_level")
    if nccl.data_class is not None and level_by_class[nccl.data_class] != nccl.service_level:
        class_level = level_by_class[nccl.data_class]
        message = f"Class {nccl.data_class} has service level {class_level}, not {nccl.service_level}."
        yield Problem(path, message, "Remove `service_level`: it follows from the class.")
    elif fabric.classes and nccl.service_level not in level_by_class.values():
        levels = sorted(level for level in level_by_class.values() if level is not None)
        message = f"No class of {fabric.name} has service level {nccl.service_level}."
        yield Problem(path, message, f"There is: {', '.join(map(str, levels))}.")
    elif not fabric.classes and nccl.service_level != MANAGEMENT_LEVEL:
        message = f"{fabric.name} has no classes: all levels share one lane, and {nccl.service_level} means nothing."
        yield Problem(path, message, "Describe `classes`, or use service level 0.")


@rule("CW412", Severity.ERROR)
def nccl_partition(subject: Subject) -> Iterator[Problem]:
    """NCCL nodes without full membership in a partition of their fabric, by a limited default."""
    for nccl, fabric in _targets(subject):
        manager = fabric.subnet_manager
        if manager is None or manager.default_membership == "full":
            continue
        zones = chain.from_iterable(partition.zones for partition in fabric.partitions)
        if any(subject.spec.zone(zone) is None for zone in zones):
            continue  # CW152 reports it
        members = [memberships_of(subject.spec, partition) for partition in fabric.partitions]
        for name, path in named_groups(subject.spec, nccl.nodes, (*nccl.path, "nodes")):
            if not any(member.get(name) == "full" for member in members):
                message = (
                    f"{name} is a full member of no partition of {fabric.name}: its nodes do not reach each other."
                )
                yield Problem(path, message, "Add its zone to a partition with `membership: full`.")


@rule("CW413", Severity.ERROR)
def nccl_features(subject: Subject) -> Iterator[Problem]:
    """NCCL variables for CollNet and adaptive routing, on fabrics without SHARP or adaptive routing."""
    for nccl, fabric in _targets(subject):
        manager = fabric.subnet_manager
        if manager is None:
            continue
        for name, value in nccl.variables.items():
            path = (*nccl.path, "variables", name)
            if _enables_collnet(name, value) and not manager.sharp:
                yield Problem(path, f"{fabric.name} has no SHARP, which {name}={value} requires.", "Remove it.")
            if name == "NCCL_IB_ADAPTIVE_ROUTING" and value != "0" and not manager.adaptive_routing:
                yield Problem(path, f"{fabric.name} has no adaptive routing, which {name} requires.", "Remove it.")


def _enables_collnet(name: str, value: str) -> bool:
    if name == "NCCL_COLLNET_ENABLE":
        return value != "0"
    return name == "NCCL_ALGO" and "collnet" in value.lower() and not value.startswith("^")


@rule("CW414", Severity.WARNING)
def crossing_rails(subject: Subject) -> Iterator[Problem]:
    """`cross_nic: 1`, or its variable, on an InfiniBand fabric with a leaf tier joined by rail."""
    for nccl, fabric in _targets(subject):
        leaves = leaves_of_gpus(subject.spec, fabric) or fabric.tiers[:1]
        if leaves[0].join != "rail":
            continue
        role = leaves[0].role
        message = f"Each NIC of {', '.join(nccl.nodes)} has a {role} of its own, so that crossing NICs costs hops."
        if nccl.cross_nic == 1:
            yield Problem((*nccl.path, "cross_nic"), message, "Remove `cross_nic`, or write 0.")
        if nccl.variables.get("NCCL_CROSS_NIC") == "1":
            yield Problem((*nccl.path, "variables", "NCCL_CROSS_NIC"), message, "Remove it.")
