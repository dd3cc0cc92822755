"""The cluster's topology as Slurm's scheduler sees it: a tree of groups, or blocks.

Leaves are the groups of the scheduler's leaf level; above them stands one switch for each larger group at which a tier
of the fabric ends (a pod, but not a row of racks), and one for the cluster. Real switches and links are left out on
purpose: listing them slows scheduling and places no job better.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from clusterwright.hosts.slurm.hostlist import hostlist
from clusterwright.intent.gpu_services import memory_exchange
from clusterwright.plan.bandwidth import domain_levels
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.job import Scheduler
from clusterwright.spec.model import CLUSTER

_IMEX_CHANNELS = "switch/nvidia_imex"


@dataclass(frozen=True, slots=True)
class TreeSwitch:
    """A line of topology.conf for the tree plugin: ``members`` are ``Nodes`` of a leaf, else ``Switches``."""

    name: str
    key: str
    members: str


@dataclass(frozen=True, slots=True)
class TopologyBlock:
    """A line of topology.conf for the block plugin."""

    name: str
    nodes: str


def compute_nodes(plan: Plan, scheduler: Scheduler) -> tuple[Device, ...]:
    """The compute nodes of Slurm; none for other machines."""
    if scheduler.slurm is None:
        return ()
    nodes = (device for device in plan.devices if device.kind == "node")
    return tuple(device for device in nodes if device.node_group in scheduler.nodes)


def tree(plan: Plan, scheduler: Scheduler) -> tuple[TreeSwitch, ...]:
    """Leaves first, then each larger level, the cluster last."""
    leaves = _leaves(plan, scheduler)
    switches = [TreeSwitch(name, "Nodes", hostlist(nodes)) for name, nodes in leaves.items()]
    boundaries = set(chain.from_iterable(domain_levels(plan, group) for group in scheduler.nodes))
    top: list[str] = []
    below = [name for name in leaves if name != CLUSTER]
    while below:
        parents: dict[str, list[str]] = {}
        for name in below:
            parents.setdefault(_parent(plan, name, boundaries), []).append(name)
        top += parents.pop(CLUSTER, [])
        switches.extend(TreeSwitch(name, "Switches", hostlist(members)) for name, members in parents.items())
        below = list(parents)
    if top:
        switches.append(TreeSwitch(CLUSTER, "Switches", hostlist(top)))
    return tuple(switches)


def _parent(plan: Plan, name: str, boundaries: set[str]) -> str:
    """The next larger group at a boundary; the cluster above all."""
    above = plan.group_by_name[name].parent
    while above and plan.group_by_name[above].level not in boundaries:
        above = plan.group_by_name[above].parent
    return above or CLUSTER


def blocks(plan: Plan, scheduler: Scheduler) -> tuple[TopologyBlock, ...]:
    """One block for each group of the leaf level."""
    return tuple(TopologyBlock(name, hostlist(nodes)) for name, nodes in _leaves(plan, scheduler).items())


def switch_type(plan: Plan, scheduler: Scheduler) -> str:
    """The plugin for an IMEX channel of each job (SwitchType); "" without NVLink domains."""
    for name in scheduler.nodes:
        group = plan.spec.node_group(name)
        if group is not None and memory_exchange(group, plan.spec.image(group.image or "")) is not None:
            return _IMEX_CHANNELS
    return ""


def _leaves(plan: Plan, scheduler: Scheduler) -> dict[str, list[str]]:
    """Node names by group of the leaf level; one group of all nodes if the leaf is the cluster."""
    leaves: dict[str, list[str]] = {}
    leaf = scheduler.slurm.leaf if scheduler.slurm is not None else CLUSTER
    for device in compute_nodes(plan, scheduler):
        at_leaf = [name for name in device.groups if plan.group_by_name[name].level == leaf]
        leaves.setdefault(at_leaf[0] if at_leaf else CLUSTER, []).append(device.name)
    return leaves
