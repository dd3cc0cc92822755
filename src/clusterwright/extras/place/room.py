"""The nodes available to a job, and their domains in the topology."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from clusterwright.extras.place.grid import Ints
from clusterwright.finding import ClusterwrightError
from clusterwright.nearest_name import did_you_mean
from clusterwright.plan.bandwidth import data_fabric, placement_levels
from clusterwright.plan.model import Plan
from clusterwright.spec.model import CLUSTER
from clusterwright.spec.workload import Job

NODE = "node"


@dataclass(frozen=True, slots=True)
class Room:
    """Nodes in service, in plan order.

    ``layers`` are named from the inside out: node, the domain levels, cluster. ``domains`` holds for each node its
    domain of each layer between node and cluster, as [layer, node]; domains of equal number lie in equal ones above.
    ``left_out`` are the nodes of the group out of service.
    """

    nodes: tuple[str, ...]
    gpus_per_node: int
    layers: tuple[str, ...]
    domains: Ints
    left_out: tuple[str, ...]
    joins_nodes_by_nvlink: bool = False
    """Whether one of the layers is that of nodes with common NVLink switch trays."""

    def layer_of(self, first: Ints, second: Ints) -> Ints:
        """For pairs of nodes, by index: the highest layer of their traffic, as an index of ``layers``."""
        climbed: Ints = (first != second).astype(np.int64)
        for labels in self.domains:
            climbed += labels[first] != labels[second]
        return climbed


def room_for(plan: Plan, job: Job, failed: Collection[str] = ()) -> Room:
    """The room for a job, without ``failed`` nodes, nodes out of service, and nodes with a cable out of service.

    Raises ClusterwrightError for unknown failed nodes, and for nodes without GPUs.
    """
    group = plan.spec.node_group(job.nodes)
    gpus = group.model.gpus if group is not None else None
    fabric = data_fabric(plan, job.nodes)
    if group is None or gpus is None or fabric is None:
        raise ClusterwrightError(f"Job {job.name}: {job.nodes} are no GPU nodes with a fabric for RDMA; name others.")
    group_nodes = [device for device in plan.devices if device.kind == "node" and device.node_group == job.nodes]
    _refuse_unknown(failed, [device.name for device in group_nodes], job)
    free = []
    for device in group_nodes:
        cables = (cable for cable in plan.cables_of[device.name] if cable.fabric == fabric.name)
        if device.state == "active" and device.name not in failed and all(cable.in_service for cable in cables):
            free.append(device)
    levels = placement_levels(plan, job.nodes)
    labels = np.zeros((len(levels), len(free)), np.int64)
    for row, level in enumerate(levels):
        numbers: dict[str, int] = {}
        for column, device in enumerate(free):
            domains = [name for name in device.groups if plan.group_by_name[name].level == level]
            labels[row, column] = numbers.setdefault(domains[0], len(numbers))
    kept = {device.name for device in free}
    return Room(
        nodes=tuple(device.name for device in free),
        gpus_per_node=gpus.count,
        layers=(NODE, *levels, CLUSTER),
        domains=labels,
        left_out=tuple(device.name for device in group_nodes if device.name not in kept),
        joins_nodes_by_nvlink=group.nvlink_domain is not None,
    )


def _refuse_unknown(failed: Collection[str], node_names: list[str], job: Job) -> None:
    for name in sorted(set(failed) - set(node_names)):
        hint = did_you_mean(name, node_names, f"They are named like {node_names[0]}.")
        raise ClusterwrightError(f'There is no node "{name}" among the {job.nodes} nodes. {hint}')
