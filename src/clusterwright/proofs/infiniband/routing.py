"""Up–down routing: every pair of nodes has a path that climbs and then descends, and such paths cannot deadlock.

A credit loop is a cycle in the channel dependency graph (Dally and Seitz, 1987): channels are directed links, and a
channel depends on the next one a packet may wait for. With paths that never climb after descending, channels depend on
each other in the order of the ranks, up channels before down channels. So the graph has no cycle as long as every link
joins two different ranks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Set

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from clusterwright.hosts.opensm.reader.fabric import Integers
from clusterwright.proofs.check import Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.infiniband.drained import drained_parts
from clusterwright.proofs.infiniband.engines import NO_FALLBACK, UP_DOWN_ENGINES, engines_of
from clusterwright.proofs.infiniband.outcome import SubnetOutcome
from clusterwright.proofs.infiniband.subnet import (
    KINDS,
    SUBNET_INTENT,
    ManagedSubnet,
    has_subnet,
    hops_from,
)
from clusterwright.proofs.tree import RenderedTree


def _run(tree: RenderedTree) -> Verdict:
    outcome = SubnetOutcome(tree)
    for subnet in outcome.routed():
        pairs, unreachable = _unreachable(subnet)
        flat = _flat_links(subnet)
        outcome.tried += pairs
        outcome.facts += [
            Fact("ranks of switches", int(subnet.rank.max(initial=-1)) + 1),
            Fact("pairs of compute adapters with an up–down path", pairs),
            Fact("channels in the dependency graph, without a cycle", 2 * len(subnet.fabric.trunks)),
        ]
        drained = tree.declaration.drained_chips if tree.declaration is not None else None
        engine = _unfollowed(tree, subnet)
        if engine:
            outcome.unjudged = (
                outcome.unjudged or f"not proven, because what paths {engine} takes is decided while it runs"
            )
        outcome.counterexamples += [*_engines(subnet, engine), *_ranks(subnet, drained), *unreachable]
        outcome.notes += _idle_notes(subnet, drained)
        if tree.declaration is not None:
            reached, crossed = drained_parts(subnet, tree.declaration)
            outcome.facts += reached
            outcome.counterexamples += crossed
        for row in flat.tolist():
            rank = int(subnet.rank[subnet.fabric.trunks[row, 0]])
            outcome.counterexamples.append(
                subnet.at_fabric(
                    int(subnet.fabric.trunks[row, 4]),
                    f"{subnet.fabric.trunk_name(row)} joins two switches of rank {rank}: it leads neither up nor down",
                )
            )
        outcome.counterexamples += _credit_loop(subnet, flat)
    return outcome.verdict("pairs of compute adapters")


def _unfollowed(tree: RenderedTree, subnet: ManagedSubnet) -> str:
    """The spec's routing engine if it leaves up–down paths, else ""."""
    declaration = tree.declaration
    if declaration is None:
        return ""
    name = declaration.subnet_with(adapter.guid for adapter in subnet.fabric.adapters)
    planned = declaration.subnets.get(name) if name is not None else None
    if planned is None or planned.engine in UP_DOWN_ENGINES:
        return ""
    return planned.engine


def _engines(subnet: ManagedSubnet, planned_engine: str) -> Iterator[Counterexample]:
    """Configured engines leaving up–down paths, except the spec's own."""
    option = subnet.options.get("routing_engine")
    engines = engines_of(subnet)
    for engine in engines:
        if engine not in UP_DOWN_ENGINES | {NO_FALLBACK, planned_engine}:
            yield subnet.at_config(option, f"the engine {engine} does not keep to up–down paths")
    # NVIDIA's subnet manager documents no such option.
    if subnet.is_open and NO_FALLBACK not in engines:
        yield subnet.at_config(option, "without no_fallback, opensm routes by minhop when the tree is not as planned")


def _ranks(subnet: ManagedSubnet, drained: Set[int] | None) -> Iterator[Counterexample]:
    """Faults of roots and ranks. ``drained`` are the chips drained by the spec, None for a folder."""
    switches = subnet.fabric.switches
    name_by_guid = {switch.guid: switch.name for switch in switches}
    for guid in sorted(subnet.roots.keys() & name_by_guid.keys() & (drained or set())):
        message = f"{name_by_guid[guid]} is a root, so that paths lead through it; the spec drains it"
        yield Counterexample(device=subnet.device, file=subnet.roots_file, line=subnet.roots[guid], message=message)
    if not subnet.roots:
        yield Counterexample(
            device=subnet.device, file=subnet.roots_file, line=0, message="no root is listed: ranks have no beginning"
        )
        return
    for index in np.flatnonzero(subnet.rank < 0).tolist():
        yield subnet.at_fabric(switches[index].line, f"{switches[index].name} is connected to no root")
    for index in _idle(subnet).tolist():
        switch = switches[index]
        if drained is None or switch.guid in drained:
            continue
        message = (
            f"{switch.name} (0x{switch.guid:016x}, line {switch.line} of the fabric) is no root, but nothing hangs "
            f"below it: at rank {int(subnet.rank[index])} it carries no traffic"
        )
        yield Counterexample(device=subnet.device, file=subnet.roots_file, line=0, message=message)
    ranks = subnet.rank[subnet.leaves]
    usual_rank = _commonest(ranks)
    for index in subnet.leaves[ranks != usual_rank].tolist():
        switch, rank = switches[index], int(subnet.rank[index])
        message = f"{switch.name} has compute adapters at rank {rank}, the others have theirs at rank {usual_rank}"
        yield subnet.at_fabric(switch.line, message)


