"""Places in racks: nodes and rack switches in their rack, other switches in any rack with room.

Switches of a level inside a pod stand in the first of that level's racks with room; those of the outermost level and of
the whole cluster stand in network racks of their own, filled from the bottom. A tier that `stands` at a level stands in
the network racks of that level. Allocated devices stay at their place, and others find theirs around them. Where the
spec limits the power of a rack, such switches also need that much of it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

from clusterwright.plan.layout import Layout, NodeSlot
from clusterwright.plan.model import Group
from clusterwright.plan.seats import Seat
from clusterwright.plan.skeleton import Skeleton
from clusterwright.spec.fabric import Tier
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.model import CLUSTER, RACK, ClusterSpec

NETWORK_RACK_CODE = "x"


@dataclass
class Racks:
    """Racks as they are filled: ``added`` are the network racks opened on the way, in order.

    ``places`` are the rack and the lowest unit of each device, ``contents`` the models in each rack. What stands in no
    level called rack has the name of its smallest group as its rack.
    """

    layout: Layout
    rack_units: int
    rack_power_w: int | None
    added: list[Group] = field(default_factory=list)
    places: dict[str, tuple[str, float]] = field(default_factory=dict)
    contents: dict[str, list[HardwareModel]] = field(default_factory=lambda: defaultdict(list))
    _used: dict[str, float] = field(default_factory=dict)
    _kept: dict[str, tuple[str, float]] = field(default_factory=dict)
    _full: dict[str, set[int]] = field(default_factory=dict)
    _open: dict[str, str] = field(default_factory=dict)
    _inside: dict[int, list[str]] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _networks: set[str] = field(default_factory=set)
    _racks: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._names.update(group.name for group in self.layout.groups)  # a level of the spec may have our letter
        for index, group in enumerate(self.layout.groups):
            if group.level == RACK:
                self._racks.add(group.name)
                for outer in self.layout.around[index]:
                    self._inside.setdefault(outer, []).append(group.name)

    def power_w(self, rack: str) -> int:
        """The power of all devices in a rack, as the catalogue rates them."""
        return sum(model.power_w for model in self.contents.get(rack, ()))

    def is_rack(self, name: str) -> bool:
        """Whether a place is a rack, rather than a group of nodes that stand in no level called rack."""
        return name in self._networks or name in self._racks

    def is_network_rack(self, name: str, parent: str) -> bool:
        """Whether a name is that of a network rack of a group, open already or not."""
        number = name.removeprefix(f"{parent}{NETWORK_RACK_CODE}")
        is_of_nodes = name in self._names and name not in self._networks
        return number != name and number.isdigit() and not is_of_nodes

    def keep(self, device: str, rack: str, unit: float, model: HardwareModel, parent: str | None) -> None:
        """Leave a device at its place, unless it is taken: before any other is placed.

        ``parent`` is the group with network racks for a switch, None for a node.
        """
        units = model.units
        height = math.ceil(units)
        spaces = range(int(unit), int(unit) + height)
        full = self._full.get(rack, set())
        if unit != int(unit) or not full.isdisjoint(spaces) or (unit < 1) != (units == 0):
            return
        if spaces and spaces[-1] > self.rack_units:
            return
        if rack not in self._names:
            if parent is None or not self.is_network_rack(rack, parent):
                return
            self._add(rack, int(rack.removeprefix(f"{parent}{NETWORK_RACK_CODE}")), parent)
        self._kept[device] = (rack, unit)
        self.contents[rack].append(model)
        self._full.setdefault(rack, set()).update(spaces)
        if parent is not None and units and rack in self._networks:
            self._open[parent] = rack
        if units:
            self._used[rack] = max(self._used.get(rack, 0.0), unit - 1 + height)

    def place(self, device: str, rack: str, model: HardwareModel) -> None:
        """Put a device on top of a rack's devices, or below them if there is room only there.

        A device in the rack already stays.
        """
        if device in self._kept and self._kept[device][0] == rack:
            self.places[device] = self._kept[device]
            return
        units = model.units
        unit = self._lowest(rack, units)
        self.places[device] = (rack, unit)
        self.contents[rack].append(model)
        self._used[rack] = max(self._used.get(rack, 0.0), unit - 1 + math.ceil(units))
        if rack in self._full:
            self._full[rack].update(range(int(unit), int(unit) + math.ceil(units)))

    def _lowest(self, rack: str, units: float) -> float:
        """The first unit above all devices in a rack; or the lowest in a gap, if that is outside the rack."""
        top = self._used.get(rack, 0.0) + 1
        height, full = math.ceil(units), self._full.get(rack)
        if full is None or top - 1 + height <= self.rack_units:
            return top
        gaps = (unit for unit in range(1, self.rack_units + 2 - height) if full.isdisjoint(range(unit, unit + height)))
        return float(next(gaps, top))

    def _has_room(self, rack: str, units: float) -> bool:
        return self._lowest(rack, units) - 1 + math.ceil(units) <= self.rack_units

    def _has_power(self, rack: str, model: HardwareModel) -> bool:
        return self.rack_power_w is None or self.power_w(rack) + model.power_w <= self.rack_power_w

    def place_switch(self, device: str, group: int, model: HardwareModel, *, is_stated: bool) -> None:
        """Find a place for a switch in a group (-1: the cluster).

        ``is_stated``: the spec names the level of the group, so that no rack of nodes inside it is taken. A cabinet of
        its own (0 units high) is a rack that holds nothing else, at unit 0.
        """
        if device in self._kept:
            self.places[device] = self._kept[device]
            return
        if model.units == 0:
            rack = self._new_network_rack(group)
            self.places[device] = (rack, 0.0)
            self.contents[rack].append(model)
            return
        self.place(device, self._rack_for(group, model, is_stated=is_stated), model)

    def _rack_for(self, group: int, model: HardwareModel, *, is_stated: bool) -> str:
        layout = self.layout
        is_of_rack = group >= 0 and layout.groups[group].level == RACK
        is_inside_a_group = group >= 0 and len(layout.around[group]) > 1
        if is_of_rack or (is_inside_a_group and not is_stated):
            for rack in self._inside.get(group, ()):
                # A rack's own switch stands there at any power: lint reports the rack (CW707).
                if self._has_room(rack, model.units) and (is_of_rack or self._has_power(rack, model)):
                    return rack
        key = layout.groups[group].name if group >= 0 else ""
        rack = self._open.get(key, "")
        if not rack or not self._has_room(rack, model.units) or not self._has_power(rack, model):
            rack = self._open[key] = self._new_network_rack(group)
        return rack

    def _new_network_rack(self, group: int) -> str:
        parent = self.layout.groups[group].name if group >= 0 else ""
        number = sum(1 for rack in self.added if rack.parent == parent)
        while (name := f"{parent}{NETWORK_RACK_CODE}{number:02d}") in self._names:
            number += 1
        self._add(name, number, parent)
        return name

    def _add(self, name: str, number: int, parent: str) -> None:
        self._names.add(name)
        self._networks.add(name)
        self.added.append(Group(name=name, level=RACK, index=number, parent=parent, node_group=""))


def fill_racks(spec: ClusterSpec, skeleton: Skeleton) -> Racks:
    """Give every device its place: allocated ones first, then nodes, then the switches of each fabric."""
    racks = Racks(skeleton.layout, spec.site.rack_units, spec.site.rack_power_w)
    _keep_in_racks(spec, skeleton, racks)
    for slot in skeleton.layout.nodes:
        racks.place(slot.name, _rack_of(skeleton, slot), spec.node_groups[slot.node_group].model)
    for fabric in skeleton.fabrics:
        for seat in fabric.seats:
            tier = fabric.fabric.tiers[seat.tier]
            group = standing_group(skeleton.layout, tier, seat)
            racks.place_switch(seat.name, group, tier.model, is_stated=tier.stands is not None)
    return racks


def standing_group(layout: Layout, tier: Tier, seat: Seat) -> int:
    """The group in which a switch stands (-1: the cluster), by its tier's `stands`, else the one that it serves.

    Lint refuses a level that is not around the switch (CW709): here it is as if none were stated.
    """
    if tier.stands is None or seat.group < 0:
        return seat.group
    if tier.stands == CLUSTER:
        return -1
    for group in layout.around[seat.group]:
        if layout.groups[group].level == tier.stands:
            return group
    return seat.group


def _keep_in_racks(spec: ClusterSpec, skeleton: Skeleton, racks: Racks) -> None:
    """Leave every allocated device at its place, before any other is placed."""
    layout, standing = skeleton.layout, skeleton.standing
    rack_of: dict[tuple[int, ...], str] = {}
    for slot in layout.nodes:
        standing_node = standing.nodes.get(slot.name)
        if standing_node is not None:
            rack = rack_of.get(slot.groups) or rack_of.setdefault(slot.groups, _rack_of(skeleton, slot))
            racks.keep(slot.name, rack, standing_node.unit, spec.node_groups[slot.node_group].model, None)
    for fabric in skeleton.fabrics:
        for seat in fabric.seats:
            if seat.standing is None:
                continue
            tier = fabric.fabric.tiers[seat.tier]
            group = standing_group(layout, tier, seat)
            parent = layout.groups[group].name if group >= 0 else ""
            if tier.stands not in (None, RACK) and not racks.is_network_rack(seat.standing.rack, parent):
                continue  # where the spec no longer has it
            racks.keep(seat.name, seat.standing.rack, seat.standing.unit, tier.model, parent)


def _rack_of(skeleton: Skeleton, slot: NodeSlot) -> str:
    around = [skeleton.layout.groups[group_index] for group_index in slot.groups]
    return next((group.name for group in around if group.level == RACK), around[0].name)
