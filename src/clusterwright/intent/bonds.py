"""Ports of a switch that LACP makes one link to a host, and what the switch calls the link."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.intent.switch_links import Link
    from clusterwright.spec.fabric import Bond
    from clusterwright.spec.hardware.models import HardwareModel


@dataclass(frozen=True, slots=True)
class SwitchBond:
    """The ``links`` of a switch to one host's ``bond``, by a ``number`` that follows from the first one's port: it is
    the same whatever comes and goes beside it.
    """

    number: int
    bond: Bond
    links: tuple[Link, ...]

    @property
    def description(self) -> str:
        """Where it leads, as people read it on the switch."""
        return f"to {self.links[0].peer.device} {self.bond.interface}"

    @property
    def ports(self) -> tuple[str, ...]:
        """The names of its ports."""
        return tuple(link.port.port for link in self.links)


def bonds_of(model: HardwareModel, links: Iterable[Link]) -> tuple[SwitchBond, ...]:
    """What the ``links`` of a switch are joined to, in the order of their first ones."""
    members: dict[tuple[str, str], list[Link]] = {}
    for link in links:
        if link.cable.bond is not None:
            members.setdefault((link.peer.device, link.cable.bond.interface), []).append(link)
    numbers = _numbers(model) if members else {}
    return tuple(
        SwitchBond(numbers[own[0].port.port], bond, tuple(own))
        for own in members.values()
        if (bond := own[0].cable.bond) is not None
    )


@lru_cache(maxsize=64)
def _numbers(model: HardwareModel) -> dict[str, int]:
    """Every port that a model may have in some mode, counted from 1."""
    cages = ((cage, mode) for block in model.blocks for cage in block.cages for mode in block.modes)
    names = dict.fromkeys(port for cage, mode in cages for port in mode.ports(cage))
    return {port: number for number, port in enumerate(names, 1)}
