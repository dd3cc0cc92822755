"""From planned names to the site's: nodes and switches bear these everywhere but in allocation files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from clusterwright.spec.fabric import Tier
from clusterwright.spec.labels.device_names import filled, numbers_in
from clusterwright.spec.model import ClusterSpec, NodeGroup

NODE_FIELD, SWITCH_FIELD = "node", "switch"


@dataclass(frozen=True)
class Naming:
    """A spec's names for devices. A pattern without values for its fields keeps the planned name; lint refuses it."""

    spec: ClusterSpec

    @property
    def is_planned_everywhere(self) -> bool:
        """True if the site names nothing: single names need no look-up."""
        patterns = [group.name_pattern for group in self.spec.node_groups]
        for fabric in self.spec.fabrics:
            patterns += [tier.name_pattern for tier in fabric.tiers]
        return self.spec.device_names is None and not any(patterns)

    def node(self, group: NodeGroup, planned: str) -> str:
        """The name of a node from its planned name ``planned``."""
        return self._name(planned, group.name_pattern, lambda: self.node_numbers(planned))

    def switch(self, tier: Tier, planned: str) -> str:
        """The name of a switch from its planned name ``planned``."""
        return self._name(planned, tier.name_pattern, lambda: self.switch_numbers(tier, planned))

    def node_numbers(self, planned: str) -> dict[str, int]:
        """Values of the fields in a node's pattern."""
        place, _, slot = planned.rpartition("-")[2].rpartition("n")
        return {**numbers_in(place, self._levels_of_code), NODE_FIELD: int(slot)}

    def switch_numbers(self, tier: Tier, planned: str) -> dict[str, int]:
        """Values of the fields in a switch's pattern."""
        *places, last = planned.removeprefix(tier.role).removeprefix("-").split("-")
        number = int(last) if last.isdigit() else 0
        place = "".join(places) if last.isdigit() else last
        return {**numbers_in(place, self._levels_of_code), SWITCH_FIELD: number}

    def _name(self, planned: str, pattern: str | None, numbers: Callable[[], Mapping[str, int]]) -> str:
        names = self.spec.device_names
        if names is not None and planned in names.names:
            return names.names[planned].name
        if pattern is None:
            return planned
        try:
            return filled(pattern, numbers())
        except KeyError:
            return planned

    @cached_property
    def _levels_of_code(self) -> Mapping[str, tuple[str, ...]]:
        """The levels with this letter in names of groups."""
        levels: dict[str, tuple[str, ...]] = {}
        for group in self.spec.node_groups:
            for level in group.levels:
                if level.name not in levels.get(level.code, ()):
                    levels[level.code] = (*levels.get(level.code, ()), level.name)
        return levels
