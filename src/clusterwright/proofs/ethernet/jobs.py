"""The bandwidth left to a job after a failure on the paths between its racks.

Jobs are placed as planned: contiguously, in one subtree if they fit into one, otherwise from the first rack of a
subtree. The subtrees of a level are its units: the switches up to a tier, connected by cables. Two racks of a job meet
at the top of its unit, so the traffic between them is ``min(1, sum over the tops of the lesser of both racks' Gb/s
there / Gb/s of its hosts)``. A collective is as fast as its worst pair, so the least over all racks is taken at every
top: this is exact while at most two racks are hit differently from the others, as by any failure of two things, and
never too large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from clusterwright.proofs.ethernet.network import Integers
from clusterwright.proofs.ethernet.uplinks import FabricUplinks, Failure

Floats = NDArray[np.float64]
_NOTHING, _DIGITS = 1e-9, 12  # a fraction of bandwidth that counts as none; digits in which equal rows agree


@dataclass(frozen=True, eq=False, slots=True)
class RoutedUnit:
    """A subtree with racks meeting at its tops."""

    uplinks: FabricUplinks
    level: int
    """Rank of the tops."""
    racks: int
    nodes: int
    leaves: Integers
    """Bottom switches, as routers of the fabric."""
    inner: Integers
    """Switches above the leaves, as routers of the fabric."""
    row: Integers
    """Each router's index among the leaves or the inner switches, -1 elsewhere."""
    above: Floats
    """By inner switch, the fraction of its load from below going to each inner switch."""
    below: Floats
    """By leaf, the fraction of its load from below going to each inner switch."""
    share: Floats
    """By inner switch, the fraction of its load from below reaching each top."""
    reach: Floats
    """By leaf, the fraction of its load from below reaching each top."""
    healthy: float
    """Undisturbed bandwidth between its racks, as a fraction of the Gb/s of the hosts."""


@dataclass(frozen=True, slots=True)
class JobSize:
    """Jobs from ``low`` to ``high`` nodes, fitting into these units but not into smaller ones."""

    low: int
    high: int
    units: tuple[RoutedUnit, ...]


def job_sizes(uplinks: FabricUplinks) -> tuple[JobSize, ...]:
    """Sizes of jobs by the level of their racks' meeting point, smallest first; jobs within a rack need no fabric."""
    biggest = int(uplinks.units[0].nodes.max(initial=0))
    sizes = []
    for level in range(1, len(uplinks.units)):
        units = tuple(_units(uplinks, level))
        most = max((unit.nodes for unit in units), default=0)
        if most > biggest:
            sizes.append(JobSize(biggest + 1, most, tuple(unit for unit in units if unit.nodes > biggest)))
            biggest = most
    return tuple(sizes)


def _units(uplinks: FabricUplinks, level: int) -> Iterator[RoutedUnit]:
    fabric = uplinks.fabric
    rank = fabric.rank
    inside = rank[uplinks.high] <= level
    count = len(fabric.routers)
    ends = uplinks.low[inside], uplinks.high[inside]
    _, member = connected_components(coo_array((np.ones(len(ends[0])), ends), shape=(count, count)), directed=False)
    for component in np.unique(member[uplinks.leaves]).tolist():
        routers = np.flatnonzero((member == component) & (rank <= level))
        leaves = routers[(rank[routers] == 0) & ~uplinks.tops[routers] & (uplinks.units[0].nodes[routers] > 0)]
        inner = routers[rank[routers] > 0]
        if not (len(leaves) and len(inner)) or uplinks.units[level].racks[leaves[0]] < 2:
            continue
        row = np.full(count, -1)
        row[leaves], row[inner] = np.arange(len(leaves)), np.arange(len(inner))
        of_unit = inside & (row[uplinks.low] >= 0) & (row[uplinks.high] >= 0)
        weight = uplinks.gbps / uplinks.down[uplinks.low]
        from_leaf = of_unit & (rank[uplinks.low] == 0)
        below = _matrix(row, uplinks, weight, from_leaf, (len(leaves), len(inner)))
        above = _matrix(row, uplinks, weight, of_unit & ~from_leaf, (len(inner), len(inner)))
        tops = ~above.any(axis=1)
        share = np.eye(len(inner))[:, tops]
        for tier in range(level - 1, 0, -1):
            rows = np.flatnonzero((rank[inner] == tier) & ~tops)
            share[rows] = _capped(above[rows] @ share)
        racks, nodes = (int(of[leaves[0]]) for of in (uplinks.units[level].racks, uplinks.units[level].nodes))
        reach = below @ share
        yield RoutedUnit(
            uplinks=uplinks,
            level=level,
            racks=racks,
            nodes=nodes,
            leaves=leaves,
            inner=inner,
            row=row,
            above=above,
            below=below,
            share=share,
            reach=reach,
            healthy=_least(reach),
        )


