"""Where devices stand: nodes and rack switches in their rack, other switches where there is room.

Switches of a level inside a pod stand in the first of that level's racks with room; those of the outermost level and
of the
whole cluster stand in network racks of their own, filled from the bottom.
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
    _open: dict[str, str] = field(default_factory=dict)
    _inside: dict[int, list[str]] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._names.update(group.name for group in self.layout.groups)  # a level of the spec may have our letter
        for index, group in enumerate(self.layout.groups):
            if group.level == "rack":
                for outer in self.layout.around[index]:
                    self._inside.setdefault(outer, []).append(group.name)

    def place(self, rack: str, units: float) -> float:
        """Put a device on top of what stands in a rack; returns its lowest rack unit, from 1."""
        unit = self._used.get(rack, 0.0) + 1
        self._used[rack] = unit - 1 + math.ceil(units)
        return unit

    def place_switch(self, group: int, units: float) -> tuple[str, float]:
        """Find a place for a switch of a group (-1: the cluster); returns rack and lowest unit.

        A cabinet of its own (``units`` 0) is a rack that holds nothing else, at unit 0.
        """
        if units == 0:
            return self._new_network_rack(group), 0.0
        layout = self.layout
        inside = group >= 0 and (len(layout.around[group]) > 1 or layout.groups[group].level == "rack")
        if inside:
            for rack in self._inside.get(group, ()):
                if self._used.get(rack, 0.0) + math.ceil(units) <= self.rack_units:
                    return rack, self.place(rack, units)
        key = layout.groups[group].name if group >= 0 else ""
        rack = self._open.get(key, "")
        if not rack or self._used.get(rack, 0.0) + math.ceil(units) > self.rack_units:
            rack = self._open[key] = self._new_network_rack(group)
        return rack, self.place(rack, units)

    def _new_network_rack(self, group: int) -> str:
        parent = self.layout.groups[group].name if group >= 0 else ""
        number = sum(1 for rack in self.added if rack.parent == parent)
        while (name := f"{parent}{NETWORK_RACK_CODE}{number:02d}") in self._names:
            number += 1
        self._names.add(name)
        self.added.append(Group(name, "rack", number, parent, ""))
        return name
