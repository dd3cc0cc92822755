"""Names of adapters: each card has its planned interface and RDMA device before jobs start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.and_more import and_more
from clusterwright.hosts.linux.reader.node_check import read_wanted
from clusterwright.hosts.linux.reader.node_units import (
    LINKS,
    RDMA_RULE,
    RDMA_SCRIPT,
    RDMA_UNIT,
    RDMA_WANTS,
    read_link,
    read_rdma_names,
)
from clusterwright.hosts.linux.reader.units import unit_of
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, line_with
from clusterwright.proofs.operation.declared_node_units import DeclaredNames
from clusterwright.proofs.tree import RenderedTree

Fault = tuple[str, int, str]
"""Path, line (0 for the whole file), and message."""
_SHOWN = 3
_FILES = (RDMA_SCRIPT, RDMA_UNIT, RDMA_WANTS, RDMA_RULE)
_COMPARED = frozenset({"node-network"})
# The first unit to use RDMA devices by name.
_ASKS = "slurmd.service"


def _is_link(path: str) -> bool:
    return path.startswith(LINKS) and path.endswith(".link")


def _check(tree: RenderedTree) -> Verdict:
    declared = tree.declaration.adapter_names if tree.declaration is not None else {}
    links = sorted(filter(_is_link, tree.paths))
    nodes = sorted({*tree.devices_with(RDMA_SCRIPT), *declared})
    faults_by_files: dict[tuple[object, ...], list[Fault]] = {}
    counterexamples: list[Counterexample] = []
    devices = 0
    for node in nodes:
        planned = declared.get(node)
        files = {path: tree.files[node, path] for path in (*_FILES, *links) if (node, path) in tree.files}
        key = (planned, *files.values())
        if key not in faults_by_files:  # nodes of an image have the same files
            faults_by_files[key] = list(_faults({path: file.read() for path, file in files.items()}, planned))
        counterexamples += [Counterexample(node, *fault) for fault in faults_by_files[key]]
        devices += len(planned.rdma_devices) if planned is not None else 0
    facts = [Fact("nodes whose adapters have names", len(nodes))]
    if tree.declaration is not None:
        facts.append(Fact("RDMA devices", devices))
    return Verdict(tuple(facts), tuple(counterexamples), Cases("nodes whose adapters have names", len(nodes)))


def _faults(texts: Mapping[str, str], planned: DeclaredNames | None) -> Iterator[Fault]:
    links = {path: text for path, text in texts.items() if path.startswith(LINKS)}
    yield from _link_faults(links, planned)
    script = texts.get(RDMA_SCRIPT)
    if script is None:
        if planned is None or planned.has_rdma_fabric:
            yield RDMA_SCRIPT, 0, "the file is missing: RDMA devices are called as the kernel finds them"
        return
    try:
        names = read_rdma_names(script)
    except ValueError as error:
        yield RDMA_SCRIPT, 0, f"devices get no names: {error}"
        return
    yield from _order_faults(texts)
    cards, devices = zip(*names.device_of, strict=True) if names.device_of else ((), ())
    for kind, values in (("name", devices), ("card", cards)):
        repeated = sorted({value for value in values if values.count(value) > 1})
        if repeated:
            yield RDMA_SCRIPT, line_with(script, repeated[0]), f"the {kind} {repeated[0]} stands twice"
    if planned is None:
        return
    device_of = dict(names.device_of)
    for card in sorted(device_of.keys() - planned.rdma_devices.keys()):
        yield RDMA_SCRIPT, line_with(script, card), f"no RDMA device is planned at {card}: the unit fails on every node"
    for card, name in planned.rdma_devices.items():
        if device_of.get(card) != name:
            actual_name = device_of.get(card, "what the kernel calls it")
            message = f"the RDMA device at {card} is called {actual_name}, and {name} is planned"
            yield RDMA_SCRIPT, line_with(script, card), message


def _link_faults(links: Mapping[str, str], planned: DeclaredNames | None) -> Iterator[Fault]:
    interface_of: dict[str, str] = {}
    for path, text in links.items():
        card, name = read_link(text)
        if card and card in interface_of:
            yield path, line_with(text, card), f"the card at {card} is {interface_of[card]} and {name}"
        elif card and name:
            interface_of[card] = name
            if planned is not None and planned.interfaces.get(card) != name:
                planned_name = planned.interfaces.get(card, "no adapter")
                message = f"the card at {card} is called {name}, and {planned_name} is planned there"
                yield path, line_with(text, card), message
    if planned is None:
        return
    missing = sorted(planned.interfaces.keys() - interface_of.keys())
    if missing:
        yield LINKS.rpartition("/")[0], 0, f"nothing names the cards at {and_more(missing, _SHOWN)}"


def _order_faults(texts: Mapping[str, str]) -> Iterator[Fault]:
    """Faults that prevent or delay the naming of RDMA devices."""
    if "rdma-names.service" not in read_wanted(texts.get(RDMA_WANTS, "")):
        yield RDMA_WANTS, 0, "nothing starts rdma-names.service"
    unit = unit_of(texts.get(RDMA_UNIT, ""))
    if unit.get("ExecStart") != f"/{RDMA_SCRIPT}":
        yield RDMA_UNIT, 0, f"the unit does not run /{RDMA_SCRIPT}"
    if _ASKS not in unit.get("Before", "").split():
        yield RDMA_UNIT, 0, f"jobs may start before devices have their names: it is not ordered before {_ASKS}"
    rule_text = texts.get(RDMA_RULE)
    if rule_text is None or _has_rule(rule_text):
        yield RDMA_RULE, 0, "udev renames devices by a rule of its own"


def _has_rule(text: str) -> bool:
    return any(line.strip() and not line.startswith("#") for line in text.split("\n"))


def _applies(tree: RenderedTree) -> bool:
    is_planned = tree.declaration is not None and bool(tree.declaration.adapter_names)
    return is_planned or bool(tree.devices_with(RDMA_SCRIPT))


ADAPTER_NAMES = ProofCheck(
    name="adapter-names",
    claim="Each adapter's card has its planned interface and RDMA device, before any service uses them by name.",
    kinds=frozenset({"node-rdma"}) | _COMPARED,
    intent=frozenset({"adapter_names"}),
    applies=_applies,
    check=_check,
    spec_only="the card of each planned adapter",
    compared=_COMPARED,
)
