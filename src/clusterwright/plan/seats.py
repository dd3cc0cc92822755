"""Switches and attachments before they have ports: the terms of a skeleton."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from clusterwright.spec.allocated.facts import StandingCable, StandingSwitch
from clusterwright.spec.fabric import Attach, Bond
from clusterwright.spec.model import NodeGroup


@dataclass(frozen=True, slots=True)
class Seat:
    """A switch before it is a device.

    ``group`` is the index of its group in the layout, -1 for the whole cluster. ``plane`` is None if its tier has one
    plane; ``rail`` is set while planes are rails. ``position`` counts within group and plane, ``index`` within the
    tier. ``standing`` is its entry in the allocation file. ``planned_name`` is its name without one by the site.
    """

    name: str
    planned_name: str
    tier: int
    group: int
    plane: int | None
    rail: int | None
    position: int
    index: int
    standing: StandingSwitch | None = None


class NodeSeats(NamedTuple):
    """The NICs of a node, by index, on a fabric: the seat of each in NIC order, one tuple for nodes attached alike.

    ``bond`` is the bond of all of them; ``standing`` has the cable of each if it is allocated at its seat, and is empty
    without any.
    """

    node: int
    seats: tuple[int, ...]
    speed_gbps: int
    bond: Bond | None = None
    standing: tuple[StandingCable | None, ...] = ()

    @property
    def addressed(self) -> tuple[int, ...]:
        """The seats of NICs with addresses of their own: of a bond the first alone, with the address of all."""
        return self.seats if self.bond is None else self.seats[:1]


class Attachment(NamedTuple):
    """A NIC on a switch: node and NIC by index.

    For a switch's own management port ``node`` is -1, and ``switch`` and ``port`` name it. ``standing`` is its cable if
    it is allocated at this switch, ``bond`` its bond with the node's other NICs.
    """

    node: int
    nic: int
    seat: int
    speed_gbps: int
    switch: str = ""
    port: str = ""
    standing: StandingCable | None = None
    bond: Bond | None = None

    @property
    def has_address(self) -> bool:
        """False for the NICs of a bond but its first, which has the address of all."""
        return self.bond is None or self.nic == 0


class SeatLink(NamedTuple):
    """An uplink: its upper seat, and its cable if that is allocated.

    ``is_replugged``: only the cable's lower end stays.
    """

    upper: int
    standing: StandingCable | None = None
    is_replugged: bool = False

    @property
    def upper_port(self) -> str:
        """The allocated upper port of the cable, "" for none."""
        return self.standing.upper_port if self.standing is not None and not self.is_replugged else ""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Lower switches with uplinks spread over the same upper switches; both as seat indexes."""

    tier: int
    lowers: tuple[int, ...]
    uppers: tuple[int, ...]


def nic_speeds(group: NodeGroup, attach: Attach | None) -> list[int]:
    """Speeds in Gb/s of an attachment's NICs on each node, in NIC order."""
    if attach is None:
        return []
    if attach.is_management:
        return [port.speed_gbps for port in group.model.management]
    nics = group.model.nic_group(attach.nics or "")
    return [nics.speed_gbps] * len(nics.nics) if nics else []