def _idle(subnet: ManagedSubnet) -> Integers:
    """Switches without a path through them because they are not listed as roots.

    A switch as near to the leaves as the roots could be a root: unlisted, it is ranked below the switches it should
    join. Spare switches, such as a director's unused leaf chips, are further away.
    """
    height = hops_from(subnet.fabric, subnet.leaves)
    leaf_rank = int(subnet.rank[subnet.leaves].max(initial=0))
    return np.flatnonzero((subnet.rank > 0) & (height <= leaf_rank) & ~subnet.carries)


def _idle_notes(subnet: ManagedSubnet, drained: Set[int] | None) -> Iterator[str]:
    if drained is None:
        for index in _idle(subnet).tolist():
            switch = subnet.fabric.switches[index]
            yield f"{switch.name} is no root: it carries nothing, as a drained switch does"


def _commonest(values: Integers) -> int:
    if not (values >= 0).any():
        return -1
    return int(np.bincount(values[values >= 0]).argmax())


def _flat_links(subnet: ManagedSubnet) -> Integers:
    """Rows of links between two switches of one rank."""
    trunks = subnet.fabric.trunks
    near_rank, far_rank = subnet.rank[trunks[:, 0]], subnet.rank[trunks[:, 2]]
    return np.flatnonzero((near_rank == far_rank) & (near_rank >= 0))


def _unreachable(subnet: ManagedSubnet) -> tuple[int, list[Counterexample]]:
    """The number of compute-adapter pairs with a common ancestor; for each leaf without one, such a pair."""
    leaves, weights = subnet.leaves, subnet.endpoints[subnet.leaves]
    step = csr_array((np.ones(len(leaves)), (np.arange(len(leaves)), leaves)), shape=(len(leaves), subnet.up.shape[0]))
    ancestors = np.zeros(step.shape, np.float32)
    while step.nnz:
        ancestors[step.nonzero()] = 1
        step = step @ subnet.up
    joined = ancestors @ ancestors.T > 0
    pairs = int((weights @ joined.astype(np.int64) @ weights - weights.sum()) // 2)
    counterexamples = []
    for near in np.flatnonzero(~joined.all(axis=1)).tolist():
        far = int(np.flatnonzero(~joined[near])[0])
        leaf, other_leaf = subnet.fabric.switches[int(leaves[near])], subnet.fabric.switches[int(leaves[far])]
        lost = int(weights[~joined[near]].sum())
        message = f"no up–down path from {leaf.name} to {other_leaf.name}; {lost:,} adapters are out of its reach"
        counterexamples.append(subnet.at_fabric(leaf.line, message))
    return pairs, counterexamples


def _credit_loop(subnet: ManagedSubnet, flat: Integers) -> Iterator[Counterexample]:
    """A cycle of channels, if any.

    A packet's state is its switch and whether it may still climb; its channels are the edges between states, so a cycle
    of dependent channels is a cycle of states. A link between equal ranks is taken as up and as down.
    """
    count = len(subnet.fabric.switches)
    both: coo_array = subnet.links.tocoo()
    rise = subnet.rank[both.row] - subnet.rank[both.col]
    up, down, level = rise > 0, rise < 0, rise == 0
    sources = [both.row[up], both.row[down], both.row[down] + count, both.row[level], both.row[level] + count]
    targets = [both.col[up], both.col[down] + count, both.col[down] + count, both.col[level], both.col[level]]
    source, target = np.concatenate(sources), np.concatenate(targets)
    states = csr_array((np.ones(len(source), np.int8), (source, target)), shape=(2 * count, 2 * count))
    components, _ = connected_components(states, directed=True, connection="strong")
    if components == 2 * count:
        return
    for row in flat.tolist():
        cycle = _cycle_through(subnet, int(subnet.fabric.trunks[row, 0]), int(subnet.fabric.trunks[row, 2]))
        if cycle:
            names = " → ".join(subnet.fabric.switches[index].name for index in (*cycle, cycle[0]))
            line = int(subnet.fabric.trunks[row, 4])
            yield subnet.at_fabric(line, f"credit loop {names}: each channel can wait for the next")
            return


def _cycle_through(subnet: ManagedSubnet, first: int, second: int) -> list[int]:
    """The switches of a shortest cycle of channels from ``first`` to ``second``; empty without one."""
    start = (first, second)
    before: dict[tuple[int, int], tuple[int, int]] = {}
    waiting = deque([start])
    while waiting:
        channel = waiting.popleft()
        here, there = channel
        fell = subnet.rank[there] > subnet.rank[here]
        for beyond in subnet.links.indices[subnet.links.indptr[there] : subnet.links.indptr[there + 1]].tolist():
            following = (there, beyond)
            if beyond == here or (fell and subnet.rank[beyond] < subnet.rank[there]):
                continue
            if following == start:
                cycle = [here]
                while channel != start:
                    channel = before[channel]
                    cycle.append(channel[0])
                return cycle[::-1]
            if following not in before:
                before[following] = channel
                waiting.append(following)
    return []


UP_DOWN = ProofCheck(
    name="ib-up-down",
    claim="Every pair of compute adapters has an up–down path, and up–down routing has no credit loop.",
    kinds=KINDS,
    intent=SUBNET_INTENT | {"drained", "drained_chips", "endpoints"},
    applies=has_subnet,
    check=_run,
    spec_only="whether paths lead through drained switches, and whether the routing engine is that of the spec",
)
