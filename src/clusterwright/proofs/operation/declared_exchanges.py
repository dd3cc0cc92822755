"""Planned ends of exchanges between switches and servers: their addresses, and the hosts among their peers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from clusterwright.proofs.isolation.declared import DeclaredBorder, DeclaredEdge, DeclaredIsolation


@dataclass(frozen=True)
class PlannedEnds:
    """Switches of a tree, each with the source address of its requests, and the path from there."""

    declared: DeclaredIsolation
    idle: frozenset[str] = frozenset()
    """Switches without a file, or with an unplugged management port."""

    @cached_property
    def source(self) -> Mapping[str, tuple[int, int]]:
        """IP version and number of each switch's source address: of its management port if it has one."""
        sources: dict[str, tuple[int, int]] = {}
        for (switch, _), (version, number, _) in self.declared.managed_ends.items():
            sources[switch] = (version, number)
        for switch, source in self.declared.fabric_sources.items():
            has_management_port = switch in self.declared.management
            if not has_management_port:
                sources[switch] = source
        return {switch: source for switch, source in sources.items() if switch not in self.idle}

    @cached_property
    def edges(self) -> Mapping[tuple[str, str], DeclaredEdge]:
        """Edges of hosts and management ports, by switch and fabric."""
        return {(edge.switch, edge.fabric): edge for edge in self.declared.edges}

    @cached_property
    def entered_at(self) -> Mapping[str, DeclaredEdge]:
        """Edge of each management port, by switch."""
        edge_by_switch: dict[str, DeclaredEdge] = {}
        for edge in self.declared.edges:
            for end in edge.ports.values():
                if end in self.declared.managed_ends:
                    edge_by_switch[end[0]] = edge
        return edge_by_switch

    def fabric_of(self, switch: str) -> str:
        """Fabric crossed by a switch's requests, "" for a switch of none."""
        return self.declared.management.get(switch, self.declared.switches.get(switch, ""))

    def is_outside(self, fabric: str, version: int, peer: int) -> bool:
        """True for an address of no planned node, with no border of the fabric towards it."""
        return (version, peer) not in self.declared.addresses and not self.borders_to(fabric, version, peer)

    def borders_to(self, fabric: str, version: int, peer: int) -> tuple[DeclaredBorder, ...]:
        """Borders of a fabric towards an address."""
        bits = 32 if version == 4 else 128
        borders: list[DeclaredBorder] = []
        for border in self.declared.borders:
            if border.fabric != fabric or border.version != version:
                continue
            if any(peer >> (bits - length) == low >> (bits - length) for low, length in border.prefixes):
                borders.append(border)
        return tuple(borders)
