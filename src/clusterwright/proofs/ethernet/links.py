"""Cables: both ends run at one speed, correct and encrypt alike, and carry frames of one length to the last NIC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from clusterwright.facts.router import Port, Router, stem_of
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, example
from clusterwright.proofs.ethernet.bonds import bond_count, bond_faults
from clusterwright.proofs.ethernet.declared import declared
from clusterwright.proofs.ethernet.network import (
    KINDS,
    NETWORK_INTENT,
    RoutedFabric,
    has_network,
    network_of_tree,
    routers_read,
    without_cables,
)
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.hardware.lanes import can_join

_PAM4_GBPS = 200  # from here on IEEE 802.3 has no physical layer without RS-FEC (clauses 119 and 120)


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    counterexamples: list[Counterexample] = []
    tried = 0
    for fabric in network_of_tree(tree).fabrics:
        for link in fabric.links:
            a, b = fabric.routers[link.a], fabric.routers[link.b]
            kinds = {(end.speed_gbps, end.fec, end.lanes, end.macsec) for _, end in link.both_ends}
            if len(kinds) > 1:
                medium = _medium(tree, (a.device, link.a_port.name), (b.device, link.b_port.name))
                counterexamples += _end_faults(tree, a, link.a_port, other=b, far=link.b_port, medium=medium)
                counterexamples += _end_faults(tree, b, link.b_port, other=a, far=link.a_port, medium=medium)
        tried += len(fabric.links) + len(fabric.nics)
        counterexamples += _nics(tree, fabric)
        counterexamples += bond_faults(tree, fabric)
        if bonds := bond_count(fabric):
            facts.append(Fact(f"{fabric.name}: links of several cables, joined by LACP at both ends", bonds))
        longest = _mtu_bytes(fabric)
        counterexamples += _declared_length(tree, fabric, longest)
        counterexamples += _unusual_lengths(tree, fabric, longest)
        facts.append(Fact(f"{fabric.name}: cables between switches, both ends alike", len(fabric.links)))
        if longest:
            facts.append(Fact(f"{fabric.name}: longest packet on every hop, bytes", longest))
    return Verdict(tuple(facts), tuple(counterexamples), Cases("cables", tried))


def _medium(tree: RenderedTree, *ends: tuple[str, str]) -> str:
    """The medium of a planned cable: "smf" for transceivers changing the number of lanes, "" otherwise."""
    if tree.declaration is None or tree.declaration.single_mode.isdisjoint(ends):
        return ""
    return "smf"


def _end_faults(
    tree: RenderedTree, router: Router, port: Port, *, other: Router, far: Port, medium: str
) -> Iterator[Counterexample]:
    """Differences between a port and the far end of its cable."""
    end = f"the other end, {other.device} {far.name},"
    if port.speed_gbps != far.speed_gbps:
        message = f"{port.name} runs at {port.speed_gbps:g} Gb/s, {end} at {far.speed_gbps:g} Gb/s"
        yield example(tree, router.device, router.ports_file, port.speed_mark, message)
    has_lanes = port.lanes and far.lanes
    if has_lanes and not can_join(medium, round(port.speed_gbps), port.lanes, far.lanes):
        message = f"{port.name} uses {port.lanes} lanes, {end} {far.lanes}"
        yield example(tree, router.device, router.ports_file, port.speed_mark, message)
    if port.macsec != far.macsec:
        message = f"{port.name} encrypts by {port.macsec or 'nothing'}, {end} by {far.macsec or 'nothing'}"
        yield example(tree, router.device, router.ports_file, (*port.start, "mac security profile "), message)
    if (port.fec or "none") != (far.fec or "none"):
        near_fec, far_fec = port.fec or "nothing stated", far.fec or "nothing stated"
        message = f"{port.name} corrects errors by {near_fec}, {end} by {far_fec}"
        mark = port.start
        if port.fec and port.start[0].endswith("\n"):
            mark = (*port.start, "error-correction ")
        yield example(tree, router.device, router.ports_file, mark, message)


def _nics(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """Ports to NICs with other settings than most ports to NICs of that name on nodes of that kind.

    No file of a node states the speed of its NIC, so the ports are compared with each other.
    """
    switches = {router.device for router in fabric.routers}
    kinds: dict[tuple[str, str], list[tuple[Router, Port]]] = {}
    for router, port in fabric.ports:
        device, _, name = port.peer.partition(" ")
        if name and device not in switches:
            kinds.setdefault((stem_of(device), name), []).append((router, port))
    for members in kinds.values():
        votes = Counter(_PortSpeed(port.speed_gbps, port.fec, port.lanes) for _, port in members)
        usual = max(votes.items(), key=lambda item: item[1])[0]
        if len(votes) == 1:
            continue
        for router, port in members:
            speed = _PortSpeed(port.speed_gbps, port.fec, port.lanes)
            if speed != usual:
                has_other_lanes = speed.lanes != usual.lanes
                here, there = speed.phrase(with_lanes=has_other_lanes), usual.phrase(with_lanes=has_other_lanes)
                message = f"{port.name} to {port.peer} runs at {here}, most such ports at {there}"
                yield example(tree, router.device, router.ports_file, port.speed_mark, message)


class _PortSpeed(NamedTuple):
    gbps: float
    fec: str
    lanes: int

    def phrase(self, *, with_lanes: bool) -> str:
        phrase = f"{self.gbps:g} Gb/s with {self.fec or 'no stated'} FEC"
        if with_lanes:
            phrase += f" on {self.lanes} lanes"
        return phrase


def _mtu_bytes(fabric: RoutedFabric) -> int:
    """The longest packet of most routed ports and NICs of a fabric, in bytes; 0 without routed ports."""
    votes = Counter(port.mtu_bytes for _, port in fabric.ports if port.address is not None)
    votes.update(nic.mtu_bytes for nic, _ in fabric.nics)
    if not votes:
        return 0
    return max(votes.items(), key=lambda item: item[1])[0]


def _declared_length(tree: RenderedTree, fabric: RoutedFabric, longest: int) -> Iterator[Counterexample]:
    """The usual longest packet against the spec's, at the first routed port."""
    wanted = declared(tree, fabric)
    if wanted is None or longest == wanted.mtu:
        return
    for router, port in fabric.ports:
        if port.address is not None:
            message = f"most hops take packets of {longest} bytes, by the spec {wanted.mtu}"
            yield example(tree, router.device, router.ports_file, port.mark, message)
            return


