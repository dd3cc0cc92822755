"""Allocation of a switch's ports to its links.

A cage in one mode offers its subports in order; a mode may disable a cage of another block. Ports are handed out in the
order of the blocks, so that equal switches use equal ports and a technician finds link n at the same place everywhere.

Some systems know ports by more than their names: by ids and speed profiles, by lanes. If a platform lacks them for used
ports of a model, nothing can be written for the switch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from clusterwright.spec.fabric import Side, Tier
from clusterwright.spec.hardware.cages import PortBlock, PortMode
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.hardware.platform_ports import PlatformPortError
from clusterwright.spec.hardware.systems import system_of


class PortShortage(Exception):
    """A switch has fewer ports than its links need.

    ``side`` is ``down`` or ``up``, ``have`` the number of ports there. ``switch`` and ``tier`` (its index) are known
    once the allocation belongs to a fabric.
    """

    def __init__(
        self, side: str, speed_gbps: int, need: int, have: int, *, switch: str = "a switch", tier: int = 0
    ) -> None:
        super().__init__(f"{switch} needs {need} ports at {speed_gbps}G {side}, and has {have} left for them")
        self.side = side
        self.speed_gbps = speed_gbps
        self.need = need
        self.have = have
        self.switch = switch
        self.tier = tier

    def at(self, switch: str, tier: int) -> PortShortage:
        """The same shortage, with the switch it was found at."""
        return PortShortage(self.side, self.speed_gbps, self.need, self.have, switch=switch, tier=tier)


@dataclass(frozen=True, slots=True)
class Allocation:
    """Port names in link order; ``taken`` are the cages used or disabled, as (block, index)."""

    down: tuple[str, ...]
    up: tuple[str, ...]
    taken: frozenset[tuple[str, int]]


def allocate(
    model: HardwareModel,
    down: Side,
    down_speeds: Sequence[int],
    *,
    up: Side | None,
    up_speed_gbps: int,
    up_links: int,
) -> Allocation:
    """Hand out the ports of one switch: first the downlinks in order, then the uplinks from the remaining ones.

    ``down_speeds`` is the speed in Gb/s of each downlink. Raises PortShortage, counting all ports of the side.
    """
    taken: set[tuple[str, int]] = set()
    reserved = set(up.blocks) if up is not None and up.blocks else set()
    down_blocks = blocks_of(model, down.blocks) if down.blocks else [b for b in model.blocks if b.name not in reserved]
    down_names = tuple(_take(down_blocks, down_speeds, down.mode, taken, "down"))
    up_names: tuple[str, ...] = ()
    if up is not None and up_links:
        up_blocks = blocks_of(model, up.blocks) if up.blocks else list(model.blocks)
        up_names = tuple(_take(up_blocks, [up_speed_gbps] * up_links, up.mode, taken, "up"))
    return Allocation(down_names, up_names, frozenset(taken))


def moved(
    allocation: Allocation, model: HardwareModel, dead: frozenset[str], down_speeds: Sequence[int], up_speed_gbps: int
) -> Allocation:
    """The allocation without the ports ``dead``: each of their links in the first free port of its speed.

    All other links stay. A link without a free port stays on its dead one.
    """
    taken = set(allocation.taken)
    free: dict[int, Iterator[str]] = {}

    def place(port: str, speed_gbps: int) -> str:
        if port not in dead:
            return port
        spare = free.setdefault(speed_gbps, free_ports_at(model.blocks, speed_gbps, None, taken))
        return next((name for name in spare if name not in dead), port)

    down = tuple(place(port, speed) for port, speed in zip(allocation.down, down_speeds, strict=True))
    return Allocation(down, tuple(place(port, up_speed_gbps) for port in allocation.up), frozenset(taken))


def free_ports(allocation: Allocation, model: HardwareModel, speed_gbps: int) -> int:
    """How many ports at one speed the unused cages of a switch offer."""
    return _count(model.blocks, speed_gbps, None, allocation.taken)


def capacity(model: HardwareModel, blocks: Sequence[str], speed_gbps: int, mode: str | None = None) -> int:
    """How many ports a model offers at one speed over these blocks (all when empty), with nothing else in use."""
    return _count(blocks_of(model, blocks) if blocks else model.blocks, speed_gbps, mode, frozenset())


def modes_at(model: HardwareModel, side: Side | None, speed_gbps: int) -> Mapping[str, tuple[PortBlock, PortMode]]:
    """For each port of a model at a speed its block, and the mode: the one named by ``side``, or the first.

    A link moved to a spare port runs in the first mode there.
    """
    modes: dict[str, tuple[PortBlock, PortMode]] = {}
    named_mode = side.mode if side is not None else None
    for name in dict.fromkeys((named_mode, None)):
        for block in model.blocks:
            mode = block.mode(speed_gbps, name)
            if mode is not None:
                for cage in block.cages:
                    for port in mode.ports(cage):
                        modes.setdefault(port, (block, mode))
    return modes


def spare_ports(model: HardwareModel, used: Mapping[str, PortMode | None]) -> tuple[tuple[str, PortMode], ...]:
    """Ports without a cable, each with the mode of its cage, in the catalogue's order.

    Without those disabled by the mode of a neighbouring cage. ``used`` maps port names to their modes (``modes_at``);
    an empty cage is shown in its first mode.
    """
    modes: dict[tuple[str, int], PortMode] = {}
    disabled: set[tuple[str, int]] = set()
    for block in model.blocks:
        for index, cage in enumerate(block.cages):
            mode_in_use = _mode_in_use(block, cage, used)
            if mode_in_use is None:
                continue
            modes[block.name, index] = mode_in_use
            if mode_in_use.disables is not None:
                disabled.add((mode_in_use.disables, index))
    spare: list[tuple[str, PortMode]] = []
    for block in model.blocks:
        for index, cage in enumerate(block.cages):
            if (block.name, index) in disabled:
                continue
            mode = modes.get((block.name, index), block.modes[0])
            spare.extend((port, mode) for port in mode.ports(cage) if port not in used)
    return tuple(spare)


def _mode_in_use(block: PortBlock, cage: str, used: Mapping[str, PortMode | None]) -> PortMode | None:
    """The first mode of a cage in which one of its ports is used; None for an empty cage."""
    for mode in block.modes:
        for port in mode.ports(cage):
            used_mode = used.get(port)
            if used_mode is mode or used_mode == mode:  # most are the same object, which is the faster comparison
                return mode
    return None


def free_ports_at(
    blocks: Sequence[PortBlock], speed_gbps: int, mode: str | None, taken: set[tuple[str, int]]
) -> Iterator[str]:
    """The ports of free cages at a speed, in order; a cage is ``taken`` with its first port."""
    for cage, run_in in _free_cages(blocks, speed_gbps, mode, taken):
        yield from run_in.ports(cage)


def blocks_of(model: HardwareModel, names: Sequence[str]) -> list[PortBlock]:
    """The blocks of these names, in their order."""
    return [block for name in names if (block := model.block(name)) is not None]


def _take(
    blocks: Sequence[PortBlock], speeds: Sequence[int], mode: str | None, taken: set[tuple[str, int]], side: str
) -> Iterator[str]:
    """Port names for links at these speeds; ``taken`` fills up with the cages used and disabled."""
    start = 0
    while start < len(speeds):
        speed = speeds[start]
        end = start
        while end < len(speeds) and speeds[end] == speed:
            end += 1
        run = end - start
        taken_ports: list[str] = []
        before = set(taken)
        for name in free_ports_at(blocks, speed, mode, taken):
            taken_ports.append(name)
            if len(taken_ports) == run:
                break
        if len(taken_ports) < run:
            have = _count(blocks, speed, mode, before)
            raise PortShortage(side, speed, run, have)
        yield from taken_ports
        start = end


def _count(
    blocks: Sequence[PortBlock], speed_gbps: int, mode_name: str | None, taken: AbstractSet[tuple[str, int]]
) -> int:
    return sum(len(mode.subports) for _, mode in _free_cages(blocks, speed_gbps, mode_name, set(taken)))


def _free_cages(
    blocks: Sequence[PortBlock], speed_gbps: int, mode_name: str | None, lost: set[tuple[str, int]]
) -> Iterator[tuple[str, PortMode]]:
    """Cages outside ``lost`` with a mode of this speed, in order, with that mode; ``lost`` gains each."""
    for block in blocks:
        mode = block.mode(speed_gbps, mode_name)
        if mode is None:
            continue
        for index, cage in enumerate(block.cages):
            if (block.name, index) in lost:
                continue
            if mode.disables is not None:
                if (mode.disables, index) in lost:
                    continue
                lost.add((mode.disables, index))
            lost.add((block.name, index))
            yield cage, mode


LANES = 4  # of a port whose model lists no mode at its speed


def platform_faults(tier: Tier, allocation: Allocation, down_speeds: Sequence[int]) -> Iterator[str]:
    """Missing data of the platform for the ports of a switch of this tier: a sentence for each port and reason.

    ``down_speeds`` are those of ``allocation.down`` in Gb/s. A system with names alone for ports has no faults.
    """
    system = system_of(tier.model)
    if system is None or not system.ports_of_platform:
        return
    sides = [(port, speed, tier.down) for port, speed in zip(allocation.down, down_speeds, strict=True)]
    if tier.up is not None:
        sides += [(port, tier.up.speed_gbps, tier.up.side) for port in allocation.up]
    modes = {(id(side), speed): modes_at(tier.model, side, speed) for _, speed, side in sides}
    asked: list[tuple[str, PortMode | None, int, int]] = []
    for port, speed, side in sides:
        place = modes[id(side), speed].get(port)
        if place is None:
            asked.append((port, None, speed, LANES))
        else:
            block, mode = place
            asked.append((port, mode, speed, block.lanes(mode)))
    if system.writes_spare_ports:
        used = {port: mode for port, mode, _, _ in asked}
        asked += [(port, mode, 0, 0) for port, mode in spare_ports(tier.model, used)]  # never in service, at no speed
    faults: dict[str, None] = {}
    for port, port_mode, speed, lanes in asked:
        try:
            platform_port = tier.model.platform_port(port, port_mode)
            if platform_port.profiles and speed:
                # Which media a speed has profiles for decides which is taken, never whether there is one.
                platform_port.profile(port, speed, "dac", lanes)
        except PlatformPortError as error:
            faults[str(error)] = None
    yield from faults
