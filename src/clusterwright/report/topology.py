"""A fabric in short: columns are the outermost groups, rows the levels of tiers, with counts instead of devices.

Equal neighbours are joined: eight equal pods read as one pod, eight times.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.nvlink import nvlink_domain_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.model import Device, Plan
    from clusterwright.spec.fabric import Fabric

Speeds = tuple[tuple[int, int], ...]  # (speed in Gb/s, links), the fastest first


@dataclass(frozen=True, slots=True)
class TopologyCell:
    """One column of a row: kinds of device (role, model, count), and the links going up from it."""

    members: tuple[tuple[str, str, int], ...]
    kinds: frozenset[str]
    uplinks: Speeds
    planes: int
    """Planes separated by the highest tier; 1 elsewhere."""

    @property
    def count(self) -> int:
        """Number of its devices."""
        return sum(count for _, _, count in self.members)


@dataclass(frozen=True, slots=True)
class Column:
    """An outermost group; ``cells`` from the endpoints upwards. ``level`` is "" for devices outside of groups."""

    name: str
    level: str
    cells: tuple[TopologyCell, ...]
    shares_nvlink: bool = False
    """True if its nodes are one NVLink domain."""


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring columns with equal contents."""

    columns: tuple[Column, ...]

    @property
    def count(self) -> int:
        """Number of its columns."""
        return len(self.columns)


@dataclass(frozen=True, slots=True)
class Topology:
    """A fabric: ``runs`` hold the rows below ``shared``, the rows of all columns together, lowest first."""

    runs: tuple[Run, ...]
    rows_per_column: int
    shared: tuple[TopologyCell, ...]


def topology(plan: Plan, fabric: Fabric) -> Topology:
    """The fabric's rows: row 0 the endpoints (nodes, or the devices of management ports), then its levels.

    Tiers beside each other share a row.
    """
    rows = _rows(plan, fabric)
    uplinks: dict[tuple[int, str], Counter[int]] = defaultdict(Counter)
    for cable in plan.cables:
        if cable.fabric == fabric.name:
            lower = plan.by_name[cable.a.device]
            row = plan.level(lower) + 1 if cable.a.side == "up" else 0
            uplinks[row, lower.pod][cable.speed_gbps] += 1

    def cell(row: int, devices: list[Device], pod: str) -> TopologyCell:
        counts = Counter((device.role, device.model) for device in devices)
        members = tuple((role, model, count) for (role, model), count in counts.items())
        kinds = frozenset(device.kind for device in devices)
        links = tuple(sorted(uplinks[row, pod].items(), reverse=True))
        apart = fabric.planes and row == len(rows) - 1
        planes = len({device.plane for device in devices}) if apart else 1
        return TopologyCell(members=members, kinds=kinds, uplinks=links, planes=planes)

    shared_from = _first_shared_row(rows)
    columns: dict[str, list[list[Device]]] = {}
    for row, devices in enumerate(rows[:shared_from]):
        for device in devices:
            columns.setdefault(device.pod, [[] for _ in range(shared_from)])[row].append(device)
    groups = plan.group_by_name
    listed = []
    for pod, devices_by_row in columns.items():
        column = Column(
            name=pod,
            level=groups[pod].level if pod else "",
            cells=tuple(cell(row, devices, pod) for row, devices in enumerate(devices_by_row)),
            shares_nvlink={nvlink_domain_of(plan, device) for device in devices_by_row[0]} == {pod},
        )
        listed.append(column)
    shared = tuple(cell(row, rows[row], "") for row in range(shared_from, len(rows)))
    return Topology(tuple(_runs(listed)), shared_from, shared)


def _first_shared_row(rows: list[list[Device]]) -> int:
    """The lowest row above the endpoints without devices of pods; the number of rows if there is none."""
    for row in range(1, len(rows)):
        if not any(device.pod for device in rows[row]):
            return row
    return len(rows)


def _rows(plan: Plan, fabric: Fabric) -> list[list[Device]]:
    endpoints = set()
    for cable in plan.cables:
        if cable.fabric == fabric.name and cable.a.side != "up":
            endpoints.add(cable.a.device)
    rows = [[device for device in plan.devices if device.name in endpoints]]
    switches = [device for device in plan.devices if device.fabric == fabric.name]
    levels = plan.tier_orders[fabric.name].levels
    level_by_role = {tier.role: level for tier, level in zip(fabric.tiers, levels, strict=True)}
    switches_by_level: dict[int, list[Device]] = defaultdict(list)
    for switch in switches:
        switches_by_level[level_by_role[switch.role]].append(switch)
    return [*rows, *(switches_by_level[level] for level in range(max(levels) + 1))]


def _runs(columns: list[Column]) -> Iterator[Run]:
    start = 0
    for index in range(1, len(columns) + 1):
        ends = index == len(columns)
        if ends or (columns[index].cells, columns[index].level) != (columns[start].cells, columns[start].level):
            yield Run(tuple(columns[start:index]))
            start = index