def _unusual_lengths(tree: RenderedTree, fabric: RoutedFabric, longest: int) -> Iterator[Counterexample]:
    """Ports and NICs with a longer or shorter packet length than the others; longer packets are lost at the next hop.

    Ports of a shared network state the length of its gateway. For hosts without files here, the spec has their length.
    """
    wanted = declared(tree, fabric)
    least = longest if wanted is None else wanted.mtu
    nic_peers = {nic.peer for nic, _ in fabric.nics}
    for router, port in fabric.ports:
        if port.speed_gbps >= _PAM4_GBPS and port.fec not in {"reed-solomon", ""}:
            message = f"{port.name} corrects errors by {port.fec}, {port.speed_gbps:g} Gb/s needs reed-solomon"
            yield example(tree, router.device, router.ports_file, port.start, message)
        is_routed = port.address is not None
        has_planned_hosts = wanted is not None and port.subnet is not None
        has_hosts = has_planned_hosts or f"{router.device} {port.name}" in nic_peers
        is_short = has_hosts and 0 < port.mtu_bytes < least
        is_unlike_others = is_routed and port.mtu_bytes != longest
        if is_unlike_others or is_short:
            expected = longest if is_routed else least
            message = f"{port.name} takes packets of {port.mtu_bytes} bytes, the other hops {expected}"
            mark = port.mark
            if port.start[0].endswith("\n"):
                mark = (*port.start, f"   mtu {port.mtu_bytes}\n")
            yield example(tree, router.device, router.ports_file, mark, message)
    for nic, _ in fabric.nics:
        if nic.mtu_bytes != longest:
            message = f"{nic.name} sends packets of {nic.mtu_bytes} bytes, the hops take {longest}"
            yield example(tree, nic.device, nic.file, ("MTUBytes=",), message)


LINKS = ProofCheck(
    name="ethernet-links",
    claim=(
        "Both ends of every cable agree on speed, error correction and bonds, and every hop carries"
        " packets of one length."
    ),
    kinds=KINDS,
    intent=NETWORK_INTENT | {"bonds", "single_mode"},
    applies=has_network,
    check=_run,
    spec_only="whether packets have the configured length, and whether all cables exist",
    readings=routers_read,
    uncheckable=without_cables,
)
