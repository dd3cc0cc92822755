"""Runs of equal cages of a switch, and their modes.

Catalogue files write them by bracket patterns: ``Ethernet[3-6]/[1-36]`` expands to 144 names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product


@dataclass(frozen=True, slots=True)
class PortMode:
    """A mode of a cage: ``subports`` are the suffixes of its logical ports, each at ``speed_gbps``.

    A suffix such as ``+4`` is added to the number at the end of the cage's name: SONiC names ports after their first
    lane. ``disables`` names the block that loses the cage with the same index while a cage of this block runs in this
    mode (a Minipack2's odd cage at 400G takes the lanes of the even cage beside it). ``lanes`` are those of each port,
    if the platform defines them.
    """

    name: str
    speed_gbps: int
    subports: tuple[str, ...]
    disables: str | None = None
    lanes: int | None = None

    def ports(self, cage: str) -> tuple[str, ...]:
        """The names of a cage's ports in this mode."""
        return _port_names(cage, self.subports)


@lru_cache(maxsize=16384)  # every switch of a model uses them, and a large chassis has a thousand
def _port_names(cage: str, subports: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_port_name(cage, suffix) for suffix in subports)


def _port_name(cage: str, suffix: str) -> str:
    if not suffix.startswith("+"):
        return cage + suffix
    stem = cage.rstrip("0123456789")
    return f"{stem}{int(cage[len(stem) :] or 0) + int(suffix)}"


# Electrical lanes of a cage by its connector (SFF and QSFP-DD multi-source agreements); one for other connectors.
_CAGE_LANES = {"osfp": 8, "qsfp-dd": 8, "qsfp56": 4, "qsfp28": 4, "qsfp112": 4}


@dataclass(frozen=True, slots=True)
class PortBlock:
    """A run of equal cages: a line card, a port interface module, the QSFP-DD half of a fixed switch."""

    name: str
    cages: tuple[str, ...]
    connector: str
    modes: tuple[PortMode, ...]
    ports_per_cage: int = 1
    """Number of consecutive ``cages`` in one physical cage, as on switches for twin-port transceivers."""

    def shared_cages(self) -> Mapping[str, str]:
        """For each port of a shared physical cage, the first of its ``cages``."""
        shared: dict[str, str] = {}
        if self.ports_per_cage == 1:
            return shared
        for index, cage in enumerate(self.cages):
            first = self.cages[index - index % self.ports_per_cage]
            shared[cage] = first
            for mode in self.modes:
                for port in mode.ports(cage):
                    shared[port] = first
        return shared

    def port_names(self, mode: PortMode) -> list[str]:
        """Names of the ports of all cages in ``mode``."""
        names: list[str] = []
        for cage in self.cages:
            names.extend(mode.ports(cage))
        return names

    def mode(self, speed_gbps: int, name: str | None = None) -> PortMode | None:
        """The first mode at this speed, or the one with this name and speed; None without one."""
        for mode in self.modes:
            if mode.speed_gbps == speed_gbps and name in (None, mode.name):
                return mode
        return None

    def lanes(self, mode: PortMode) -> int:
        """Lanes of a port of ``mode``; both ends of a cable must have the same number.

        The platform's number, else its share of a cage with a breakout, else four of 25G or 50G each, or eight beyond
        200G."""
        if mode.lanes is not None:
            return mode.lanes
        cage = _CAGE_LANES.get(self.connector, 1)
        if len(mode.subports) > 1:
            return max(1, cage // len(mode.subports))
        return min(cage, 8 if mode.speed_gbps > 200 else 4)


MAX_NAMES = 10_000  # an order above the largest chassis; keeps a typing error from filling the memory

_BRACKET = re.compile(r"\[([0-9]{1,6})-([0-9]{1,6})(?::([0-9]{1,6}))?\]")


def expand(pattern: str) -> tuple[str, ...]:
    """Every name in ``pattern``; the last bracket runs fastest.

    ``[1-16]`` is an inclusive range, ``[1-15:2]`` one with a step, ``[01-20]`` keeps its zeros; several brackets are
    combined. A pattern without a bracket is a single name. Raises ValueError with the reason.
    """
    if "[" not in pattern and "]" not in pattern:
        return (pattern,)
    choices: list[list[str]] = []
    size = 1
    end = 0
    for match in _BRACKET.finditer(pattern):
        choices.append([_plain(pattern, end, match.start())])
        first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
        if last < first:
            raise ValueError(f"the range {match[0]} runs backwards")
        if step == 0:
            raise ValueError(f"the range {match[0]} has a step of 0")
        numbers = range(first, last + 1, step)
        size *= len(numbers)
        if size > MAX_NAMES:
            raise ValueError(f"it stands for more than {MAX_NAMES} names")
        width = len(match[1]) if match[1].startswith("0") else 0
        choices.append([str(number).zfill(width) for number in numbers])
        end = match.end()
    choices.append([_plain(pattern, end, len(pattern))])
    return tuple("".join(parts) for parts in product(*choices))


def _plain(pattern: str, start: int, end: int) -> str:
    """The text between two brackets. Raises ValueError for a bracket in it."""
    text = pattern[start:end]
    if "[" in text or "]" in text:
        raise ValueError(f'"{text}" is no range such as [1-16] or [1-15:2]')
    return text
