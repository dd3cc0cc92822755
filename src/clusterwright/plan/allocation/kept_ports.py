"""Ports of a switch with allocated links: these keep theirs, and new links take the remaining ones.

A new link goes into a cage opened already by links of its side and speed, then into the next free one. A port given up
recently is passed over, and so is a port of the allocation file unknown to the model, with another speed, or in a cage
with another mode: its link gets another port, and lint reports it (CW262).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

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

    def handed_on_all(
        self, ports: Sequence[str], speeds: Sequence[int], *, before: HardwareModel, now: HardwareModel
    ) -> list[str]:
        """The port of model ``now`` for each of ``ports``."""
        return [self.handed_on(port, before, now, speed) for port, speed in zip(ports, speeds, strict=True)]


class _Cages:
    """The cages of one switch while ports are handed out."""

    def __init__(self, places: CagePlaces, model: HardwareModel, resting: frozenset[str]) -> None:
        self.places = places
        self.model = model
        self.taken: set[Cage] = set()
        self._used: set[str] = set(resting)
        self._open: dict[Cage, tuple[PortMode, str]] = {}  # the mode that a cage runs in, and its side

    def keep(self, port: str, speed_gbps: int, *, side: str, mode_name: str | None, blocks: tuple[str, ...]) -> str:
        """Leave a link in its port and return the port; "" for a new link, and for one that cannot be there.

        ``blocks`` are those of its side.
        """
        if not port:
            return ""
        for cage, mode in self.places.of(self.model, speed_gbps, mode_name).get(port, ()):
            block_name, _ = cage
            if block_name not in blocks:
                continue
            if mode_name is not None and mode.name != mode_name:
                continue
            if not self._can_run(cage, mode):
                continue
            self._run(cage, mode, side)
            if port in self._used:
                return ""
            self._used.add(port)
            return port
        return ""

    def _can_run(self, cage: Cage, mode: PortMode) -> bool:
        """Whether a cage runs in a mode already, or can be opened in it."""
        if cage in self._open:
            open_mode, _ = self._open[cage]
            return open_mode == mode
        return cage not in self.taken and _disabled_cage(cage, mode) not in self._open

    def _run(self, cage: Cage, mode: PortMode, side: str) -> None:
        """Take a cage, and the one that is disabled by its mode."""
        self._open[cage] = (mode, side)
        self.taken.add(cage)
        disabled = _disabled_cage(cage, mode)
        if disabled is not None:
            self.taken.add(disabled)

    def free(self, side: str, side_of_model: Side, blocks: tuple[str, ...], speed_gbps: int) -> Iterator[str]:
        """The remaining ports of a side at a speed: those of cages opened by it first."""
        for (block_name, index), (mode, opened_by) in list(self._open.items()):
            block = self.model.block(block_name)
            if block is None or block_name not in blocks:
                continue
            if opened_by != side or mode.speed_gbps != speed_gbps:
                continue
            yield from self._unused(mode.ports(block.cages[index]))
        blocks_of_side = blocks_of(self.model, blocks)
        yield from self._unused(free_ports_at(blocks_of_side, speed_gbps, side_of_model.mode, self.taken))

    def _unused(self, ports: Iterable[str]) -> Iterator[str]:
        for port in ports:
            if port not in self._used:
                yield port


def _disabled_cage(cage: Cage, mode: PortMode) -> Cage | None:
    """The cage of another block that is disabled while ``cage`` runs in ``mode``."""
    if mode.disables is None:
        return None
    _, index = cage
    return mode.disables, index


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
    all_blocks = tuple(block.name for block in model.blocks)
    reserved = up.side.blocks if up is not None else ()
    down_blocks = down.blocks or tuple(name for name in all_blocks if name not in reserved)
    up_blocks = reserved or all_blocks
    kept_down = _kept(cages, "down", down, blocks=down_blocks, ports=below, speeds=down_speeds)
    if up is None:
        down_ports = _filled(cages, "down", down, blocks=down_blocks, kept=kept_down, speeds=down_speeds)
        return Allocation(down=down_ports, up=(), taken=frozenset(cages.taken))
    up_speeds = [up.speed_gbps] * up.links
    standing_up = [*above, *[""] * up.links][: up.links]
    kept_up = _kept(cages, "up", up.side, blocks=up_blocks, ports=standing_up, speeds=up_speeds)
    down_ports = _filled(cages, "down", down, blocks=down_blocks, kept=kept_down, speeds=down_speeds)
    up_ports = _filled(cages, "up", up.side, blocks=up_blocks, kept=kept_up, speeds=up_speeds)
    return Allocation(down=down_ports, up=up_ports, taken=frozenset(cages.taken))


def _kept(
    cages: _Cages,
    side: str,
    side_of_model: Side,
    *,
    blocks: tuple[str, ...],
    ports: Sequence[str],
    speeds: Sequence[int],
) -> list[str]:
    """The allocated ``ports`` of links that keep them, "" for the other links."""
    kept: list[str] = []
    for port, speed in zip(ports, speeds, strict=True):
        kept_port = cages.keep(port, speed, side=side, mode_name=side_of_model.mode, blocks=blocks)
        kept.append(kept_port)
    return kept


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
            lacking = _new_links_at(speed, kept[index:], speeds[index:])
            need = speeds.count(speed)
            raise PortShortage(side, speed, need, need - lacking)
        filled.append(new)
    return tuple(filled)


def _new_links_at(speed_gbps: int, kept: Sequence[str], speeds: Sequence[int]) -> int:
    """Number of links at a speed without a port."""
    new_links = 0
    for port, speed in zip(kept, speeds, strict=True):
        if not port and speed == speed_gbps:
            new_links += 1
    return new_links
