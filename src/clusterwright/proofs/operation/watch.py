"""The isolation watch runs on every node, under its own cluster's name, and tries every forbidden way out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address, ip_network

from clusterwright.hosts.linux.reader.node_check import read_seconds, read_wanted
from clusterwright.hosts.linux.reader.node_units import (
    WATCH_PROGRAM,
    WATCH_TIMER,
    WATCH_UNIT,
    WATCH_WANTS,
    WATCHED,
    read_watched,
)
from clusterwright.hosts.linux.reader.units import unit_of
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.tree import RenderedTree

Fault = tuple[str, int, str]
"""Path, line (0 for the whole file), and message."""
_FILES = (WATCHED, WATCH_PROGRAM, WATCH_UNIT, WATCH_TIMER, WATCH_WANTS)
_LONGEST_S = 3600  # seconds between looks
_TIMER = "isolation-watch.timer"
_KEY = "isolation-watch:/etc/credstore/isolation-watch"


def _check(tree: RenderedTree) -> Verdict:
    declaration = tree.declaration
    wanted = declaration.node_checks if declaration is not None else {}
    prefixes = tuple(declaration.own_prefixes) if declaration is not None else ()
    nodes = sorted({*tree.devices_with(WATCHED), *wanted})
    faults: dict[tuple[object, ...], list[Fault]] = {}
    counterexamples: list[Counterexample] = []
    for node in nodes:
        files = {path: tree.files[node, path] for path in _FILES if (node, path) in tree.files}
        key = tuple(files.values())
        if key not in faults:  # nodes of an image have the same files
            texts = {path: file.read() for path, file in files.items()}
            faults[key] = list(_faults(texts, tree.cluster, prefixes))
        counterexamples += [Counterexample(node, *fault) for fault in faults[key]]
    facts = (Fact("nodes that watch their isolation", len(nodes)),)
    return Verdict(facts, tuple(counterexamples), Cases("nodes that watch their isolation", len(nodes)))


def _faults(texts: Mapping[str, str], cluster: str, prefixes: tuple[str, ...]) -> Iterator[Fault]:
    for path in (WATCHED, WATCH_PROGRAM):
        if path not in texts:
            yield path, 0, "the file is missing: no program watches the node's isolation"
    if _TIMER not in read_wanted(texts.get(WATCH_WANTS, "")):
        yield WATCH_WANTS, 0, f"nothing starts {_TIMER}"
    again = read_seconds(unit_of(texts.get(WATCH_TIMER, "")).get("OnUnitActiveSec", ""))
    if again is None or again > _LONGEST_S:
        yield WATCH_TIMER, 0, f"the node is looked at each {again} s, which is seldom"
    unit = unit_of(texts.get(WATCH_UNIT, ""))
    if unit.get("ExecStart") != f"/{WATCH_PROGRAM}":
        yield WATCH_UNIT, 0, f"the unit does not run /{WATCH_PROGRAM}"
    if unit.get("LoadCredential") != _KEY:
        yield WATCH_UNIT, 0, "the watch gets no key, and signs nothing"
    if WATCHED in texts:
        yield from _tried_faults(texts[WATCHED], cluster, prefixes)


def _tried_faults(text: str, cluster: str, prefixes: tuple[str, ...]) -> Iterator[Fault]:
    try:
        name, tried = read_watched(text)
        addresses = [ip_address(address) for address, _ in tried]
    except (ValueError, RecursionError) as error:
        yield WATCHED, 0, f"the watch ends with an error: {error}"
        return
    if name != cluster:
        yield WATCHED, 1, f"its records are those of {name}"
    for version in (4, 6):
        if not any(address.version == version for address in addresses):
            yield WATCHED, 0, f"the watch does not try to get out over IPv{version}"
    networks = [ip_network(prefix) for prefix in prefixes]
    for address in addresses:
        if any(address.version == network.version and address in network for network in networks):
            yield WATCHED, 0, f"{address} is the cluster's own: to reach it is no way out"


def _applies(tree: RenderedTree) -> bool:
    return bool(tree.devices_with(WATCHED)) or (tree.declaration is not None and bool(tree.declaration.node_checks))


ISOLATION_WATCH = ProofCheck(
    name="isolation-watch",
    claim="Every node monitors its isolation under its cluster's name, signs the results, and tests internet access.",
    kinds=frozenset({"node-watch"}),
    intent=frozenset({"node_checks", "own_prefixes"}),
    applies=_applies,
    check=_check,
    spec_only="the planned nodes",
)
