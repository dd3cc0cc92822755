"""Ports of a machine in a network OS: numbers, lanes, aliases, breakouts, speeds.

The data is in inventory/hardware/platforms with its sources, one file a system; a model names its platform, or a file
of its vendor (``platform_files``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from types import MappingProxyType
from typing import Any

from clusterwright import data_files
from clusterwright.finding import ClusterwrightError, SpecError
from clusterwright.spec.hardware.cages import PortBlock, PortMode, expand
from clusterwright.spec.hardware.platform_ports import MachinePorts, PlatformPort, Ports, SpeedProfile
from clusterwright.spec.schema.check import check
from clusterwright.spec.text.reader import read_document

# One mode in BRKOUT_PATTERN of portconfig.py in sonic-net/sonic-buildimage: ports, speed, other speeds, lanes. Text
# after the lanes is ignored there: `4x25G(4)[10G]` of a vendor's file runs at 25G.
_BREAKOUT = re.compile(r"([1-9]\d{0,5})x([1-9]\d{0,5})(G?)((?:\[[\dG, ]*\])?)(?:\((\d{1,6})\))?(?:\[[\dG, ]*\])?")
MIXED = "+"


class BadPlatform(ClusterwrightError):
    """A contradictory or unreadable description of a machine's ports."""


@dataclass(frozen=True, slots=True)
class Cage:
    """A cage in SONiC: its port name, front-panel ``index``, ``lanes``, and breakouts.

    Each breakout has the aliases of its ports; the usual one is first."""

    name: str
    index: int
    lanes: tuple[int, ...]
    breakouts: Mapping[str, Sequence[str]]


Block = tuple[str, str, Sequence[Cage]]
"""A run of cages with the same lanes and breakouts: name, connector, cages."""


@dataclass(frozen=True, slots=True)
class _Breakout:
    """A breakout with ``speeds`` in Gb/s, the default first; ``ports`` take ``lanes`` each."""

    written: str
    ports: int
    speeds: tuple[int, ...]
    lanes: int


@cache
def platforms() -> Mapping[tuple[str, str], MachinePorts]:
    """The platforms in the package's data, by system and name. Raises SpecError for an invalid file."""
    platforms = {}
    for path in sorted((data_files.folder("inventory") / "hardware" / "platforms").glob("*.yaml")):
        document = read_document(path)
        findings = check(document, "platforms")
        if findings:
            raise SpecError(findings)
        system = document.data["system"]
        profiles = [SpeedProfile(**profile) for profile in document.data.get("profiles", ())]
        for data in document.data["platforms"]:
            platforms[system, data["name"]] = _platform(data, profiles)
    return MappingProxyType(platforms)


def _platform(data: Mapping[str, Any], profiles: Sequence[SpeedProfile]) -> MachinePorts:
    if "cages" in data:
        blocks = [(cages["block"], cages["connector"], tuple(_cages(cages))) for cages in data["cages"]]
        return of_cages(data["name"], blocks, data.get("machine"))
    return MachinePorts(data["name"], partial(_numbered, data["ports"], profiles))


def _numbered(runs: Sequence[Mapping[str, Any]], profiles: Sequence[SpeedProfile]) -> Ports:
    ports = {}
    for run in runs:
        # In the order of the system's table: the preferred profile first.
        supported = tuple(profile for profile in profiles if profile.id in run["profiles"])
        for name, number in zip(expand(run["names"]), run["numbers"], strict=True):
            ports[name, ""] = PlatformPort(number, profiles=supported)
    return ports


def _cages(data: Mapping[str, Any]) -> Iterator[Cage]:
    names, first = expand(data["names"]), data["first_lanes"]
    starts = [int(number) for number in expand(first)] if isinstance(first, str) else first
    for index, (name, start) in enumerate(zip(names, starts, strict=True), data["first_index"]):
        breakouts = {written: _aliases(alias, index, written) for written, alias in data["breakouts"].items()}
        yield Cage(name=name, index=index, lanes=tuple(range(start, start + data["lanes"])), breakouts=breakouts)


def _aliases(pattern: str, index: int, breakout: str) -> tuple[str, ...]:
    """The aliases of a breakout's ports in the cage ``index``: ``2x400G`` has two."""
    count = int(breakout.partition("x")[0])
    aliases = []
    for number in range(1, count + 1):
        letter = chr(ord("a") + number - 1)
        aliases.append(pattern.format(index=index, number=number, letter=letter))
    return tuple(aliases)