def _matrix(
    row: Integers, uplinks: FabricUplinks, weight: Floats, chosen: NDArray[np.bool_], shape: tuple[int, int]
) -> Floats:
    cells = row[uplinks.low[chosen]], row[uplinks.high[chosen]]
    return np.asarray(coo_array((weight[chosen], cells), shape=shape).toarray())


def _capped(rows: Floats) -> Floats:
    """Rows scaled down to a sum of at most 1."""
    return np.asarray(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1))


def _least(reach: Floats) -> float:
    """The traffic between the worst pair of rows, from 0 to 1."""
    bound = float(reach.min(axis=0).sum())
    if bound >= 1 or float(reach.sum(axis=1).min()) <= bound + _NOTHING:  # one row is the least at every top
        return min(1.0, bound)
    rows = _different(reach)
    least = 1.0
    for index, row in enumerate(rows):
        least = min(least, float(np.minimum(row, rows[index:]).sum(axis=1).min()))
    return least


def _different(rows: Floats) -> Floats:
    return np.unique(rows.round(_DIGITS), axis=0)


def left_after(unit: RoutedUnit, failure: Failure) -> float | None:
    """The bandwidth left between a unit's racks, as a fraction; None for a failure without effect on the unit.

    Racks with a failed rack switch are no longer in the job and do not count.
    """
    rank, row = unit.uplinks.fabric.rank, unit.row
    lows, highs = unit.uplinks.low, unit.uplinks.high
    failed_switches = [switch for switch in failure.switches if row[switch] >= 0]
    failed_links = [link for link in failure.links if min(row[lows[link]], row[highs[link]]) >= 0]
    failed_inner = [switch for switch in failed_switches if rank[switch] > 0]
    if not (failed_inner or failed_links):
        return None
    lost: dict[tuple[int, int], float] = {}
    for link in dict.fromkeys(failed_links):
        low, high = int(lows[link]), int(highs[link])
        lost[low, high] = lost.get((low, high), 0.0) + unit.uplinks.gbps[link] / unit.uplinks.down[low]
    share = _share_after(unit, failed_inner, lost)
    reach = unit.reach
    changed = np.flatnonzero((share != unit.share).any(axis=1))
    if len(changed):
        reach = reach + unit.below[:, changed] @ (share[changed] - unit.share[changed])
    elif lost:
        reach = reach.copy()
    for (low, high), part in lost.items():
        if rank[low] == 0:
            reach[row[low]] -= part * share[row[high]]
    failed_racks = list({int(row[switch]) for switch in failed_switches if rank[switch] == 0})
    if failed_racks:
        reach = np.delete(reach, failed_racks, axis=0)
    if unit.racks - len(failed_racks) < 2 or unit.healthy <= 0:
        return None
    remaining = _least(np.maximum(reach, 0)) / unit.healthy
    return remaining if remaining > _NOTHING else 0.0


def _share_after(unit: RoutedUnit, failed_inner: list[int], lost: dict[tuple[int, int], float]) -> Floats:
    """The inner switches' shares by top, without the failed switches and parts of cables."""
    rank, row = unit.uplinks.fabric.rank, unit.row
    cuts = [(int(row[low]), int(row[high]), part) for (low, high), part in lost.items() if rank[low] > 0]
    if not (failed_inner or cuts):
        return unit.share
    share = unit.share.copy()
    failed_rows = [int(row[switch]) for switch in failed_inner]
    share[failed_rows] = 0
    changed_rows = set(failed_rows)
    rows_with_cuts = {low for low, _, _ in cuts}
    for tier in range(unit.level - 1, 0, -1):
        rows = np.flatnonzero(rank[unit.inner] == tier)
        is_affected = np.isin(rows, sorted(rows_with_cuts))
        if changed_rows:
            is_affected |= unit.above[rows][:, sorted(changed_rows)].any(axis=1)
        rows = rows[is_affected & ~np.isin(rows, failed_rows)]
        if not len(rows):
            continue
        weights = unit.above[rows]
        index_of_row = {row_of_tier: index for index, row_of_tier in enumerate(rows.tolist())}
        for low, high, part in cuts:
            if low in index_of_row:
                weights[index_of_row[low], high] -= part
        share[rows] = _capped(weights @ share)
        changed_rows |= set(rows.tolist())
    return share


