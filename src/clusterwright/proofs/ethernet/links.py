"""Cables: both ends run at one speed, correct and encrypt alike, and carry frames of one length to the last NIC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.facts.router import Mark, Port, Router, stem_of
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
                counterexamples += _unlike(tree, a, link.a_port, other=b, far=link.b_port, medium=medium)
                counterexamples += _unlike(tree, b, link.b_port, other=a, far=link.a_port, medium=medium)
        tried += len(fabric.links) + len(fabric.nics)
        counterexamples += _nics(tree, fabric)
        counterexamples += bond_faults(tree, fabric)
        if bonds := bond_count(fabric):
            facts.append(Fact(f"{fabric.name}: links of several cables, joined by LACP at both ends", bonds))
        longest = _mtu_bytes(fabric)
        counterexamples += _declared_length(tree, fabric, longest)
        counterexamples += _lengths(tree, fabric, longest)
        facts.append(Fact(f"{fabric.name}: cables between switches, both ends alike", len(fabric.links)))
        if longest:
            facts.append(Fact(f"{fabric.name}: longest packet on every hop, bytes", longest))
    return Verdict(tuple(facts), tuple(counterexamples), Cases("cables", tried))


def _medium(tree: RenderedTree, *ends: tuple[str, str]) -> str:
    """The medium of a planned cable: "smf" for transceivers changing the number of lanes, "" otherwise."""
    single_mode = tree.declaration.single_mode if tree.declaration is not None else frozenset()
    return "smf" if not single_mode.isdisjoint(ends) else ""


def _unlike(
    tree: RenderedTree, router: Router, port: Port, *, other: Router, far: Port, medium: str
) -> Iterator[Counterexample]:
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
        message = (
            f"{port.name} corrects errors by {port.fec or 'nothing stated'}, {end} by {far.fec or 'nothing stated'}"
        )
        mark: Mark = (*port.start, "error-correction ") if port.fec and port.start[0].endswith("\n") else port.start
        yield example(tree, router.device, router.ports_file, mark, message)


def _nics(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """Ports to NICs with other settings than most ports to NICs of that name on nodes of that kind.

    No file of a node states the speed of its NIC, so the ports are compared with each other.
    """
    routers = {router.device for router in fabric.routers}
    kinds: dict[tuple[str, str], list[tuple[Router, Port]]] = {}
    for router in fabric.routers:
        for port in router.ports:
            device, _, name = port.peer.partition(" ")
            if name and device not in routers:
                kinds.setdefault((stem_of(device), name), []).append((router, port))
    for members in kinds.values():
        votes = Counter((port.speed_gbps, port.fec, port.lanes) for _, port in members)
        usual = max(votes.items(), key=lambda item: item[1])[0]
        if len(votes) > 1:
            for router, port in members:
                setting = port.speed_gbps, port.fec, port.lanes
                if setting != usual:
                    shows_lanes = setting[2] != usual[2]
                    here, there = _spoken(setting, shows_lanes=shows_lanes), _spoken(usual, shows_lanes=shows_lanes)
                    message = f"{port.name} to {port.peer} runs at {here}, most such ports at {there}"
                    yield example(tree, router.device, router.ports_file, port.speed_mark, message)


def _spoken(setting: tuple[float, str, int], *, shows_lanes: bool) -> str:
    gbps, fec, lanes = setting
    phrase = f"{gbps:g} Gb/s with {fec or 'no stated'} FEC"
    return f"{phrase} on {lanes} lanes" if shows_lanes else phrase


def _mtu_bytes(fabric: RoutedFabric) -> int:
    """The longest packet of most routed ports and NICs of a fabric, in bytes; 0 without routed ports."""
    votes = Counter(port.mtu_bytes for _, port in fabric.ports if port.address is not None)
    votes.update(nic.mtu_bytes for nic, _ in fabric.nics)
    return max(votes.items(), key=lambda item: item[1])[0] if votes else 0


def _declared_length(tree: RenderedTree, fabric: RoutedFabric, longest: int) -> Iterator[Counterexample]:
    """The usual longest packet against the spec's, at the first routed port."""
    wanted = declared(tree, fabric)
    first = next(((router, port) for router, port in fabric.ports if port.address is not None), None)
    if wanted is not None and first is not None and longest != wanted.mtu:
        router, port = first
        message = f"most hops take packets of {longest} bytes, by the spec {wanted.mtu}"
        yield example(tree, router.device, router.ports_file, port.mark, message)


def _lengths(tree: RenderedTree, fabric: RoutedFabric, longest: int) -> Iterator[Counterexample]:
    """Ports and NICs with a longer or shorter packet length than the others; longer packets are lost at the next hop.

    Ports of a shared network state the length of its gateway. For hosts without files here, the spec has their length.
    """
    wanted = declared(tree, fabric)
    least = longest if wanted is None else wanted.mtu
    joined = {(nic.peer.partition(" ")[0], nic.peer.partition(" ")[2]) for nic, _ in fabric.nics}
    for router in fabric.routers:
        for port in router.ports:
            if port.speed_gbps >= _PAM4_GBPS and port.fec not in {"reed-solomon", ""}:
                message = f"{port.name} corrects errors by {port.fec}, {port.speed_gbps:g} Gb/s needs reed-solomon"
                yield example(tree, router.device, router.ports_file, port.start, message)
            is_routed = port.address is not None
            has_hosts = (router.device, port.name) in joined or (wanted is not None and port.subnet is not None)
            is_short = has_hosts and 0 < port.mtu_bytes < least
            if (is_routed and port.mtu_bytes != longest) or is_short:
                others = longest if is_routed else least
                message = f"{port.name} takes packets of {port.mtu_bytes} bytes, the other hops {others}"
                mark: Mark = (*port.start, f"   mtu {port.mtu_bytes}\n") if port.start[0].endswith("\n") else port.mark
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
    spec_only="whether packets have the length that is asked for, and whether all cables are there",
    readings=routers_read,
    uncheckable=without_cables,
)
