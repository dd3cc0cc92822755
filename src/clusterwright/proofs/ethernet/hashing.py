"""ECMP hashing: switches choose among equal paths by the same fields of a packet, with RoCE by queue pairs.

On a RoCE fabric of the spec, switches must hash the queue pair's number if their system can read it on their chip.
The hash functions (algorithm and seed) of two switches one above the other must differ: otherwise the upper one only
gets packets of one hash result of the lower one, and leaves links empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

import numpy as np

from clusterwright.facts.reader import SystemReader
from clusterwright.facts.router import HashFunction, Router
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, example
from clusterwright.proofs.ethernet.declared import declared, has_uplinks
from clusterwright.proofs.ethernet.network import (
    KINDS,
    NETWORK_INTENT,
    Integers,
    RoutedFabric,
    has_network,
    network_of_tree,
)
from clusterwright.proofs.ethernet.qos.adaptive import adaptive_facts, adaptive_faults
from clusterwright.proofs.ethernet.qos.declared import is_lossless
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.systems import system_of, systems
from clusterwright.switches.readers import READERS

# The destination queue pair in the base transport header behind UDP (InfiniBand specification, volume 1, annex A17).
_QUEUE_PAIR = "bytes 5 to 7 of UDP's payload to port 4791"


def _hashes_queue_pairs(reader: SystemReader) -> bool:
    """Whether a system has a hashing mode over queue pairs."""
    return any(hashing.queue_pairs for hashing in systems()[reader.system].hashing)


_READ_QUEUE_PAIRS = frozenset(reader.file for reader in READERS if _hashes_queue_pairs(reader))


def _applies(tree: RenderedTree) -> bool:
    if not has_network(tree):
        return False
    return any(fabric.links or is_lossless(tree, fabric) for fabric in network_of_tree(tree).fabrics)


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    counterexamples: list[Counterexample] = []
    notes: list[str] = []
    silent: list[str] = []
    tried = 0
    for fabric in network_of_tree(tree).fabrics:
        facts += _functions(fabric)
        notes += _different_only_by_seed(fabric)
        counterexamples += _polarised(tree, fabric)
        counterexamples += adaptive_faults(tree, fabric)
        facts += adaptive_facts(fabric)
        if not is_lossless(tree, fabric):
            tried += len({router.device for router in chain.from_iterable(_stacked(fabric))})
            continue
        silent += _without_seed(fabric)
        wanted = declared(tree, fabric)
        is_roce = wanted is not None and wanted.technology == "roce"
        usual_fields = set()
        for (file, reads_pairs), routers in _kinds(fabric, wanted).items():
            votes = Counter(router.spreads_by for router in routers if router.spreads_by is not None)
            usual, count = votes.most_common(1)[0] if votes else ("", 0)
            if is_roce and reads_pairs and usual != _QUEUE_PAIR:
                message = f"no queue pair is in what most of {fabric.name} spread by: {usual or 'nothing is stated'}"
                counterexamples.append(example(tree, routers[0].device, file, routers[0].spread_mark, message))
            if not votes:
                notes.append(f"{fabric.name}: {routers[0].device} and its like do not say by what they spread")
                continue
            usual_fields.add(usual)
            if fabric.links:
                tried += count
            stem = routers[0].stem
            facts.append(Fact(f"{fabric.name}: {count:,} switches like those of {stem} spread by", usual))
            counterexamples += _unusual(tree, routers, usual)
        if fabric.links:
            most = max(Counter(link.a for link in fabric.links).values())
            notes.append(
                f"{fabric.name}: whether chips hold {most:,} equal paths was not checked: no source bounds them"
            )
        if len(usual_fields) > 1:
            notes.append(f"{fabric.name}: its systems spread by different parts of a packet")
    cases = Cases("switches with equal paths to choose from", tried)
    return Verdict(
        facts=tuple(facts),
        counterexamples=tuple(counterexamples),
        cases=cases,
        notes=tuple(notes),
        unjudged=_unjudged(silent),
    )


def _kinds(fabric: RoutedFabric, wanted: Fabric | None) -> dict[tuple[str, bool], list[Router]]:
    """Routers by operating system and support for hashing queue pairs."""
    kinds: dict[tuple[str, bool], list[Router]] = {}
    for router in fabric.routers:
        kinds.setdefault((router.ports_file, _reads_pairs(wanted, router)), []).append(router)
    return kinds


def _reads_pairs(wanted: Fabric | None, router: Router) -> bool:
    """Whether a switch's system can hash queue pairs on its chip by the spec; without a spec, on any chip."""
    tier = wanted.tier(router.stem) if wanted is not None else None
    if tier is None:
        return router.ports_file in _READ_QUEUE_PAIRS
    system = system_of(tier.model)
    hashing = system.hashing_on(tier.model.asic) if system is not None else None
    return hashing is not None and hashing.queue_pairs