def leaf_cables_after(unit: RoutedUnit, links: Integers) -> Floats:
    """``left_after`` for many single cables between a leaf and the switch above it, at once."""
    low, high = unit.row[unit.uplinks.low[links]], unit.row[unit.uplinks.high[links]]
    part = unit.uplinks.gbps[links] / unit.uplinks.down[unit.uplinks.low[links]]
    affected = np.maximum(unit.reach[low] - part[:, None] * unit.share[high], 0)
    remaining = np.full(len(links), unit.healthy)  # an upper bound, reached by pairs without the affected rack
    for row in _different(unit.reach):
        remaining = np.minimum(remaining, np.minimum(affected, row).sum(axis=1))
    remaining /= unit.healthy
    return np.where(remaining > _NOTHING, remaining, 0.0)


def upper_cables_after(unit: RoutedUnit, low: int, links: Integers) -> Floats:
    """``left_after`` for many single cables from one inner switch to tops of the unit, at once.

    Only for a switch without load from other inner switches: nothing but its own share and its leaves' changes.
    """
    uplinks, row = unit.uplinks, unit.row
    switch, high = int(row[low]), row[uplinks.high[links]]
    weights = np.repeat(unit.above[switch][None, :], len(links), axis=0)
    weights[np.arange(len(links)), high] -= uplinks.gbps[links] / uplinks.down[low]
    changes = _capped(weights @ unit.share) - unit.share[switch]
    uses_switch = unit.below[:, switch] != 0
    # Each row with its fraction going to that switch, as only this fraction changes.
    affected_rows = _different(np.column_stack((unit.reach[uses_switch], unit.below[uses_switch, switch])))
    after = [np.maximum(row[:-1] + row[-1] * changes, 0) for row in affected_rows]
    remaining = np.full(len(links), unit.healthy)  # an upper bound, reached by pairs not using the switch
    for number, rows in enumerate(after):
        for other_rows in (*after[number:], *_different(unit.reach[~uses_switch])):
            remaining = np.minimum(remaining, np.minimum(rows, other_rows).sum(axis=1))
    remaining /= unit.healthy
    return np.where(remaining > _NOTHING, remaining, 0.0)


def _by_case(failed: Iterable[tuple[int, ...]]) -> Integers:
    """Rows of a failure's index and one of its failed indexes."""
    pairs = []
    for case, indexes in enumerate(failed):
        pairs += [(case, index) for index in indexes]
    return np.array(pairs, np.int64).reshape(-1, 2)


def worst_job(sizes: JobSize, failures: list[Failure]) -> tuple[float, int, RoutedUnit | None]:
    """The least bandwidth left to a job of these sizes over some failures, with the failure's index and the unit."""
    worst: tuple[float, int, RoutedUnit | None] = (1.0, -1, None)
    switches = _by_case(failure.switches for failure in failures)
    links = _by_case(failure.links for failure in failures)
    size = np.array([len(failure.switches) + len(failure.links) for failure in failures])

    for unit in sizes.units:
        if unit.healthy <= 0:
            continue
        rank, row = unit.uplinks.fabric.rank, unit.row
        low, high = unit.uplinks.low[links[:, 1]], unit.uplinks.high[links[:, 1]]
        is_inside = (row[low] >= 0) & (row[high] >= 0)
        is_simple = is_inside & (rank[low] == 0) & (size[links[:, 0]] == 1)
        if is_simple.any():
            remaining_by_cable = leaf_cables_after(unit, links[is_simple, 1])
            if remaining_by_cable.min() < worst[0]:
                case = int(links[is_simple, 0][int(remaining_by_cable.argmin())])
                worst = float(remaining_by_cable.min()), case, unit
        is_single = is_inside & ~is_simple & (size[links[:, 0]] == 1) & (rank[high] == unit.level)
        remaining_by_case: dict[int, float] = {}
        for switch in np.unique(low[is_single]).tolist():
            if unit.above[:, row[switch]].any():
                continue
            links_of_switch = links[is_single & (low == switch)]
            remaining_by_cable = upper_cables_after(unit, switch, links_of_switch[:, 1])
            remaining_by_case |= zip(links_of_switch[:, 0].tolist(), remaining_by_cable, strict=True)
        is_upper = (row[switches[:, 1]] >= 0) & (rank[switches[:, 1]] > 0)
        others = np.union1d(links[is_inside & ~is_simple, 0], switches[is_upper, 0])
        for case in others.tolist():
            remaining = remaining_by_case.get(case)
            if remaining is None:
                remaining = left_after(unit, failures[case])
            if remaining is not None and remaining < worst[0]:
                worst = float(remaining), case, unit
    return worst
