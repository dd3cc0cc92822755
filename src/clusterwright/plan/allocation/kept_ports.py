"""Ports of a switch with allocated links: these keep theirs, and new links take the remaining ones.

A new link goes into a cage opened already by links of its side and speed, then into the next free one. A port given up
recently is passed over, and so is a port of the allocation file unknown to the model, with another speed, or in a cage
with another mode: its link gets another port, and lint reports it (CW262).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clusterwright.plan.ports import Allocation, PortShortage, blocks_of, free_ports_at
from clusterwright.spec.fabric import Side, Uplinks
from clusterwright.spec.hardware.cages import PortMode
from clusterwright.spec.hardware.models import HardwareModel

Cage = tuple[str, int]


class CagePlaces:
    """Cages and modes of ports, cached for thousands of switches of a few models."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, int, str | None], Mapping[str, Sequence[tuple[Cage, PortMode]]]] = {}

    def of(
        self, model: HardwareModel, speed_gbps: int, mode_name: str | None
    ) -> Mapping[str, Sequence[tuple[Cage, PortMode]]]:
        """For each port at a speed its cages and modes, with the named mode first."""
        key = (model.name, speed_gbps, mode_name)
        if key not in self._places:
            places_by_port: dict[str, list[tuple[Cage, PortMode]]] = {}
            for block in model.blocks:
                for mode in sorted(block.modes, key=lambda mode: mode.name != mode_name):
                    if mode.speed_gbps != speed_gbps:
                        continue
                    for index, cage in enumerate(block.cages):
                        for port in mode.ports(cage):
                            places_by_port.setdefault(port, []).append(((block.name, index), mode))
            self._places[key] = places_by_port
        return self._places[key]

    def handed_on(self, port: str, before: HardwareModel, now: HardwareModel, speed_gbps: int) -> str:
        """The port of model ``now`` for a cable in ``port`` of model ``before``; "" without one.

        The same port, else the one at the same place among the ports of its speed.
        """
        before_by_port, ports = self.of(before, speed_gbps, None), self.of(now, speed_gbps, None)
        if port in ports or port not in before_by_port:
            return port
        place = list(before_by_port).index(port)
        return list(ports)[place] if place < len(ports) else ""


class _Cages:
    """The cages of one switch while ports are handed out."""

    def __init__(self, places: CagePlaces, model: HardwareModel, resting: frozenset[str]) -> None:
        self.places = places
        self.model = model
        self.taken: set[Cage] = set()
        self._used: set[str] = set(resting)
        self._open: dict[Cage, tuple[PortMode, str]] = {}  # the mode that a cage runs in, and its side

    def keep(self, port: str, speed_gbps: int, side: str, mode_name: str | None, blocks: tuple[str, ...]) -> bool:
        """Leave a link in its port; False if it cannot be there. ``blocks`` are those of its side."""
        for cage, mode in self.places.of(self.model, speed_gbps, mode_name).get(port, ()):
            if cage[0] not in blocks or (mode_name is not None and mode.name != mode_name):
                continue
            opened = self._open.get(cage)
            disabled = (mode.disables, cage[1]) if mode.disables is not None else None
            if opened is not None and opened[0] != mode:
                continue
            if opened is None and (cage in self.taken or disabled in self._open):
                continue
            self._open[cage] = (mode, side)
            self.taken.add(cage)
            if disabled is not None:
                self.taken.add((disabled[0] or "", disabled[1]))
            if port in self._used:
                return False
            self._used.add(port)
            return True
        return False

    def free(self, side: str, side_of_model: Side, blocks: tuple[str, ...], speed_gbps: int) -> Iterator[str]:
        """The remaining ports of a side at a speed: those of cages opened by it first."""
        for cage, (mode, opened_by) in list(self._open.items()):
            block = self.model.block(cage[0])
            if opened_by == side and mode.speed_gbps == speed_gbps and block is not None and cage[0] in blocks:
                yield from (port for port in mode.ports(block.cages[cage[1]]) if port not in self._used)
        chosen = blocks_of(self.model, blocks)
        for port in free_ports_at(chosen, speed_gbps, side_of_model.mode, self.taken):
            if port not in self._used:
                yield port


def allocate_beside(
    places: CagePlaces,
    model: HardwareModel,
    down: Side,
    *,
    down_speeds: Sequence[int],
    below: Sequence[str],
    up: Uplinks | None,
    above: Sequence[str],
    resting: frozenset[str],
) -> Allocation:
    """Allocate one switch's ports beside existing links, in the form of ``allocate``.

    ``below`` and ``above`` are the allocated ports of downlinks and uplinks, "" for new ones; ``resting`` ports stay
    free. Raises PortShortage.
    """
    cages = _Cages(places, model, resting - {*below, *above})
    every = tuple(block.name for block in model.blocks)
    reserved = up.side.blocks if up is not None else ()
    down_blocks = down.blocks or tuple(name for name in every if name not in reserved)
    links = up.links if up is not None else 0
    wanted_up = [*above, *[""] * links][:links]
    kept_down = [
        port if port and cages.keep(port, speed, "down", down.mode, down_blocks) else ""
        for port, speed in zip(below, down_speeds, strict=True)
    ]
    kept_up = [
        port
        if port and up is not None and cages.keep(port, up.speed_gbps, "up", up.side.mode, reserved or every)
        else ""
        for port in wanted_up
    ]
    down_ports = _filled(cages, "down", down, blocks=down_blocks, kept=kept_down, speeds=down_speeds)
    if up is None:
        return Allocation(down_ports, (), frozenset(cages.taken))
    up_ports = _filled(cages, "up", up.side, blocks=reserved or every, kept=kept_up, speeds=[up.speed_gbps] * links)
    return Allocation(down_ports, up_ports, frozenset(cages.taken))


def _filled(
    cages: _Cages,
    side: str,
    side_of_model: Side,
    *,
    blocks: tuple[str, ...],
    kept: Sequence[str],
    speeds: Sequence[int],
) -> tuple[str, ...]:
    """``kept`` with a port for each new link."""
    free: dict[int, Iterator[str]] = {}
    filled: list[str] = []
    for port, speed in zip(kept, speeds, strict=True):
        if port:
            filled.append(port)
            continue
        if speed not in free:
            free[speed] = cages.free(side, side_of_model, blocks, speed)
        new = next(free[speed], None)
        if new is None:
            index = len(filled)
            lacking = sum(
                not port and other_speed == speed
                for port, other_speed in zip(kept[index:], speeds[index:], strict=True)
            )
            need = speeds.count(speed)
            raise PortShortage(side, speed, need, need - lacking)
        filled.append(new)
    return tuple(filled)
