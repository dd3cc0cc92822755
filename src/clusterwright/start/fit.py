"""Whether links fit on switches, and at which speeds two of these meet: asked of the plan's handing out of ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat

from clusterwright.plan.ports import PortShortage, allocate, capacity
from clusterwright.spec.fabric import Side
from clusterwright.spec.hardware.models import HardwareModel

_ANY = Side(blocks=(), mode=None, medium="dac", length_m=1, path=())

Loads = Sequence[tuple[int, int]]
"""Links down as (speed in Gb/s, how many)."""


def fits(model: HardwareModel, down: Loads, up_speed_gbps: int, up_links: int) -> bool:
    """Whether a switch has ports for the links down and for ``up_links`` up."""
    # Nearly all that is tried asks for far too many: these are not laid out link by link.
    if any(links > capacity(model, (), speed) for speed, links in (*down, (up_speed_gbps, up_links))):
        return False
    try:
        allocate(
            model,
            _ANY,
            list(chain.from_iterable(repeat(speed, links) for speed, links in down)),
            up=_ANY if up_links else None,
            up_speed_gbps=up_speed_gbps,
            up_links=up_links,
        )
    except PortShortage:
        return False
    return True


def speeds(lower: HardwareModel, upper: HardwareModel, first: int) -> list[int]:
    """Speeds at which a port of one meets a port of the other lane by lane, ``first`` before the faster and these
    before the slower."""
    ours, theirs = _lanes(lower), _lanes(upper)
    both = [speed for speed, lanes in ours.items() if len(lanes) == 1 and theirs.get(speed) == lanes]
    return sorted(both, key=lambda speed: (speed != first, -speed))


def _lanes(model: HardwareModel) -> Mapping[int, set[int]]:
    """By speed, the lanes of the ports that the plan hands out at it: those of each block's first mode."""
    lanes_by_speed: dict[int, set[int]] = {}
    for block in model.blocks:
        for speed in {mode.speed_gbps for mode in block.modes}:
            first = block.mode(speed)
            if first is not None:
                lanes_by_speed.setdefault(speed, set()).add(block.lanes(first))
    return lanes_by_speed


def shares(links: int) -> Iterable[int]:
    """Into how many equal parts links can be dealt, two or more of them: one switch above may fail."""
    return (count for count in range(2, links + 1) if links % count == 0)
