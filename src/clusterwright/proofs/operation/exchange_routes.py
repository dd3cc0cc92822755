"""Routes of an exchange: to the peer, and back to the address of the switch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from clusterwright.facts.router import Prefix, Router, Session, apply_policy, covers, shown, shown_prefix
from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import EMPTY, Ranges
from clusterwright.packets.values import addresses, everywhere
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.edges import Edge, edges_of
from clusterwright.proofs.ethernet.network import RoutedFabric, RoutedNetwork
from clusterwright.proofs.isolation.declared import DeclaredBorder
from clusterwright.proofs.isolation.routes import leads_everywhere
from clusterwright.proofs.operation.declared_exchanges import PlannedEnds
from clusterwright.proofs.operation.exchange import Exchange, numbered
from clusterwright.proofs.reading import reader_by_switch
from clusterwright.proofs.tree import RenderedTree

_NO_TAGS = frozenset[str]()


@dataclass(frozen=True)
class ExchangeRoutes:
    """Routing of exchanges by static routes, BGP policies and borders of a tree. ``static`` are by switch."""

    tree: RenderedTree
    ends: PlannedEnds
    network: RoutedNetwork | None
    static: Mapping[str, set[tuple[str, str]]]

    def faults(self, exchanges: tuple[Exchange, ...]) -> Iterator[Counterexample]:
        """Exchanges without a route, there or back."""
        yield from self._static_faults(exchanges)
        if self.network is not None:
            yield from self._unannounced(exchanges)
            for fabric, peers in _outside(exchanges, self.ends).items():
                yield from self._border_faults(fabric, peers, exchanges)

    def _static_faults(self, exchanges: tuple[Exchange, ...]) -> Iterator[Counterexample]:
        """Management ports without a route to a peer: nothing else leads there from their VRF."""
        reached_by: dict[tuple[int, frozenset[str]], Ranges] = {}
        files = {device: reader.file for device, reader in reader_by_switch(self.tree).items()}
        missing: dict[tuple[object, ...], list[tuple[Exchange, Ranges]]] = {}
        for switch, (version, number) in self.ends.source.items():
            edge = self.ends.entered_at.get(switch)
            if edge is None or switch not in files:
                continue
            gateway_number = number ^ 1 if edge.gateway is None else edge.gateway
            gateway = address(version, gateway_number)
            destinations = frozenset(to for to, hop in self.static.get(switch, ()) if hop == gateway)
            key = version, destinations
            if key not in reached_by:
                reached_by[key] = _reached(destinations, version)
            fabric = edge.fabric
            shape = (key, fabric, edge.subnet)
            if shape not in missing:
                reached = reached_by[key] | edge.subnet
                missing[shape] = _unreached(exchanges, fabric, reached)
            for exchange, lost in missing[shape]:
                if number in exchange.switches:
                    message = f"{exchange.title}, and no route of the management port leads to {_first(version, lost)}"
                    yield Counterexample(device=switch, file=files[switch], line=0, message=message)

    def _unannounced(self, exchanges: tuple[Exchange, ...]) -> Iterator[Counterexample]:
        """Source addresses of switches without an announcement in their fabric."""
        checked: set[tuple[str, Prefix]] = set()
        asking = {exchange.fabric for exchange in exchanges}
        for switch, (version, number) in self.ends.source.items():
            edge = self.ends.entered_at.get(switch)
            router = self._routers.get(edge.switch if edge is not None else switch)
            if router is None or not router.sessions or self.ends.fabric_of(switch) not in asking:
                continue
            packed = _packed(version, number)
            subnet = next((prefix for prefix, _ in router.own_addresses if _holds(prefix, packed)), None)
            key = (router.device, subnet or (packed, 8 * len(packed)))
            if key in checked:
                continue
            checked.add(key)
            if not any(_holds(prefix, packed) for prefix, _ in router.networks):
                message = f"answers to {shown(packed)} find no way: no prefix that the switch announces holds it"
                yield example(self.tree, router.device, router.bgp_file, router.asn_mark, message)

    def _border_faults(
        self, fabric: str, peers: Mapping[int, set[int]], exchanges: tuple[Exchange, ...]
    ) -> Iterator[Counterexample]:
        """Borders not announcing source addresses, and switches without a route to a peer behind them."""
        sources = {exchange.fabric for exchange in exchanges}
        for version, numbers in peers.items():
            for zone_prefix, borders in _prefixes_of(self.ends, fabric, version, numbers).items():
                reached: set[str] = set()
                live = [border for border in borders if border.switch in self._live(fabric)]
                for border in live:
                    router = self._routers[border.switch]
                    session = _session_of(router, border)
                    if session is None:
                        continue
                    reached |= self._learning(router, session, zone_prefix)
                    yield from self._untold(router, session, border, version, fabric)
                if live and sources:
                    yield from self._lost(fabric, version, zone_prefix, reached)

    def _untold(
        self, router: Router, session: Session, border: DeclaredBorder, version: int, fabric: str
    ) -> Iterator[Counterexample]:
        """Prefixes of switches' source addresses not announced by a border."""
        policy = router.policy(session.out_of)
        for prefix, switch in self._announced(fabric, version).items():
            if apply_policy(policy, prefix, _NO_TAGS) is None:
                source = address(version, self.ends.source[switch][1])
                message = (
                    f"border {border.name} does not announce {shown_prefix(prefix)}: answers to {switch}, which asks "
                    f"from {source}, find no way back"
                )
                mark = policy[0].mark if policy and policy[0].mark else session.group_mark
                yield example(self.tree, router.device, router.bgp_file, mark, message)

    def _lost(self, fabric: str, version: int, prefix: Prefix, reached: set[str]) -> Iterator[Counterexample]:
        """First switches of requests without a route from any border."""
        reported: set[str] = set()
        for switch, (own_version, _) in self.ends.source.items():
            edge = self.ends.entered_at.get(switch)
            first = edge.switch if edge is not None else switch
            is_in_fabric = own_version == version and self.ends.fabric_of(switch) == fabric
            is_lost = first in self._routers and first not in reached
            if is_in_fabric and is_lost and first not in reported:
                reported.add(first)
                router = self._routers[first]
                message = f"requests of {switch} find no way: no border's route to {shown_prefix(prefix)} comes here"
                yield example(self.tree, router.device, router.bgp_file, router.asn_mark, message)

    @cached_property
    def _routers(self) -> Mapping[str, Router]:
        return {} if self.network is None else self.network.routers

    def _live(self, fabric: str) -> frozenset[str]:
        """Switches of a fabric that announce routes to their neighbours."""
        switches = self.ends.declared.switches
        of_fabric = {name: router for name, router in self._routers.items() if switches.get(name) == fabric}
        return frozenset(name for name, router in of_fabric.items() if not router.is_silent)

    def _announced(self, fabric: str, version: int) -> Mapping[Prefix, str]:
        """Announced prefixes containing a source address, each with such a switch."""
        switch_by_prefix: dict[Prefix, str] = {}
        for switch, (own_version, number) in self.ends.source.items():
            if own_version != version or self.ends.fabric_of(switch) != fabric:
                continue
            edge = self.ends.entered_at.get(switch)
            router = self._routers.get(edge.switch if edge is not None else switch)
            packed = _packed(version, number)
            networks = router.networks if router is not None else ()
            for prefix, _ in networks:
                if _holds(prefix, packed):
                    switch_by_prefix.setdefault(prefix, switch)
        return switch_by_prefix

    def _learning(self, router: Router, session: Session, prefix: Prefix) -> set[str]:
        """Switches reached by a route from outside, including the first one."""
        tags = apply_policy(router.policy(session.into), prefix, _NO_TAGS)
        if tags is None:
            return set()
        fabric = self._fabric_with.get(router.device)
        if fabric is None:
            return {router.device}
        index_of = {member.device: index for index, member in enumerate(fabric.routers)}
        outgoing = self._outgoing(fabric)
        tags_of = {index_of[router.device]: tags}
        queue = list(tags_of)
        for index in queue:
            for edge in outgoing.get(index, ()):
                if edge.target in tags_of:
                    continue
                sent = apply_policy(edge.out_of, prefix, tags_of[index])
                if sent is None:
                    continue
                kept = sent if fabric.routers[index].keeps_communities else _NO_TAGS
                accepted = apply_policy(edge.into, prefix, kept)
                if accepted is not None:
                    tags_of[edge.target] = accepted
                    queue.append(edge.target)
        return {fabric.routers[index].device for index in tags_of}

    @cached_property
    def _fabric_with(self) -> Mapping[str, RoutedFabric]:
        fabric_by_switch: dict[str, RoutedFabric] = {}
        if self.network is not None:
            for fabric in self.network.fabrics:
                fabric_by_switch.update((router.device, fabric) for router in fabric.routers)
        return fabric_by_switch

    def _outgoing(self, fabric: RoutedFabric) -> Mapping[int, list[Edge]]:
        edges: dict[int, list[Edge]] = {}
        for edge in edges_of(fabric):
            edges.setdefault(edge.source, []).append(edge)
        return edges


