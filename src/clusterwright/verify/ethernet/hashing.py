"""Spreading: all switches of a RoCE fabric choose among equal paths by the same parts of a packet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.verify.check import Check, Counterexample, Fact, Verdict
from clusterwright.verify.ethernet.network import KINDS, Fabric, has_network, network_of_tree
from clusterwright.verify.ethernet.router import example
from clusterwright.verify.tree import RenderedTree


def _applies(tree: RenderedTree) -> bool:
    return has_network(tree) and any(fabric.is_lossless for fabric in network_of_tree(tree).fabrics)


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    found: list[Counterexample] = []
    notes: list[str] = []
    for fabric in network_of_tree(tree).fabrics:
        if not fabric.is_lossless:
            continue
        votes = Counter(router.spreads_by for router in fabric.routers if router.spreads_by is not None)
        if not votes:
            notes.append(f"{fabric.name}: no switch says by which parts of a packet it spreads")
            continue
        usual, count = votes.most_common(1)[0]
        facts.append(Fact(f"{fabric.name}: {count:,} switches spread by addresses, ports and", usual))
        found += _odd(tree, fabric, usual)
        silent = [router for router in fabric.routers if router.spreads_by is None]
        if silent and not any(each.file == silent[0].ports_file for each in found):
            notes.append(
                f"{fabric.name}: {len(silent):,} switches, {silent[0].device} among them, do not say by what they "
                "spread, and do as their hardware does"
            )
    return Verdict(tuple(facts), tuple(found), tuple(notes))


def _odd(tree: RenderedTree, fabric: Fabric, usual: str) -> Iterator[Counterexample]:
    """Switches that say otherwise, and those that say nothing though others of the same system do."""
    outspoken = {router.ports_file for router in fabric.routers if router.spreads_by is not None}
    for router in fabric.routers:
        if router.spreads_by == usual or (router.spreads_by is None and router.ports_file not in outspoken):
            continue
        message = f"spreads by {router.spreads_by or 'addresses and ports alone'}, the other switches by {usual}"
        yield example(tree, router.device, router.ports_file, router.spread_mark, message)


HASHING = Check(
    "ecmp-hash",
    "Switches that say by what they choose among equal paths all say the same, RoCE's queue pair as most have it.",
    KINDS,
    _applies,
    _run,
)
