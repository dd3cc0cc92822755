"""From planned names to those that the site gives: nodes and switches bear them everywhere but in allocation files."""

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
    """The names that a spec gives. A pattern that cannot be filled leaves the planned name, and lint refuses it."""

    spec: ClusterSpec

    @property
    def is_planned_everywhere(self) -> bool:
        """True where the site names nothing: nobody needs to ask for single names."""
        patterns = [group.name_pattern for group in self.spec.node_groups]
        patterns += [tier.name_pattern for fabric in self.spec.fabrics for tier in fabric.tiers]
        return self.spec.device_names is None and not any(patterns)

    def node(self, group: NodeGroup, planned: str) -> str:
        """The name of a node whose planned name is ``planned``."""
        return self._name(planned, group.name_pattern, lambda: self.node_numbers(planned))

    def switch(self, tier: Tier, planned: str) -> str:
        """The name of a switch whose planned name is ``planned``."""
        return self._name(planned, tier.name_pattern, lambda: self.switch_numbers(tier, planned))

    def node_numbers(self, planned: str) -> dict[str, int]:
        """What the fields of a node's pattern stand for."""
        place, _, slot = planned.rpartition("-")[2].rpartition("n")
        return {**numbers_in(place, self._levels_of_code), NODE_FIELD: int(slot)}

    def switch_numbers(self, tier: Tier, planned: str) -> dict[str, int]:
        """What the fields of a switch's pattern stand for."""
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
        """The levels that a letter stands for in names of groups."""
        levels: dict[str, tuple[str, ...]] = {}
        for group in self.spec.node_groups:
            for level in group.levels:
                if level.name not in levels.get(level.code, ()):
                    levels[level.code] = (*levels.get(level.code, ()), level.name)
        return levels
