"""Groups and nodes: racks, rows and pods, their nodes, and all their names.

A node group's levels cut its nodes into runs of equal size; the last run of a level may be short. A group's name is the
name of the group it is counted in, a letter and a number (pod p03, its 18th rack p03r017), so that it shows the way
there. Allocated groups keep their names, and new ones take the next free ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.plan.allocation.standing import Numbers, Standing
from clusterwright.plan.model import Group
from clusterwright.spec.model import CLUSTER, ClusterSpec, Inside, NodeGroup


@dataclass(frozen=True, slots=True)
class NodeSlot:
    """A node before it is a device: ``index`` within its node group, ``slot`` within its smallest group.

    ``number`` is its own in the cluster.

    ``groups`` are the indexes (into ``Layout.groups``) of the groups around it, smallest first. ``planned_name`` is its
    name where the site gives none.
    """

    name: str
    planned_name: str
    node_group: int
    index: int
    number: int
    slot: int
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """All groups of a cluster, and its nodes in order. ``around[i]`` are the groups around group i, itself first.

    ``left_out`` are the groups and nodes that were passed over.
    """

    groups: tuple[Group, ...]
    around: tuple[tuple[int, ...], ...]
    nodes: tuple[NodeSlot, ...]
    left_out: frozenset[str] = frozenset()

    def instances(self, level: str) -> list[int]:
        """Indexes of the groups at ``level``, in order."""
        return [index for index, group in enumerate(self.groups) if group.level == level]


def lay_out(spec: ClusterSpec, standing: Standing) -> Layout:
    """Cut the spec's nodes into groups and name both."""
    groups: list[Group] = []
    around: list[tuple[int, ...]] = []
    nodes: list[NodeSlot] = []
    counters: dict[tuple[str, str], int] = {}
    left_out: set[str] = set()
    numbers = Numbers(node.number for node in standing.nodes.values())
    placed: dict[str, list[tuple[int, int, str]]] = {}
    for node_group in spec.node_groups:
        if node_group.inside is None:
            placed[node_group.name] = _place(
                node_group, standing, groups, around=around, counters=counters, left_out=left_out
            )
    for node_group in spec.node_groups:
        if node_group.inside is not None:
            placed[node_group.name] = _place_inside(node_group, node_group.inside, standing, groups, left_out)
    for position, node_group in enumerate(spec.node_groups):
        for index, (home, slot, planned) in enumerate(placed[node_group.name]):
            name = standing.naming.node(node_group, planned)
            standing_node = standing.nodes.get(name)
            nodes.append(
                NodeSlot(
                    name=name,
                    planned_name=planned,
                    node_group=position,
                    index=index,
                    number=numbers.take(standing_node.number if standing_node else None),
                    slot=slot,
                    groups=around[home],
                )
            )
    return Layout(groups=tuple(groups), around=tuple(around), nodes=tuple(nodes), left_out=frozenset(left_out))


def _place(
    node_group: NodeGroup,
    standing: Standing,
    groups: list[Group],
    *,
    around: list[tuple[int, ...]],
    counters: dict[tuple[str, str], int],
    left_out: set[str],
) -> list[tuple[int, int, str]]:
    """Append the groups of a node group; returns the group, the slot and the planned name of each of its nodes.

    Places that the spec leaves out stay empty, and as many more are cut as they are; their names go to ``left_out``.
    """
    size = node_group.levels[0].of
    places = node_group.count
    while True:
        tried_groups, tried_around, tried_counters = list(groups), list(around), dict(counters)
        homes = _add_groups(
            node_group,
            places,
            standing,
            groups=tried_groups,
            around=tried_around,
            counters=tried_counters,
            left_out=left_out,
        )
        placed: list[tuple[int, int, str]] = []
        for index, home in enumerate(homes):
            if home < 0:
                continue
            for slot in range(min(size, places - index * size)):
                name = f"{node_group.prefix}-{tried_groups[home].name}n{slot}"
                if not _is_node_left_out(node_group, standing, name, left_out):
                    placed.append((home, slot, name))
        if len(placed) == node_group.count:
            break
        places += node_group.count - len(placed)
    groups[:], around[:] = tried_groups, tried_around
    counters.update(tried_counters)
    return placed


