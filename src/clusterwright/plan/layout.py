"""Groups and nodes: who is in which rack, row, pod, and what everything is called.

A node group's levels cut its nodes into runs of equal size; the last run of a level may be short. A group's name is the
name of the group it is counted in, a letter and a number (pod p03, its 18th rack p03r017), so that it says where to
walk.
"""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.plan.model import Group
from clusterwright.spec.model import CLUSTER, ClusterSpec, NodeGroup


@dataclass(frozen=True, slots=True)
class NodeSlot:
    """A node before it is a device: ``index`` within its node group, ``slot`` within its smallest group.

    ``groups`` are the indexes (into ``Layout.groups``) of the groups around it, smallest first.
    """

    name: str
    node_group: int
    index: int
    slot: int
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """All groups of a cluster, and its nodes in order. ``around[i]`` are the groups around group i, itself first."""

    groups: tuple[Group, ...]
    around: tuple[tuple[int, ...], ...]
    nodes: tuple[NodeSlot, ...]

    def instances(self, level: str) -> list[int]:
        """Indexes of the groups at ``level``, in order."""
        return [index for index, group in enumerate(self.groups) if group.level == level]


def lay_out(spec: ClusterSpec) -> Layout:
    """Cut the spec's nodes into groups and name both."""
    groups: list[Group] = []
    around: list[tuple[int, ...]] = []
    nodes: list[NodeSlot] = []
    counters: dict[tuple[str, str], int] = {}
    for position, node_group in enumerate(spec.node_groups):
        chains = _add_groups(node_group, groups, around, counters)
        size = node_group.levels[0].of
        for index in range(node_group.count):
            home = chains[index // size]
            slot = index % size
            nodes.append(
                NodeSlot(f"{node_group.prefix}-{groups[home].name}n{slot}", position, index, slot, around[home])
            )
    return Layout(tuple(groups), tuple(around), tuple(nodes))


def group_counts(node_group: NodeGroup) -> dict[str, int]:
    """How many instances of each level a node group has."""
    counts = {}
    size = 1
    for level in node_group.levels:
        size *= level.of
        counts[level.name] = -(-node_group.count // size)
    return counts


def _add_groups(
    node_group: NodeGroup,
    groups: list[Group],
    around: list[tuple[int, ...]],
    counters: dict[tuple[str, str], int],
) -> list[int]:
    """Append all groups of one node group, outermost level first; returns the indexes of its smallest groups."""
    counts = group_counts(node_group)
    above: list[int] = []
    above_of = 0
    for depth in range(len(node_group.levels) - 1, -1, -1):
        level = node_group.levels[depth]
        width = max(2, len(str(_most_siblings(node_group, depth, counts) - 1)))
        here: list[int] = []
        for index in range(counts[level.name]):
            outer = above[index // above_of] if above else None
            enclosing = around[outer] if outer is not None else ()
            base = next((groups[at].name for at in enclosing if groups[at].level == level.within), "")
            number = counters.get((base, level.code), 0)
            counters[base, level.code] = number + 1
            parent = groups[outer].name if outer is not None else ""
            groups.append(Group(f"{base}{level.code}{number:0{width}d}", level.name, number, parent, node_group.name))
            around.append((len(groups) - 1, *enclosing))
            here.append(len(groups) - 1)
        above, above_of = here, level.of
    return above


def _most_siblings(node_group: NodeGroup, depth: int, counts: dict[str, int]) -> int:
    """The most instances of a level that are counted together, so that numbers get equal width when a group grows."""
    level = node_group.levels[depth]
    if level.within == CLUSTER:
        return counts[level.name]
    most = 1
    for larger in node_group.levels[depth + 1 :]:
        most *= larger.of
        if larger.name == level.within:
            return most
    return counts[level.name]
