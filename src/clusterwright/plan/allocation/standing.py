"""The allocation file as the plan uses it: by seats, ports and today's names.

Every number, port and address is either taken from here or is the first one neither in use nor given up recently: a
plan is a function of the spec and of earlier allocations, and the same for a spec without any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from clusterwright.plan.naming import Naming
from clusterwright.spec.allocated.facts import Allocated, Cables, StandingCable, StandingNode, StandingSwitch
from clusterwright.spec.fabric import Tier
from clusterwright.spec.model import ClusterSpec

SeatKey = tuple[str, str, str, int, int]
"""Fabric, tier, group ("" for the cluster), plane and position."""


class Numbers:
    """Count up from 0 without the ``taken`` numbers.

    These are read at the first request for a number: a fully allocated fabric has none.
    """

    def __init__(self, taken: Iterable[int] = ()) -> None:
        self._given = taken
        self._next = 0

    @cached_property
    def _taken(self) -> frozenset[int]:
        return frozenset(self._given)

    def take(self, kept_number: int | None = None) -> int:
        """``kept_number``, or without one the first free number."""
        if kept_number is not None:
            return kept_number
        while self._next in self._taken:
            self._next += 1
        self._next += 1
        return self._next - 1


@dataclass(frozen=True, slots=True)
class Resting:
    """Ports by device, and addresses, given up recently: nothing else may use them."""

    ports: Mapping[str, frozenset[str]]
    addresses: frozenset[int]


NOTHING_RESTS = Resting({}, frozenset())


@dataclass(frozen=True)
class Standing:
    """The facts of ``allocated`` under the names of ``spec``: node groups, tiers and fabrics may have been renamed."""

    spec: ClusterSpec
    allocated: Allocated

    @cached_property
    def naming(self) -> Naming:
        """The site's names."""
        return Naming(self.spec)

    @cached_property
    def planned_names(self) -> Mapping[str, str]:
        """Today's planned name of every device with another planned name in the file."""
        prefixes = {group.name: group.prefix for group in self.spec.node_groups}
        names = {}
        for node in self.allocated.nodes.values():
            prefix = prefixes.get(self.node_group(node.group))
            place = node.name.rpartition("-")[2]
            if prefix is not None and node.name != f"{prefix}-{place}":
                names[node.name] = f"{prefix}-{place}"
        for switch in self.allocated.switches.values():
            tier = self.tier(switch)
            if tier != switch.tier:
                names[switch.name] = tier + switch.name.removeprefix(switch.tier)
        return names

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Today's name of every device renamed since the file, by the site or by the plan."""
        if self.naming.is_planned_everywhere:
            return self.planned_names
        group_by_name = {group.name: group for group in self.spec.node_groups}
        tier_by_name: dict[tuple[str, str], Tier] = {}
        for fabric in self.spec.fabrics:
            tier_by_name |= {(fabric.name, tier.role): tier for tier in fabric.tiers}
        names: dict[str, str] = {}
        for node in self.allocated.nodes.values():
            planned = self.planned_names.get(node.name, node.name)
            group = group_by_name.get(self.node_group(node.group))
            names[node.name] = planned if group is None else self.naming.node(group, planned)
        for switch in self.allocated.switches.values():
            planned = self.planned_names.get(switch.name, switch.name)
            tier = tier_by_name.get((self.fabric(switch.fabric), self.tier(switch)))
            names[switch.name] = planned if tier is None else self.naming.switch(tier, planned)
        return {was: now for was, now in names.items() if was != now}

    @cached_property
    def planned_switches(self) -> frozenset[str]:
        """The planned names of allocated switches."""
        return frozenset(self.planned_names.get(name, name) for name in self.allocated.switches)

    @cached_property
    def former(self) -> Mapping[str, str]:
        """Former names of today's devices, while the spec lists anything as renamed.

        A device named by the site keeps its name when its node group or tier is renamed.
        """
        former: dict[str, str] = {}
        if self.spec.renamed:
            former = {self.planned_names.get(now, now): was for now, was in self.allocated.former.items()}
        former |= {now: was for was, now in self.planned_names.items()}
        if self.naming.is_planned_everywhere:
            return former
        renamed = {was: self.planned_names.get(was, was) for was in self.names}
        site_named = {planned for was, planned in renamed.items() if self.names[was] != planned}
        return {now: was for now, was in former.items() if now not in site_named}

    def name(self, before: str) -> str:
        """Today's name of the file's device ``before``."""
        return self.names.get(before, before)

    def node_group(self, before: str) -> str:
        """Today's name of the file's node group ``before``."""
        for item in self.spec.renamed:
            if item.nodes and item.was == before:
                return item.nodes
        return before

    def fabric(self, before: str) -> str:
        """Today's name of the file's fabric ``before``."""
        for item in self.spec.renamed:
            is_fabric = item.tier is None
            if is_fabric and item.fabric and item.was == before:
                return item.fabric
        return before

    def tier(self, switch: StandingSwitch) -> str:
        """Today's role of a switch's tier."""
        fabric = self.fabric(switch.fabric)
        for item in self.spec.renamed:
            if item.tier is not None and item.fabric == fabric and item.was == switch.tier:
                return item.tier
        return switch.tier

    @cached_property
    def groups(self) -> Mapping[tuple[str, str, str], tuple[str, ...]]:
        """Names of groups by node group, level and the larger group around."""
        names: dict[tuple[str, str, str], tuple[str, ...]] = {}
        for (node_group, level, parent), item in self.allocated.groups.items():
            names[self.node_group(node_group), level, parent] = item.names
        return names

    @cached_property
    def group_names(self) -> frozenset[str]:
        """All names of groups, and of racks with switches: reserved against other groups."""
        racks = (switch.rack for switch in self.allocated.switches.values())
        return frozenset(racks).union(*self.groups.values())

    @cached_property
    def nodes(self) -> Mapping[str, StandingNode]:
        """Nodes by their name of today."""
        return {self.name(name): node for name, node in self.allocated.nodes.items()}

    @cached_property
    def seats(self) -> Mapping[SeatKey, StandingSwitch]:
        """Switches by their seat."""
        seats: dict[SeatKey, StandingSwitch] = {}
        for switch in self.allocated.switches.values():
            key = (self.fabric(switch.fabric), self.tier(switch), switch.group, switch.plane, switch.position)
            seats[key] = switch
        return seats

    @cached_property
    def switches(self) -> Mapping[str, StandingSwitch]:
        """Switches by their name of today."""
        return {self.name(name): switch for name, switch in self.allocated.switches.items()}

    @cached_property
    def cables(self) -> Mapping[str, Cables]:
        """The cables of each fabric by their lower end, under the names of today."""
        by_fabric: dict[str, Cables] = {}
        for fabric, cables in self.allocated.cables.items():
            by_fabric[self.fabric(fabric)] = cables if not self.names else self._renamed(cables)
        return by_fabric

    def _renamed(self, cables: Cables) -> Cables:
        renamed = {}
        for cable in cables.values():
            now = cable._replace(device=self.name(cable.device), upper=self.name(cable.upper))
            renamed[now.device, now.port] = now
        return renamed

    def resting(
        self,
        fabric: str,
        seats: Iterable[StandingSwitch | None],
        cables: Iterable[StandingCable | None],
        replugged: Iterable[StandingCable | None],
    ) -> Resting:
        """Resting ports and addresses of a fabric: freed ones, and those gone since the file was written.

        ``seats`` and ``cables`` are still in use, ``replugged`` cables at their lower end alone. Without a quarantine
        in the spec, everything gone since is free at once.
        """
        ports: dict[str, set[str]] = {}
        if not self.allocated:
            return NOTHING_RESTS
        for device, port in self.allocated.freed_ports:
            ports.setdefault(self.name(device), set()).add(port)
        freed = self.allocated.freed_addresses
        addresses = {address for owner, address in freed if self.fabric(owner) == fabric}
        if self.spec.allocation.quarantine_days:
            gone = self._gone_cables(fabric, cables)
            for cable in gone:
                ports.setdefault(cable.upper, set()).add(cable.upper_port)
                ports.setdefault(cable.device, set()).add(cable.port)
            for cable in filter(None, replugged):
                ports.setdefault(cable.upper, set()).add(cable.upper_port)
            addresses.update(cable.address for cable in gone if cable.address is not None)
            addresses.update(self._gone_switch_addresses(fabric, seats))
        return Resting({device: frozenset(given_up) for device, given_up in ports.items()}, frozenset(addresses))

    def _gone_cables(self, fabric: str, cables: Iterable[StandingCable | None]) -> list[StandingCable]:
        """Allocated cables of a fabric that are not among ``cables``."""
        recorded_cables = self.cables.get(fabric, {})
        kept_cables = [cable for cable in cables if cable is not None]
        if len(kept_cables) >= len(recorded_cables):
            return []
        kept_ends = {(cable.device, cable.port) for cable in kept_cables}
        return [cable for end, cable in recorded_cables.items() if end not in kept_ends]

    def _gone_switch_addresses(self, fabric: str, seats: Iterable[StandingSwitch | None]) -> Iterator[int]:
        """Addresses of a fabric's allocated switches that are not in ``seats``."""
        seated = {switch.name for switch in seats if switch is not None}
        for switch in self.allocated.switches.values():
            if switch.name in seated or self.fabric(switch.fabric) != fabric:
                continue
            for address in (switch.loopback, switch.hosts):
                if address is not None:
                    yield address