def _place_inside(
    node_group: NodeGroup, inside: Inside, standing: Standing, groups: Sequence[Group], left_out: set[str]
) -> list[tuple[int, int, str]]:
    """The group, the slot and the planned name of nodes inside the groups of others.

    Places left out by the spec stay empty, and no more are cut for them: so many stand in each group.
    """
    places: list[tuple[int, int, str]] = []
    for index, group in enumerate(groups):
        if group.node_group != inside.nodes or group.level != inside.level:
            continue
        for slot in range(inside.count):
            planned = f"{node_group.prefix}-{group.name}n{slot}"
            if not _is_node_left_out(node_group, standing, planned, left_out):
                places.append((index, slot, planned))
    return places


def group_counts(node_group: NodeGroup) -> dict[str, int]:
    """Number of instances of each level of a node group; instances left out may increase it."""
    return _counts(node_group, node_group.count)


def _counts(node_group: NodeGroup, places: int) -> dict[str, int]:
    counts = {}
    size = 1
    for level in node_group.levels:
        size *= level.of
        counts[level.name] = -(-places // size)
    return counts


def _add_groups(
    node_group: NodeGroup,
    places: int,
    standing: Standing,
    *,
    groups: list[Group],
    around: list[tuple[int, ...]],
    counters: dict[tuple[str, str], int],
    left_out: set[str],
) -> list[int]:
    """Append all groups of one node group, outermost level first; returns the indexes of its smallest groups.

    One that the spec leaves out is -1, and so is all that lies in it.
    """
    counts = _counts(node_group, places)
    above: list[int] = []
    above_of = 0
    for depth in range(len(node_group.levels) - 1, -1, -1):
        level = node_group.levels[depth]
        width = max(2, len(str(_most_siblings(node_group, depth, counts) - 1)))
        here: list[int] = []
        for index in range(counts[level.name]):
            outer = above[index // above_of] if above else None
            if outer == -1:
                here.append(-1)
                continue
            enclosing = around[outer] if outer is not None else ()
            base = next(
                (groups[group_index].name for group_index in enclosing if groups[group_index].level == level.within), ""
            )
            parent = groups[outer].name if outer is not None else ""
            standing_names = standing.groups.get((node_group.name, level.name, parent), ())
            number = index % above_of if above else index
            name = _group_name(
                standing_names, number, standing, counters=counters, within=(base, level.code), width=width
            )
            if _is_left_out(node_group, name, left_out):
                here.append(-1)
                continue
            groups.append(
                Group(name=name, level=level.name, index=_number_in(name), parent=parent, node_group=node_group.name)
            )
            around.append((len(groups) - 1, *enclosing))
            here.append(len(groups) - 1)
        above, above_of = here, level.of
    return above


def _is_left_out(node_group: NodeGroup, name: str, met: set[str]) -> bool:
    """Whether the spec leaves a place out: then it was ``met``."""
    if name in node_group.left_out:
        met.add(name)
        return True
    return False


def _is_node_left_out(node_group: NodeGroup, standing: Standing, planned: str, met: set[str]) -> bool:
    """The same for a node, by its planned name or the site's."""
    if not node_group.left_out:
        return False
    names = (planned, standing.naming.node(node_group, planned))
    return any(_is_left_out(node_group, name, met) for name in names)


def _number_in(name: str) -> int:
    """The number at the end of a group's name."""
    return int(name[len(name.rstrip("0123456789")) :])


def _group_name(
    standing_names: Sequence[str],
    index: int,
    standing: Standing,
    *,
    counters: dict[tuple[str, str], int],
    within: tuple[str, str],
    width: int,
) -> str:
    """The name of the allocated group at ``index``; else the next free one."""
    if index < len(standing_names):
        return standing_names[index]
    number = counters.get(within, 0)
    while (name := f"{within[0]}{within[1]}{number:0{width}d}") in standing.group_names:
        number += 1
    counters[within] = number + 1
    return name


def _most_siblings(node_group: NodeGroup, depth: int, counts: dict[str, int]) -> int:
    """The most instances of a level counted together: numbers keep their width when a group grows."""
    level = node_group.levels[depth]
    if level.within == CLUSTER:
        return counts[level.name]
    most = 1
    for larger in node_group.levels[depth + 1 :]:
        most *= larger.of
        if larger.name == level.within:
            return most
    return counts[level.name]