def of_cages(name: str, blocks: Sequence[Block], machine: str | None = None) -> MachinePorts:
    """The platform of blocks of equal cages, each with its name and connector.

    A port of a breakout is named after its first lane, as in SONiC (BreakoutCfg in portconfig.py): the second of two in
    Ethernet8 with eight lanes is Ethernet12. Breakouts with mixed speeds are left out. Raises BadPlatform for a
    breakout that does not fit its cage; reading ``ports`` raises it for repeated ports or lanes.
    """
    return MachinePorts(
        name=name, describe=partial(_ports, blocks), machine=machine, blocks=tuple(_block(*block) for block in blocks)
    )


def _block(name: str, connector: str, cages: Sequence[Cage]) -> PortBlock:
    modes: dict[str, PortMode] = {}
    for breakout in _breakouts(cages[0]):
        for mode in _modes(breakout):
            modes.setdefault(mode.name, mode)
    return PortBlock(
        name=name, cages=tuple(cage.name for cage in cages), connector=connector, modes=tuple(modes.values())
    )


def _ports(blocks: Sequence[Block]) -> Ports:
    ports: dict[tuple[str, str], PlatformPort] = {}
    owner: dict[int, str] = {}
    for cage in chain.from_iterable(cages for _, _, cages in blocks):
        for lane in cage.lanes:
            if owner.setdefault(lane, cage.name) != cage.name:
                raise BadPlatform(f"{cage.name} and {owner[lane]} have the same lane {lane}")
        for port, mode, platform_port in _ports_of_cage(cage):
            first_port = ports.setdefault((port, mode), platform_port)
            if first_port.cage != cage.name:
                raise BadPlatform(f"{first_port.cage} and {cage.name} both have a port {port}")
    return ports


def _ports_of_cage(cage: Cage) -> Iterator[tuple[str, str, PlatformPort]]:
    """Name, mode and properties of a cage's ports in every mode."""
    for breakout in _breakouts(cage):
        for mode in _modes(breakout):
            for port, platform_port in _ports_of(cage, breakout, mode):
                yield port, mode.name, platform_port


def _breakouts(cage: Cage) -> list[_Breakout]:
    """The breakouts of a cage: all at their default speed, then at further speeds, most ports first."""
    breakouts = []
    for written, aliases in cage.breakouts.items():
        if MIXED in written:
            continue
        match = _BREAKOUT.fullmatch(written)
        if match is None:
            raise BadPlatform(f'{cage.name} has a breakout "{written}", which is none: 2x400G[200G] is one')
        lanes, count = int(match[5] or len(cage.lanes)), int(match[1])
        if lanes > len(cage.lanes) or count > lanes or len(aliases) != count:
            has = f"{len(cage.lanes)} lanes and the breakout {len(aliases)} aliases"
            raise BadPlatform(f'{cage.name} has a breakout "{written}" that does not fit: the cage has {has}')
        further = [int(number) for number in re.findall(r"\d+", match[4])]
        speeds = tuple(_gbps(speed) for speed in (int(match[2]), *further))
        breakouts.append(_Breakout(written=written, ports=count, speeds=speeds, lanes=lanes // count))
    by_ports = sorted(breakouts, key=lambda breakout: -breakout.ports)
    at_default = [replace(breakout, speeds=breakout.speeds[:1]) for breakout in breakouts]
    at_further = [replace(breakout, speeds=breakout.speeds[1:]) for breakout in by_ports]
    return at_default + at_further


def _gbps(speed: int) -> int:
    """A speed of SONiC in Gb/s: with the unit G, or in Mb/s without a unit."""
    return speed // 1000 if speed >= 10_000 else speed


def _modes(breakout: _Breakout) -> Iterator[PortMode]:
    ends = tuple(f"+{index * breakout.lanes}" for index in range(breakout.ports)) if breakout.ports > 1 else ("",)
    for speed in breakout.speeds:
        yield PortMode(f"{breakout.ports}x{speed}", speed, ends, lanes=breakout.lanes)


def _ports_of(cage: Cage, breakout: _Breakout, mode: PortMode) -> Iterator[tuple[str, PlatformPort]]:
    aliases = cage.breakouts[breakout.written]
    for index, (port, alias) in enumerate(zip(mode.ports(cage.name), aliases, strict=True)):
        lanes = cage.lanes[index * breakout.lanes : (index + 1) * breakout.lanes]
        subport = index + 1 if breakout.ports > 1 else 0
        yield (
            port,
            PlatformPort(
                number=cage.index, lanes=lanes, alias=alias, cage=cage.name, breakout=breakout.written, subport=subport
            ),
        )
