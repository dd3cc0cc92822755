"""Units waiting for keys: the arrival of each file provided after boot starts the units reading it.

Without that, mounts, logs and the isolation watch of a node booted into memory stay off. Permissions and contents of
these files are not rendered, and not proven.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from clusterwright.hosts.linux.reader.node_check import read_wanted
from clusterwright.hosts.linux.reader.node_units import (
    CREDENTIAL,
    CREDENTIAL_WANTS,
    UNITS,
    read_started,
    read_waiting,
)
from clusterwright.hosts.linux.reader.unit_files import is_mount_unit
from clusterwright.hosts.linux.reader.units import unit_of
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, line_with
from clusterwright.proofs.operation.declared_node_units import Readers
from clusterwright.proofs.tree import RenderedTree

Fault = tuple[str, int, str]
"""Path, line (0 for the whole file), and message."""
_COMPARED = frozenset({"mounts"})


def _check(tree: RenderedTree) -> Verdict:
    declared = tree.declaration.credentials if tree.declaration is not None else {}
    credential_units = sorted(path for path in tree.paths if path.startswith(CREDENTIAL))
    mounts = sorted(filter(is_mount_unit, tree.paths))
    nodes = sorted({*declared, *chain.from_iterable(map(tree.devices_with, credential_units))})
    faults_by_units: dict[tuple[object, ...], list[Fault]] = {}
    counterexamples: list[Counterexample] = []
    for node in nodes:
        paths = [path for path in (*credential_units, *mounts, CREDENTIAL_WANTS) if (node, path) in tree.files]
        wanted = declared.get(node)
        key = (id(wanted), *(tree.files[node, path].read() for path in paths))
        if key not in faults_by_units:  # nodes of an image have the same units
            texts = {path: tree.files[node, path].read() for path in paths}
            faults_by_units[key] = list(_faults(texts, wanted))
        counterexamples += [Counterexample(node, *fault) for fault in faults_by_units[key]]
    files = set(chain.from_iterable(declared.values()))
    facts = [Fact("nodes that wait for keys", len(nodes))]
    if files:
        facts.append(Fact("files that start their readers", len(files)))
    return Verdict(tuple(facts), tuple(counterexamples), Cases("nodes that wait for keys", len(nodes)))


def _faults(texts: Mapping[str, str], wanted: Readers | None) -> Iterator[Fault]:
    started = read_wanted(texts.get(CREDENTIAL_WANTS, ""))
    mounts = {path.removeprefix(UNITS): unit_of(text) for path, text in texts.items() if path.endswith(".mount")}
    mountpoint_of = {name: unit.get("Where", "") for name, unit in mounts.items()}
    actions_by_file: dict[str, set[tuple[str, str]]] = {}
    for path, text in texts.items():
        if not (path.startswith(CREDENTIAL) and path.endswith(".path")):
            continue
        unit = path.removeprefix(UNITS)
        if unit not in started:
            yield path, 0, f"nothing starts {unit}"
        service = f"{path.removesuffix('.path')}.service"
        if unit_of(text).get("Unit", service.removeprefix(UNITS)) != service.removeprefix(UNITS):
            yield path, line_with(text, "Unit="), "it starts another unit"
        if service not in texts:
            yield service, 0, f"the file is missing: {unit} starts nothing"
        done = {(verb, mountpoint_of.get(name, name)) for verb, name in read_started(texts.get(service, ""))}
        for file in read_waiting(text):
            actions_by_file.setdefault(file, set()).update(done)
            if wanted is not None and file not in wanted:
                yield path, line_with(text, file), f"nothing of the node reads {file}"
    if wanted is not None:
        yield from _unstarted(wanted, actions_by_file)


def _unstarted(wanted: Readers, actions_by_file: Mapping[str, set[tuple[str, str]]]) -> Iterator[Fault]:
    """Readers of files without a unit starting them when the file arrives."""
    for file, readers in wanted.items():
        if file not in actions_by_file:
            yield CREDENTIAL_WANTS, 0, f"no unit waits for {file}: {_names(readers)} stay off"
        elif readers - actions_by_file[file]:
            yield CREDENTIAL_WANTS, 0, f"{_names(readers - actions_by_file[file])} stay off when {file} comes"


def _names(readers: frozenset[tuple[str, str]]) -> str:
    return ", ".join(sorted(name for _, name in readers))


def _applies(tree: RenderedTree) -> bool:
    is_planned = tree.declaration is not None and bool(tree.declaration.credentials)
    return is_planned or bool(tree.devices_with(CREDENTIAL_WANTS))


CREDENTIALS = ProofCheck(
    name="credentials",
    claim="Each key, certificate and CA that no image contains starts the services that read it when it arrives.",
    kinds=frozenset({"node-credentials"}) | _COMPARED,
    intent=frozenset({"credentials"}),
    applies=_applies,
    check=_check,
    spec_only="the files that nodes read",
    compared=_COMPARED,
)
