"""Isolation of a folder alone: faults under any matrix of flows.

A folder cannot vouch for its own matrix, so nothing here is ever proven; it can only be refuted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby

from clusterwright.packets.boxes import FOREIGN
from clusterwright.packets.filters import InterfaceNumbers, Ruleset
from clusterwright.packets.nft_file import read_nft
from clusterwright.packets.passage import base_chains, passing
from clusterwright.packets.phrases import count, idle_phrase, packet_phrase
from clusterwright.packets.ranges import EMPTY, Ranges
from clusterwright.packets.tokens import Unreadable
from clusterwright.packets.values import addresses
from clusterwright.proofs.check import Cases, Counterexample, Fact, Verdict
from clusterwright.proofs.isolation.edges import addresses_in, behaviour, leave_open, unreadable
from clusterwright.proofs.isolation.expected import STATEFUL_PACKETS
from clusterwright.proofs.isolation.loading import other_filters, unloaded
from clusterwright.proofs.isolation.nodes import BOOTING, NETWORKS, RUNNING
from clusterwright.proofs.isolation.openings import opening_faults
from clusterwright.proofs.isolation.routes import route_faults
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS

_NOT_COMPARED = "not compared with a matrix"
# Lines of each file that name addresses: interfaces and filters, but no routes.
_NAMED = {
    **{reader.file: reader.named for reader in READERS},
    RUNNING: re.compile(r".+"),
    BOOTING: re.compile(r".+"),
}
_NETWORK = re.compile(r"^(?:Address|DNS|NTP)=.*$", re.M)
_EVERYTHING = frozenset({"0.0.0.0/0", "::/0", "::", "224.0.0.0/3", "ff00::/8", "0.0.0.0/8"})


def folder_verdict(tree: RenderedTree) -> Verdict:
    """Verdict with faults under any matrix, else not checked. Raises VerifyError for text that does not read."""
    nodes, switches = list(_nodes(tree)), list(_switches(tree))
    counterexamples = [
        *_unfiltered(tree),
        *unloaded(tree),
        *other_filters(tree),
        *nodes,
        *switches,
        *route_faults(tree, _known(tree)),
        *opening_faults(tree, None),
    ]
    facts = (
        Fact("nodes with a filter", len(tree.devices_with(RUNNING))),
        Fact("switches whose lists were read", sum(len(tree.devices_with(reader.file)) for reader in READERS)),
    )
    return Verdict(
        facts=facts,
        counterexamples=tuple(counterexamples),
        cases=Cases("files with a filter", sum(int(fact.value) for fact in facts)),
        notes=(),
        unjudged=_NOT_COMPARED,
    )


def _unfiltered(tree: RenderedTree) -> Iterator[Counterexample]:
    """Configured nodes without a filter, if others have one."""
    filtered = set(tree.devices_with(RUNNING))
    configured = tree.devices_below(NETWORKS)
    if filtered:
        for device in sorted(configured - filtered):
            yield Counterexample(
                device=device,
                file=RUNNING,
                line=0,
                message="there is no filter: the node accepts and sends everything that its port passes",
            )


def _nodes(tree: RenderedTree) -> Iterator[Counterexample]:
    """Faults of nodes' own filters; files with equal text are checked once."""
    for file in (RUNNING, BOOTING):
        devices = sorted(tree.devices_with(file), key=lambda device: (tree.text(device, file), device))
        for text, alike in groupby(devices, key=lambda device: tree.text(device, file) or ""):
            names = sorted(alike)
            also = f" {count(len(names), 'node')} have this file." if len(names) > 1 else ""
            try:
                ruleset = read_nft(text, InterfaceNumbers())
                for line, message in _node(ruleset):
                    yield Counterexample(device=names[0], file=file, line=line, message=message + also)
            except Unreadable as error:
                for name in names:
                    leave_open(tree, name, file, unreadable(names[0], file, error))


def _node(ruleset: Ruleset) -> Iterator[tuple[int, str]]:
    if not ruleset.replaces_itself:
        yield 0, "nothing flushes the rules that were loaded before: they stay."
    for hook in ("input", "forward", "output"):
        chains = base_chains(ruleset, hook)
        if not chains:
            yield 0, f"there is no chain at {hook}, so that everything passes there."
            continue
        result = passing(ruleset, hook, STATEFUL_PACKETS)
        if hook == "forward" and result.packets:
            packet = packet_phrase(result.packets.witness(), FOREIGN)
            yield chains[0][1].line, f"{packet} is forwarded: a node is no router."
        if hook != "forward" and not STATEFUL_PACKETS - result.packets:
            yield chains[0][1].line, f"{hook} stops nothing."
        for idle in result.idle:
            yield idle.line, idle_phrase(hook, idle)


def _switches(tree: RenderedTree) -> Iterator[Counterexample]:
    """Faults of switches' lists on any port; ports with equal lists are checked once."""
    clean: set[object] = set()
    for reader in READERS:
        file = reader.file
        for device in tree.devices_with(file):
            try:
                lists = reader.lists(tree.text(device, file) or "")
                yield from (Counterexample(device, file, *fault) for fault in lists.faults())
                reported: set[tuple[int, str]] = set()
                for port, direction in lists.bound():
                    ruleset = lists.at(port, direction)
                    shape = (direction, behaviour(ruleset))
                    if shape in clean:
                        continue
                    idle = passing(ruleset, direction).idle
                    if not idle:
                        clean.add(shape)
                    for rule in idle:
                        if (rule.line, rule.name) not in reported:
                            reported.add((rule.line, rule.name))
                            message = idle_phrase(f"port {port}", rule)
                            yield Counterexample(device=device, file=file, line=rule.line, message=message)
            except Unreadable as error:
                leave_open(tree, device, file, unreadable(device, file, error))


def _known(tree: RenderedTree) -> dict[int, Ranges]:
    """Addresses named by interfaces and filters of the tree, by IP version."""
    names: set[str] = set()
    for (_, path), file in tree.files.items():
        pattern = _NETWORK if path.startswith(NETWORKS) else _NAMED.get(path)
        if pattern is not None:
            for line in pattern.findall(file.read()):
                names.update(addresses_in(line))
    known_addresses = {4: EMPTY, 6: EMPTY}
    for name in sorted(names - _EVERYTHING):
        version = 6 if ":" in name else 4
        with suppress(ValueError):  # only looks like an address
            known_addresses[version] |= addresses(name, version)
    return known_addresses
