"""Length of the cable to order, from the places of its two ends.

Only places stated by the spec shorten a cable: the rack of a node group's level, the network racks of a tier that
`stands` at a level, and racks on the floor. A rack chosen by the planner for a switch is a guess, so the tier's
``length_m`` counts there as it does between racks without a floor. Within a stated rack ``length_m`` counts while it is
long enough and no longer than any two units of a rack need, so that one length is ordered for all; a longer one was
meant for others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, isinf
from typing import NamedTuple

from clusterwright.plan.model import Device, Group, Plan
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.spec.model import RACK, ClusterSpec, NodeGroup
from clusterwright.spec.site import Floor

RACK_UNIT_M = 0.04445  # 1.75 inches (EIA-310)
SLACK_M = 0.5  # at each end, where the spec has no floor: to the side of the rack and back
# In metres, what vendors of copper, active optical cables and patch cords list.
LENGTHS_M = (0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 15, 20, 25, 30, 40, 50, 75, 100, 125, 150, 200, 250, 300)
# How far passive copper reaches up to a speed in Gb/s: 7 m for SFP+, 5 m with lanes of 25G (IEEE 802.3by, 802.3bj),
# 3 m with lanes of 50G (802.3cd), 2 m with lanes of 100G (802.3ck). 400G is taken as eight lanes of 50G.
DAC_REACH_M = ((10, 7.0), (100, 5.0), (400, 3.0), (1600, 2.0))


def reach_m(speed_gbps: int) -> float:
    """How far passive copper reaches at a speed, in metres."""
    return next(metres for fastest, metres in DAC_REACH_M if speed_gbps <= fastest)


class CableRun(NamedTuple):
    """The path of a cable: its length to order in metres, and its trays, from its lower end on.

    ``is_measured`` is False if only the tier sets the length.
    """

    length_m: float
    trays: tuple[str, ...]
    is_measured: bool


@dataclass(frozen=True, slots=True)
class RackPlace:
    """A rack on the floor: its row by index and name, its place in it from 1, and its middle from the row's head."""

    row: int
    row_name: str
    position: int
    x_m: float


class CableRuns:
    """The paths between ``devices``, by name.

    A device stands in a rack if one of ``groups`` has its name and the spec states it; it may also be counted in a
    larger group of unknown width.
    """

    def __init__(self, spec: ClusterSpec, groups: Iterable[Group], devices: Mapping[str, Device]) -> None:
        self._floor = spec.site.floor
        self._devices = devices
        self._racks = frozenset(group.name for group in groups if group.level == RACK)
        self._stated_tiers: set[tuple[str, int]] = set()
        for fabric in spec.fabrics:
            stated = [depth for depth, tier in enumerate(fabric.tiers) if tier.stands is not None]
            self._stated_tiers |= {(fabric.name, depth) for depth in stated}
        self._rack_units = spec.site.rack_units
        self._units = {name: model.units for name, model in spec.catalogue.items()}
        self._slack = SLACK_M if self._floor is None else self._floor.slack_m
        self._lengths = LENGTHS_M if self._floor is None else tuple(sorted(self._floor.lengths_m)) or LENGTHS_M
        self._places = rack_places(self._floor)
        self._within = self.ordered(self._rack_units * RACK_UNIT_M + 2 * self._slack)
        self._known: dict[tuple[object, ...], CableRun] = {}

    def between(self, lower: str, upper: str, planned_m: float) -> CableRun:
        """The path between two devices, with ``planned_m`` for their tier."""
        one, other = self._devices[lower], self._devices[upper]
        if not self._places and not self._share_stated_rack(one, other):
            return CableRun(planned_m, (), False)
        key = (one.rack, one.unit, one.model, other.rack, other.unit, other.model, planned_m)
        if key not in self._known:
            self._known[key] = self._between(one, other, planned_m)
        return self._known[key]

    def ordered(self, metres: float) -> float:
        """The next length on sale; whole metres beyond the longest."""
        return _ordered(metres, self._lengths)

    def _between(self, one: Device, other: Device, planned_m: float) -> CableRun:
        if self._share_stated_rack(one, other):
            needed = self.ordered(abs(self._height(one) - self._height(other)) + 2 * self._slack)
            fits = self._floor is None and needed <= planned_m <= self._within
            return CableRun(planned_m if fits else needed, (), True)
        here, there = self._places.get(one.rack), self._places.get(other.rack)
        if self._floor is None or here is None or there is None:
            return CableRun(planned_m, (), False)
        trays, along = _way(self._floor, here, there)
        upright = sum(abs(self._floor.tray_m - self._height(end)) for end in (one, other))
        return CableRun(self.ordered(upright + along + 2 * self._slack), trays, True)

    def _share_stated_rack(self, one: Device, other: Device) -> bool:
        """Whether two devices stand in one rack, and the spec states it of both."""
        if one.rack != other.rack or one.rack not in self._racks:
            return False
        if one.rack in self._places:
            return True
        return self._is_rack_stated(one) and self._is_rack_stated(other)

    def _is_rack_stated(self, device: Device) -> bool:
        """Whether a level of the spec puts a device there: nodes of a rack, its switches, and tiers that `stand`."""
        return device.rack in device.groups or (device.fabric, device.tier) in self._stated_tiers

    def _height(self, device: Device) -> float:
        """Of the middle of a device; of a cabinet of its own, the middle of a rack."""
        units = self._units[device.model]
        above = device.unit - 1 + units / 2 if device.unit else self._rack_units / 2
        return above * RACK_UNIT_M


