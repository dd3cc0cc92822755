"""Cables: both ends run at one speed, with one error correction, and carry frames of one length to the last NIC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.verify.check import Check, Counterexample, Fact, Verdict
from clusterwright.verify.ethernet.network import KINDS, Fabric, has_network, network_of_tree
from clusterwright.verify.ethernet.router import Mark, Port, Router, example
from clusterwright.verify.tree import RenderedTree


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    found: list[Counterexample] = []
    for fabric in network_of_tree(tree).fabrics:
        for link in fabric.links:
            a, b = fabric.routers[link.a], fabric.routers[link.b]
            if link.a_port.speed_gbps != link.b_port.speed_gbps or link.a_port.fec != link.b_port.fec:
                found += _unlike(tree, a, link.a_port, b, link.b_port)
                found += _unlike(tree, b, link.b_port, a, link.a_port)
        longest = _mtu_bytes(fabric)
        found += _lengths(tree, fabric, longest)
        facts.append(Fact(f"{fabric.name}: cables between switches, both ends alike", len(fabric.links)))
        if longest:
            facts.append(Fact(f"{fabric.name}: longest packet on every hop, bytes", longest))
    return Verdict(tuple(facts), tuple(found))


def _unlike(tree: RenderedTree, router: Router, port: Port, other: Router, far: Port) -> Iterator[Counterexample]:
    end = f"the other end, {other.device} {far.name},"
    if port.speed_gbps != far.speed_gbps:
        message = f"{port.name} runs at {port.speed_gbps:g} Gb/s, {end} at {far.speed_gbps:g} Gb/s"
        yield example(tree, router.device, router.ports_file, port.speed_mark, message)
    if (port.fec or "none") != (far.fec or "none"):
        message = (
            f"{port.name} corrects errors by {port.fec or 'nothing stated'}, {end} by {far.fec or 'nothing stated'}"
        )
        mark: Mark = (*port.start, "error-correction ") if port.fec and port.start[0].endswith("\n") else port.start
        yield example(tree, router.device, router.ports_file, mark, message)


def _mtu_bytes(fabric: Fabric) -> int:
    """What most routed ports and NICs of a fabric take for the longest packet; 0 where nothing is routed."""
    votes = Counter(port.mtu_bytes for router in fabric.routers for port in router.ports if port.address is not None)
    votes.update(nic.mtu_bytes for nic, _ in fabric.nics)
    return max(votes.items(), key=lambda item: item[1])[0] if votes else 0


def _lengths(tree: RenderedTree, fabric: Fabric, longest: int) -> Iterator[Counterexample]:
    """Ports and NICs that take longer or shorter packets than the others; longer ones are lost at the next hop."""
    joined = {(nic.peer.partition(" ")[0], nic.peer.partition(" ")[2]) for nic, _ in fabric.nics}
    for router in fabric.routers:
        for port in router.ports:
            is_routed = port.address is not None
            is_short = (router.device, port.name) in joined and 0 < port.mtu_bytes < longest
            if (is_routed and port.mtu_bytes != longest) or is_short:
                message = f"{port.name} takes packets of {port.mtu_bytes} bytes, the other hops {longest}"
                mark: Mark = (*port.start, f"   mtu {port.mtu_bytes}\n") if port.start[0].endswith("\n") else port.mark
                yield example(tree, router.device, router.ports_file, mark, message)
    for nic, _ in fabric.nics:
        if nic.mtu_bytes != longest:
            message = f"{nic.name} sends packets of {nic.mtu_bytes} bytes, the hops take {longest}"
            yield example(tree, nic.device, nic.file, ("MTUBytes=",), message)


LINKS = Check(
    "ethernet-links",
    "Both ends of every cable agree on speed and error correction, and every hop carries packets of one length.",
    KINDS,
    has_network,
    _run,
)
