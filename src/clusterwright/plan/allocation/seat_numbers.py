"""Names and numbers of a tier's switches: the allocated ones, and for new switches the next free ones."""

from __future__ import annotations

from clusterwright.plan.allocation.standing import Numbers, Standing
from clusterwright.spec.allocated.facts import StandingSwitch
from clusterwright.spec.fabric import Tier


class Numbering:
    """Names and numbers the switches of one tier of a fabric, one after another."""

    def __init__(self, standing: Standing, fabric: str, tier: Tier) -> None:
        self._standing, self._fabric, self._role, self._tier = standing, fabric, tier.role, tier
        standing_numbers = [switch.number for key, switch in standing.seats.items() if key[:2] == (fabric, tier.role)]
        self._numbers = Numbers(standing_numbers)
        self._new: set[str] = set()

    def at(self, group: str, plane: int, position: int) -> StandingSwitch | None:
        """The allocated switch at a place of the tier; ``group`` is "" for the cluster."""
        return self._standing.seats.get((self._fabric, self._role, group, plane, position))

    def take(self, standing_number: int | None) -> int:
        """The next switch's number in the tier, or its ``own`` if it is allocated."""
        return self._numbers.take(standing_number)

    def planned_name(
        self, standing_switch: StandingSwitch | None, group: str, number: int, width: int, is_numbered: bool
    ) -> str:
        """The planned name of a switch of ``group`` at a place; ``number`` counts the places of the group."""
        if standing_switch is not None:
            return self._standing.planned_names.get(standing_switch.name, standing_switch.name)
        where = f"-{group}" if group else ""
        name = f"{self._role}{where}{f'-{number:0{width}d}' if is_numbered or not where else ''}"
        while name in self._standing.planned_switches or name in self._new:
            name = f"{self._role}{where}-{number:0{width}d}"
            number += 1
        if self._standing.planned_switches:
            self._new.add(name)
        return name

    def name(self, planned: str) -> str:
        """The site's name for a switch, from its planned name."""
        return self._standing.naming.switch(self._tier, planned)
