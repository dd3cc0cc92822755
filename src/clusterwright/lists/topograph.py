"""The model file of NVIDIA's topograph: switches as a tree, with the nodes below them as blocks.

A switch has one parent there (``pkg/models/model.go`` of github.com/NVIDIA/topograph), but nodes on rails have several
leaves. So groups stand for their switches, as in Slurm's topology.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

from clusterwright.lists.records import Inventory
from clusterwright.plan.bandwidth import placement_levels
from clusterwright.plan.model import Device, Plan

CLUSTER = "cluster"


def topograph_lines(inventory: Inventory) -> Iterator[str]:
    """The YAML of the model: nodes with GPUs, and groups at the boundary of a fabric's tier or an NVLink domain."""
    plan = inventory.plan
    levels_of_group = {group.name: set(placement_levels(plan, group.name)) for group in plan.spec.node_groups}
    nodes_by_leaf: dict[str, list[Device]] = {}
    children: dict[str, list[str]] = {CLUSTER: []}
    for device in inventory.device_list:
        if device.kind != "node" or device.rank is None:
            continue
        path = [*_boundaries(plan, device, levels_of_group[device.node_group]), CLUSTER]
        nodes_by_leaf.setdefault(path[0], []).append(device)
        for child, parent in pairwise(path):
            siblings = children.setdefault(parent, [])
            if child not in siblings:
                siblings.append(child)
    yield "switches:\n"
    for name in dict.fromkeys((*children, *nodes_by_leaf)):
        yield f"- name: {_word(name)}\n"
        if children.get(name):
            yield f"  switches: [{', '.join(map(_word, children[name]))}]\n"
        if name in nodes_by_leaf:
            yield f"  capacity_blocks: [{_word(_block(name))}]\n"
    yield "capacity_blocks:\n" if nodes_by_leaf else "capacity_blocks: []\n"
    for name, nodes in nodes_by_leaf.items():
        yield f"- name: {_word(_block(name))}\n"
        yield f"  type: {_word(_accelerator(plan, nodes[0]))}\n"
        if _is_nvlink_domain(plan, name, nodes[0]):
            yield f"  nvlink: {_word(name)}\n"
        yield f"  nodes: [{', '.join(_word(node.name) for node in nodes)}]\n"


def _boundaries(plan: Plan, device: Device, levels: set[str]) -> list[str]:
    """The groups around a node with a tier's boundary, from the smallest."""
    return [name for name in device.groups if plan.group_by_name[name].level in levels]


def _is_nvlink_domain(plan: Plan, group: str, node: Device) -> bool:
    """Whether the nodes of a group share NVLink switch trays."""
    node_group = plan.spec.node_group(node.node_group)
    if node_group is None or node_group.nvlink_domain is None or group == CLUSTER:
        return False
    return plan.group_by_name[group].level == node_group.nvlink_domain


def _accelerator(plan: Plan, node: Device) -> str:
    gpus = plan.spec.catalogue[node.model].gpus
    return gpus.model if gpus is not None else ""


def _block(group: str) -> str:
    return f"block-{group}"


def _word(text: str) -> str:
    """A quoted string of YAML."""
    return json.dumps(text)
