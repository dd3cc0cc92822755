"""Fit of links on switches, and speeds common to two of them, computed by the plan's port allocation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat

from clusterwright.plan.ports import PortShortage, allocate, capacity
from clusterwright.spec.fabric import Side
from clusterwright.spec.hardware.models import HardwareModel

_ANY = Side(blocks=(), mode=None, medium="dac", length_m=1, path=())

Loads = Sequence[tuple[int, int]]
"""Links down as (speed in Gb/s, count)."""


def fits(model: HardwareModel, down: Loads, up_speed_gbps: int, up_links: int) -> bool:
    """Whether a switch has ports for the links down and for ``up_links`` up."""
    # Most candidates need far too many ports: they are refused without laying out the links.
    for speed, links in (*down, (up_speed_gbps, up_links)):
        if links > capacity(model, (), speed):
            return False
    down_speeds = list(chain.from_iterable(repeat(speed, links) for speed, links in down))
    up_side = _ANY if up_links else None
    try:
        allocate(model, _ANY, down_speeds, up=up_side, up_speed_gbps=up_speed_gbps, up_links=up_links)
    except PortShortage:
        return False
    return True


def speeds(lower: HardwareModel, upper: HardwareModel, first: int) -> list[int]:
    """Common speeds of the ports of two models, with equal lanes: ``first``, then the faster before the slower."""
    lower_lanes, upper_lanes = _lanes(lower), _lanes(upper)
    unambiguous = [speed for speed, lanes in lower_lanes.items() if len(lanes) == 1]
    common = [speed for speed in unambiguous if upper_lanes.get(speed) == lower_lanes[speed]]
    return sorted(common, key=lambda speed: (speed != first, -speed))


def _lanes(model: HardwareModel) -> Mapping[int, set[int]]:
    """Lanes of allocated ports by speed: those of each block's first mode."""
    lanes_by_speed: dict[int, set[int]] = {}
    for block in model.blocks:
        for speed in {mode.speed_gbps for mode in block.modes}:
            first = block.mode(speed)
            if first is not None:
                lanes_by_speed.setdefault(speed, set()).add(block.lanes(first))
    return lanes_by_speed


def shares(links: int) -> Iterable[int]:
    """Numbers of equal parts for a leaf's links, at least two: one switch above may fail."""
    return (count for count in range(2, links + 1) if links % count == 0)
