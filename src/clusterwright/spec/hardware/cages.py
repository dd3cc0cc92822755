"""Runs of equal cages of a switch, and the ways to run them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PortMode:
    """One way to run a cage: ``subports`` are the suffixes of the logical ports it then offers, each at ``speed_gbps``.

    A suffix such as ``+4`` is added to the number at the end of the cage's name: SONiC calls ports after their first
    lane. ``disables`` names the block whose cage with the same index is lost while a cage of this block runs in this
    mode (a Minipack2's odd cage at 400G takes the lanes of the even cage beside it). ``lanes`` are those of each port,
    where the platform says so.
    """

    name: str
    speed_gbps: int
    subports: tuple[str, ...]
    disables: str | None = None
    lanes: int | None = None

    def ports(self, cage: str) -> tuple[str, ...]:
        """The names of the ports that a cage offers in this mode."""
        return tuple(_port_name(cage, suffix) for suffix in self.subports)


def _port_name(cage: str, suffix: str) -> str:
    if not suffix.startswith("+"):
        return cage + suffix
    stem = cage.rstrip("0123456789")
    return f"{stem}{int(cage[len(stem) :] or 0) + int(suffix)}"


# Electrical lanes of a cage by its connector (SFF and QSFP-DD multi-source agreements); one where it is not known.
_CAGE_LANES = {"osfp": 8, "qsfp-dd": 8, "qsfp56": 4, "qsfp28": 4, "qsfp112": 4}


@dataclass(frozen=True, slots=True)
class PortBlock:
    """A run of equal cages: a line card, a port interface module, the QSFP-DD half of a fixed switch."""

    name: str
    cages: tuple[str, ...]
    connector: str
    modes: tuple[PortMode, ...]

    def mode(self, speed_gbps: int, name: str | None = None) -> PortMode | None:
        """The first mode at this speed, or the one with this name and speed; None where there is none."""
        for mode in self.modes:
            if mode.speed_gbps == speed_gbps and name in (None, mode.name):
                return mode
        return None

    def lanes(self, mode: PortMode) -> int:
        """How many lanes a port of ``mode`` has: what its platform says, else its share of a cage that breaks out, else
        four of 25G or 50G each, or eight beyond 200G. Both ends of a cable must have as many."""
        if mode.lanes is not None:
            return mode.lanes
        cage = _CAGE_LANES.get(self.connector, 1)
        if len(mode.subports) > 1:
            return max(1, cage // len(mode.subports))
        return min(cage, 8 if mode.speed_gbps > 200 else 4)
