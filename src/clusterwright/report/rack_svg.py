"""Rack elevations: the device at each unit, seen from the front, unit 1 at the bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.report.drawing import Drawing, Shape, label, line, rectangle, text_width
from clusterwright.report.page import plural, power

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.report.totals import Occupant, RackKind

_UNIT_HEIGHT = 14
_RAIL_WIDTH = 34
_BAY_WIDTH = 216
_MARGIN = 10
_FONT_SIZE = 12


def rack_drawing(kind: RackKind, rack_units: int, name: str) -> Drawing:
    """The elevation of one kind of rack in a cabinet of ``rack_units`` units; taller contents make it grow."""
    units = max([rack_units, *(int(occupant.unit + occupant.units - 1 + 0.999) for occupant in kind.occupants)])
    bottom = _MARGIN + units * _UNIT_HEIGHT
    shapes: list[Shape] = [
        rectangle(_RAIL_WIDTH, _MARGIN, _BAY_WIDTH, height=units * _UNIT_HEIGHT, style="rack", radius=3)
    ]
    for unit in range(1, units + 1):
        y = bottom - (unit - 1) * _UNIT_HEIGHT
        if unit > 1:
            shapes.append(line(_RAIL_WIDTH, y, _RAIL_WIDTH + _BAY_WIDTH, y, "rack-unit"))
        if unit == 1 or unit % 5 == 0:
            shapes.append(label(_RAIL_WIDTH - 6, y - 3, str(unit), "rack-number", "end"))
    for occupant in kind.occupants:
        shapes += _occupant(occupant, bottom)
    assumed = " (assumed)" if kind.assumed else ""
    contents = ", ".join(f"{o.role} {o.model} at unit {o.unit:g}" for o in kind.occupants)
    return Drawing(
        name=name,
        title=f"Elevation of {kind.example}",
        description=f"Rack of {units} units, from the bottom: {contents}.",
        width=_RAIL_WIDTH + _BAY_WIDTH + _MARGIN,
        height=bottom + _MARGIN,
        shapes=tuple(shapes),
        caption=f"{kind.example}: {plural(kind.count, 'such rack')}, "
        f"{power(kind.power_w)}{assumed}, {kind.weight_kg:,.0f} kg of equipment",
    )


def _occupant(occupant: Occupant, bottom: float) -> Iterator[Shape]:
    height = max(occupant.units, 1) * _UNIT_HEIGHT
    y = bottom - (occupant.unit - 1) * _UNIT_HEIGHT - height
    style = "box endpoint" if occupant.role in ("node", "storage") else "box"
    yield rectangle(_RAIL_WIDTH + 3, y + 1, _BAY_WIDTH - 6, height=height - 2, style=style, radius=3)
    text = f"{occupant.role} · {occupant.model}"
    if text_width(text, _FONT_SIZE) > _BAY_WIDTH - 16:
        text = occupant.model if text_width(occupant.model, _FONT_SIZE) <= _BAY_WIDTH - 16 else occupant.role
    low = height <= _UNIT_HEIGHT
    yield label(
        _RAIL_WIDTH + _BAY_WIDTH / 2,
        y + height / 2 + (3.5 if low else 4.2),
        text,
        "rack-label low" if low else "rack-label",
    )
