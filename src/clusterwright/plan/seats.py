"""Switches and attachments before they have ports: the words in which a skeleton speaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from clusterwright.spec.allocated.facts import StandingCable, StandingSwitch
from clusterwright.spec.fabric import Attach, Bond
from clusterwright.spec.model import NodeGroup


@dataclass(frozen=True, slots=True)
class Seat:
    """A switch before it is a device.

    ``group`` is the index of its group in the layout, -1 for the whole cluster. ``plane`` is None where its tier has
    one
    plane; ``rail`` is set while planes are rails. ``position`` counts within group and plane, ``index`` within the
    tier. ``standing`` is what it has already. ``planned_name`` is its name where the site gives none.
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
    """The NICs of a node, by index, on a fabric: the seat of each in NIC order, one tuple for nodes that are attached
    alike in turn. ``bond`` is the link that all of them are parts of; ``standing`` has the cable of each where that
    stands at its seat, and is empty where none does.
    """

    node: int
    seats: tuple[int, ...]
    speed_gbps: int
    bond: Bond | None = None
    standing: tuple[StandingCable | None, ...] = ()

    @property
    def addressed(self) -> tuple[int, ...]:
        """The seats of NICs with addresses of their own: of a bond the first alone, whose address is that of all."""
        return self.seats if self.bond is None else self.seats[:1]


class Attachment(NamedTuple):
    """A NIC on a switch: node and NIC by index. For a switch's own management port ``node`` is -1, and ``switch`` and
    ``port`` name it. ``standing`` is its cable where that stands at this switch, ``bond`` the link that it is a part of
    with the node's others."""

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
        """False for those of a bond but its first, whose address is that of all."""
        return self.bond is None or self.nic == 0


class SeatLink(NamedTuple):
    """An uplink: the seat that it leads to, and its cable where that stands; ``is_replugged`` says that only the lower
    end of it does.
    """

    upper: int
    standing: StandingCable | None = None
    is_replugged: bool = False

    @property
    def upper_port(self) -> str:
        """The upper port in which the cable stands, "" for none."""
        return self.standing.upper_port if self.standing is not None and not self.is_replugged else ""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Lower switches that all spread their uplinks over the same upper switches; both as seat indexes."""

    tier: int
    lowers: tuple[int, ...]
    uppers: tuple[int, ...]


def nic_speeds(group: NodeGroup, attach: Attach | None) -> list[int]:
    """Speeds in Gb/s of the NICs that an attachment takes of each node, in NIC order."""
    if attach is None:
        return []
    if attach.is_management:
        return [port.speed_gbps for port in group.model.management]
    nics = group.model.nic_group(attach.nics or "")
    return [nics.speed_gbps] * len(nics.nics) if nics else []