def _ordered(metres: float, lengths: Sequence[float]) -> float:
    index = bisect_left(lengths, round(metres, 3))
    return float(lengths[index]) if index < len(lengths) else float(ceil(metres))


def at_most_m(spec: ClusterSpec, planned_m: float) -> float:
    """An upper bound on the cables of a tier with ``planned_m``, for all places of both ends in their racks.

    Infinity if only the plan can decide: with a floor, beside allocated devices, and with nodes outside their racks.
    """
    rack_units = spec.site.rack_units
    if spec.site.floor is not None or spec.allocated or any(_pile(group) > rack_units for group in spec.node_groups):
        return inf
    return max(planned_m, _ordered(rack_units * RACK_UNIT_M + 2 * SLACK_M, LENGTHS_M))


def cables_at_most(spec: ClusterSpec, fabrics: Iterable[FabricSkeleton]) -> Mapping[tuple[str, int, str], float]:
    """An upper bound on ``longest_cables``, known without a plan; nothing if only a plan has one."""
    cables: dict[tuple[str, int, str], float] = {}
    if isinf(at_most_m(spec, 0)):
        return cables
    for skeleton in fabrics:
        fabric, joined = skeleton.fabric, skeleton.joined_tiers()
        for depth, tier in enumerate(fabric.tiers):
            lower_tiers = [lower for lower, upper in joined if upper is tier]
            below = [lower.up.side.length_m for lower in lower_tiers if lower.up is not None]
            cables[fabric.name, depth, "down"] = at_most_m(spec, max(tier.down.length_m, *below, 0))
            if tier.up is not None:
                cables[fabric.name, depth, "up"] = at_most_m(spec, tier.up.side.length_m)
    return cables


def _pile(group: NodeGroup) -> int:
    """How high in rack units the nodes of a group stand in one rack."""
    count = 1
    for level in group.levels:
        count *= level.of
        if level.name == RACK:
            return count * ceil(group.model.units)
    return 0


def runs_of(plan: Plan) -> CableRuns:
    """The paths between the devices of a plan."""
    return CableRuns(plan.spec, plan.groups, plan.by_name)


def longest_cables(plan: Plan) -> Mapping[tuple[str, int, str], float]:
    """The longest cable's length in metres of each fabric, tier and side of its switches (``down``, ``up``).

    Headroom is sized for it.
    """
    cables: dict[tuple[str, int, str], float] = {}
    for cable in plan.cables:
        below = plan.by_name[cable.a.device].tier
        for key in ((cable.fabric, cable.tier, "down"), (cable.fabric, below, cable.a.side)):
            cables[key] = max(cables.get(key, 0.0), cable.headroom_m)
    return cables


def rack_places(floor: Floor | None) -> Mapping[str, RackPlace]:
    """Place of each rack on the floor. Lint refuses a rack with two (CW704): here the first one counts."""
    places: dict[str, RackPlace] = {}
    if floor is None:
        return places
    for number, row in enumerate(floor.rows):
        try:
            names = [name for name, _ in row.places()]
        except ValueError:  # lint says so (CW704)
            continue
        for index, name in enumerate(names):
            middle_m = (index + 0.5) * floor.rack_width_m
            place = RackPlace(row=number, row_name=row.name, position=index + 1, x_m=middle_m)
            places.setdefault(name, place)
    return places


def _way(floor: Floor, here: RackPlace, there: RackPlace) -> tuple[tuple[str, ...], float]:
    """The trays between two places in their order, and the metres in them."""
    x, other_x = here.x_m, there.x_m
    if here.row == there.row:
        return (here.row_name,), abs(x - other_x)
    across = abs(here.row - there.row) * floor.row_pitch_m
    if not floor.crossings_m:
        return (here.row_name, there.row_name), abs(x - other_x) + across
    crossing = min(floor.crossings_m, key=lambda metres: (abs(x - metres) + abs(other_x - metres), metres))
    trays = (here.row_name, f"crossing {crossing:g} m", there.row_name)
    return trays, abs(x - crossing) + abs(other_x - crossing) + across
