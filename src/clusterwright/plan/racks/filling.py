"""Places in racks: nodes and rack switches in their rack, other switches in any rack with room.

Switches of a level inside a pod stand in the first of that level's racks with room; those of the outermost level and of
the whole cluster stand in network racks of their own, filled from the bottom. Allocated devices stay at their place,
and others find theirs around them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from clusterwright.plan.layout import Layout
from clusterwright.plan.model import Group

NETWORK_RACK_CODE = "x"


@dataclass
class Racks:
    """Fills racks while a plan is built; ``added`` are the network racks opened on the way, in order."""

    layout: Layout
    rack_units: int
    added: list[Group] = field(default_factory=list)
    _used: dict[str, float] = field(default_factory=dict)
    _kept: dict[str, tuple[str, float]] = field(default_factory=dict)
    _full: dict[str, set[int]] = field(default_factory=dict)
    _open: dict[str, str] = field(default_factory=dict)
    _inside: dict[int, list[str]] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _networks: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._names.update(group.name for group in self.layout.groups)  # a level of the spec may have our letter
        for index, group in enumerate(self.layout.groups):
            if group.level == "rack":
                for outer in self.layout.around[index]:
                    self._inside.setdefault(outer, []).append(group.name)

    def keep(self, device: str, rack: str, unit: float, units: float, parent: str | None) -> None:
        """Leave a device at its place, unless it is taken: before any other is placed.

        ``parent`` is the group with network racks for a switch, None for a node.
        """
        height = math.ceil(units)
        spaces = range(int(unit), int(unit) + height)
        full = self._full.get(rack, set())
        if unit != int(unit) or not full.isdisjoint(spaces) or (unit < 1) != (units == 0):
            return
        if spaces and spaces[-1] > self.rack_units:
            return
        if rack not in self._names:
            number = rack.removeprefix(f"{parent}{NETWORK_RACK_CODE}")
            if parent is None or number == rack or not number.isdigit():
                return
            self._add(rack, int(number), parent)
        self._kept[device] = (rack, unit)
        self._full.setdefault(rack, set()).update(spaces)
        if parent is not None and units and rack in self._networks:
            self._open[parent] = rack
        if units:
            self._used[rack] = max(self._used.get(rack, 0.0), unit - 1 + height)

    def place(self, rack: str, units: float, device: str = "") -> float:
        """Put a device on top of a rack's devices, or below them if there is room only there.

        Returns its lowest rack unit, from 1. A device in the rack already stays.
        """
        if device in self._kept and self._kept[device][0] == rack:
            return self._kept[device][1]
        unit = self._lowest(rack, units)
        self._used[rack] = max(self._used.get(rack, 0.0), unit - 1 + math.ceil(units))
        if rack in self._full:
            self._full[rack].update(range(int(unit), int(unit) + math.ceil(units)))
        return unit

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

    def place_switch(self, group: int, units: float, device: str = "") -> tuple[str, float]:
        """Find a place for a switch of a group (-1: the cluster); returns rack and lowest unit.

        A cabinet of its own (``units`` 0) is a rack that holds nothing else, at unit 0.
        """
        if device in self._kept:
            return self._kept[device]
        if units == 0:
            return self._new_network_rack(group), 0.0
        layout = self.layout
        inside = group >= 0 and (len(layout.around[group]) > 1 or layout.groups[group].level == "rack")
        if inside:
            for rack in self._inside.get(group, ()):
                if self._has_room(rack, units):
                    return rack, self.place(rack, units)
        key = layout.groups[group].name if group >= 0 else ""
        rack = self._open.get(key, "")
        if not rack or not self._has_room(rack, units):
            rack = self._open[key] = self._new_network_rack(group)
        return rack, self.place(rack, units)

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
        self.added.append(Group(name=name, level="rack", index=number, parent=parent, node_group=""))
