"""Allocated ports, addresses, numbers and names of a cluster, one fact a line.

Names are those of the spec at the time of writing; a later spec's ``renamed`` has their current names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

GroupKey = tuple[str, str, str]
"""Node group, level, and the name of the next larger group around, "" for the cluster."""
End = tuple[str, str]
"""Device and port."""


class StandingGroups(NamedTuple):
    """The groups of one level within one larger group, in their order."""

    names: tuple[str, ...]
    line: int


class StandingNode(NamedTuple):
    """A node of the node group ``group``: its number in the cluster, and its lowest rack unit."""

    name: str
    group: str
    number: int
    unit: float
    line: int


class StandingSwitch(NamedTuple):
    """A switch: its model, its seat in its fabric, and its numbers.

    ``group`` is "" for one of the whole cluster. ``number`` counts in its tier. ``hosts`` is the first address of the
    host subnet behind it. Addresses are integers.
    """

    name: str
    model: str
    fabric: str
    tier: str
    group: str
    plane: int
    position: int
    number: int
    rack: str
    unit: float
    asn: int | None
    loopback: int | None
    hosts: int | None
    line: int


class StandingCable(NamedTuple):
    """A cable from the port of a node or a lower switch to a switch's; ``address`` is that of the lower end."""

    device: str
    port: str
    upper: str
    upper_port: str
    address: int | None
    line: int


class Freed(NamedTuple):
    """The day on which a port or address was freed."""

    day: date
    line: int


Cables = Mapping[End, StandingCable]


@dataclass(frozen=True, slots=True)
class Allocated:
    """An allocation file.

    ``cables`` and addresses are by fabric; freed ports and addresses are not assigned again. ``former`` has the former
    names of renamed devices. ``is_own`` is true for the spec's own file, false for that of the previous phase.
    """

    file: str = ""
    is_own: bool = True
    groups: Mapping[GroupKey, StandingGroups] = field(default_factory=dict, repr=False)
    nodes: Mapping[str, StandingNode] = field(default_factory=dict, repr=False)
    switches: Mapping[str, StandingSwitch] = field(default_factory=dict, repr=False)
    cables: Mapping[str, Cables] = field(default_factory=dict, repr=False)
    freed_ports: Mapping[End, Freed] = field(default_factory=dict, repr=False)
    freed_addresses: Mapping[tuple[str, int], Freed] = field(default_factory=dict, repr=False)
    former: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.groups or self.nodes or self.switches or self.cables or self.freed)

    @property
    def freed(self) -> int:
        """Number of freed ports and addresses."""
        return len(self.freed_ports) + len(self.freed_addresses)


NOTHING_STANDS = Allocated()