def _unjudged(silent: list[str]) -> str:
    """The reason why hash functions cannot be compared: switches without a stated seed; "" for none."""
    if not silent:
        return ""
    if len(silent) == 1:
        return f"not proven, because {silent[0]} does not state the seed of its hash"
    return f"not proven, because {silent[0]} and {len(silent) - 1:,} other switches do not state the seed of their hash"


def _stacked(fabric: RoutedFabric) -> Integers:
    """Cabled routers by their numbers, each pair once in the order of cables, the lower first."""
    climbs = fabric.rank[fabric.ends[:, 0]] <= fabric.rank[fabric.ends[:, 1]]
    pairs = np.where(climbs[:, None], fabric.ends, fabric.ends[:, ::-1])
    first = np.unique(pairs[:, 0] * len(fabric.routers) + pairs[:, 1], return_index=True)[1]
    return pairs[np.sort(first)]


def _numbered(fabric: RoutedFabric) -> Integers:
    """For each router the number of its hash function, -1 without one."""
    number_of: dict[HashFunction | None, int] = {None: -1}
    return np.array([number_of.setdefault(router.hash_function, len(number_of)) for router in fabric.routers], np.int64)


def _functions(fabric: RoutedFabric) -> Iterator[Fact]:
    for stem, members in fabric.tiers:
        votes = Counter(fabric.routers[index].hash_function for index in members)
        function = votes.most_common(1)[0][0]
        if function is not None:
            yield Fact(f"{fabric.name}: {stem} chooses with", f"{function.algorithm}, seed {function.seed}")


def _different_only_by_seed(fabric: RoutedFabric) -> Iterator[str]:
    """A note for each algorithm of several tiers with different seeds."""
    tiers_by_algorithm: dict[str, list[str]] = {}
    for stem, members in fabric.tiers:
        votes = Counter(fabric.routers[index].hash_function for index in members)
        function = votes.most_common(1)[0][0]
        if function is not None:
            tiers_by_algorithm.setdefault(function.algorithm, []).append(stem)
    for algorithm, tiers in tiers_by_algorithm.items():
        if len(tiers) > 1:
            same_algorithm = f"{' and '.join(tiers)} have {algorithm} with seeds of their own"
            yield f"{fabric.name}: {same_algorithm}; what a seed changes in a chip is not published"


def _polarised(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """Switches with the hash function of a neighbour; of two, the one with more such neighbours. Each switch once."""
    pairs, functions = _stacked(fabric), _numbered(fabric)
    lower_functions, upper_functions = functions[pairs[:, 0]], functions[pairs[:, 1]]
    is_same = (lower_functions == upper_functions) & (lower_functions >= 0)
    same_pairs = [(fabric.routers[lower], fabric.routers[upper]) for lower, upper in pairs[is_same].tolist()]
    count = Counter(router.device for router in chain.from_iterable(same_pairs))
    reported: set[str] = set()
    for lower, upper in same_pairs:
        router, neighbour = lower, upper
        if count[upper.device] > count[lower.device]:
            router, neighbour = upper, lower
        function = router.hash_function
        if router.device not in reported and function is not None:
            reported.add(router.device)
            message = (
                f"chooses among equal paths with {function.algorithm}, seed {function.seed}, as "
                f"{neighbour.device} does, which it is cabled to: what one has sorted the other cannot sort again"
            )
            yield example(tree, router.device, router.ports_file, router.seed_mark, message)


def _without_seed(fabric: RoutedFabric) -> list[str]:
    ends = _stacked(fabric).ravel()
    without_function = ends[_numbered(fabric)[ends] < 0].tolist()
    return [fabric.routers[index].device for index in dict.fromkeys(without_function)]


def _unusual(tree: RenderedTree, routers: list[Router], usual: str) -> Iterator[Counterexample]:
    """Switches hashing other fields than most of the same system."""
    for router in routers:
        if router.spreads_by != usual:
            here = router.spreads_by or "what the hardware does by itself"
            message = f"spreads equal paths by {here}, the other switches by {usual}"
            yield example(tree, router.device, router.ports_file, router.spread_mark, message)


HASHING = ProofCheck(
    name="ecmp-hash",
    claim="Switches of one system choose among equal paths by the same parts of a packet, tiers with"
    " functions of their own,"
    " or for each packet at both ends of every cable, where NICs and NCCL take packets in any order.",
    kinds=KINDS,
    intent=NETWORK_INTENT,
    applies=_applies,
    check=_run,
    spec_only="whether the fabric is RoCE, which needs queue pairs in the hash",
    concerns=has_uplinks,
)