def _outside(exchanges: tuple[Exchange, ...], ends: PlannedEnds) -> Mapping[str, Mapping[int, set[int]]]:
    """An address of every peer outside the cluster, by fabric and IP version."""
    peers: dict[str, dict[int, set[int]]] = {}
    for exchange in exchanges:
        for low, _ in exchange.peers.bounds:
            if (exchange.version, low) not in ends.declared.addresses:
                peers.setdefault(exchange.fabric, {}).setdefault(exchange.version, set()).add(low)
    return peers


def _prefixes_of(
    ends: PlannedEnds, fabric: str, version: int, peers: set[int]
) -> Mapping[Prefix, tuple[DeclaredBorder, ...]]:
    """Zone prefixes of peers, each with the borders leading there."""
    bits = 32 if version == 4 else 128
    borders_by_prefix: dict[Prefix, tuple[DeclaredBorder, ...]] = {}
    for peer in sorted(peers):
        borders = ends.borders_to(fabric, version, peer)
        for border in borders:
            for low, length in border.prefixes:
                if low >> (bits - length) == peer >> (bits - length):
                    borders_by_prefix[_packed(version, low), length] = borders
    return borders_by_prefix


def _session_of(router: Router, border: DeclaredBorder) -> Session | None:
    neighbour = _packed(border.version, border.neighbour)
    return next((session for session in router.sessions if session.peer == neighbour), None)


def _unreached(exchanges: tuple[Exchange, ...], fabric: str, reached: Ranges) -> list[tuple[Exchange, Ranges]]:
    """Exchanges of a fabric with the peers outside the reached addresses."""
    unreached = []
    for exchange in exchanges:
        peers = exchange.peers - reached
        if exchange.fabric == fabric and peers:
            unreached.append((exchange, peers))
    return unreached


def _reached(destinations: frozenset[str], version: int) -> Ranges:
    """Destinations of routes."""
    reached = EMPTY
    for destination in destinations:
        if leads_everywhere(destination):
            return everywhere(version)
        if numbered(destination) is not None:
            reached |= addresses(destination, version)
    return reached


def _holds(prefix: Prefix, packed: bytes) -> bool:
    return covers(prefix, (packed, 8 * len(packed)))


def _packed(version: int, number: int) -> bytes:
    return number.to_bytes(4 if version == 4 else 16, "big")


def _first(version: int, lost: Ranges) -> str:
    return address(version, lost.bounds[0][0])
