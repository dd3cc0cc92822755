"""Spreading: all switches of a RoCE fabric choose among equal paths by the same parts of a packet.

Where the spec says that a fabric carries RoCE, the systems that can read a queue pair's number must do so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.verify.check import Cases, Check, Counterexample, Fact, Verdict
from clusterwright.verify.ethernet import eos_text, fboss_json
from clusterwright.verify.ethernet.declared import declared
from clusterwright.verify.ethernet.network import KINDS, has_network, network_of_tree
from clusterwright.verify.ethernet.qos_declared import is_lossless
from clusterwright.verify.ethernet.router import Router, example
from clusterwright.verify.tree import RenderedTree

# The destination queue pair in the base transport header behind UDP (InfiniBand specification, volume 1, annex A17).
_QUEUE_PAIR = "bytes 5 to 7 of UDP's payload to port 4791"
_READ_QUEUE_PAIRS = frozenset({eos_text.PATH, fboss_json.AGENT})


def _applies(tree: RenderedTree) -> bool:
    return has_network(tree) and any(is_lossless(tree, fabric) for fabric in network_of_tree(tree).fabrics)


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    found: list[Counterexample] = []
    notes: list[str] = []
    tried = 0
    for fabric in network_of_tree(tree).fabrics:
        if not is_lossless(tree, fabric):
            continue
        wanted = declared(tree, fabric)
        systems: dict[str, list[Router]] = {}
        for router in fabric.routers:
            systems.setdefault(router.ports_file, []).append(router)
        said = {}
        for file, routers in systems.items():
            votes = Counter(router.spreads_by for router in routers if router.spreads_by is not None)
            usual, count = votes.most_common(1)[0] if votes else ("", 0)
            if (
                wanted is not None
                and wanted.technology == "roce"
                and file in _READ_QUEUE_PAIRS
                and usual != _QUEUE_PAIR
            ):
                message = f"no queue pair is in what most of {fabric.name} spread by: {usual or 'nothing is stated'}"
                found.append(example(tree, routers[0].device, file, routers[0].spread_mark, message))
            if not votes:
                notes.append(f"{fabric.name}: {routers[0].device} and its like do not say by what they spread")
                continue
            said[file] = usual
            tried += count if fabric.links else 0
            stem = routers[0].stem
            facts.append(Fact(f"{fabric.name}: {count:,} switches like those of {stem} spread by", usual))
            found += _odd(tree, routers, usual)
        if len(set(said.values())) > 1:
            notes.append(f"{fabric.name}: its systems spread by different parts of a packet")
    return Verdict(tuple(facts), tuple(found), Cases("switches with equal paths to choose from", tried), tuple(notes))


def _odd(tree: RenderedTree, routers: list[Router], usual: str) -> Iterator[Counterexample]:
    """Switches that spread by something else than most of the same system."""
    for router in routers:
        if router.spreads_by != usual:
            here = router.spreads_by or "what the hardware does by itself"
            message = f"spreads equal paths by {here}, the other switches by {usual}"
            yield example(tree, router.device, router.ports_file, router.spread_mark, message)


HASHING = Check(
    "ecmp-hash",
    "Switches of one system choose among equal paths by the same parts of a packet.",
    KINDS,
    _applies,
    _run,
)
