"""Agreement of a manager's files on the fabric: both ends of every cable, names, roots and compute nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.infiniband.subnet import (
    COMPUTE_LIST,
    KINDS,
    NAME_MAP,
    ROOT_LIST,
    SUBNET_INTENT,
    ManagedSubnet,
    has_subnet,
    lacking_subnets,
    named_facts,
    subnets,
)
from clusterwright.proofs.tree import RenderedTree


def _run(tree: RenderedTree) -> Verdict:
    facts, counterexamples = [], []
    unjudged = lacking_subnets(tree)
    tried = 0
    for subnet in subnets(tree):
        if lack := subnet.lack(ROOT_LIST, COMPUTE_LIST, NAME_MAP):
            unjudged = unjudged or lack
            continue
        fabric = subnet.fabric
        counts = (
            Fact("switch chips", len(fabric.switches)),
            Fact("adapters", len(fabric.adapters)),
            Fact("cables and traces", len(fabric.trunks) + len(fabric.taps)),
            Fact("roots", len(subnet.roots)),
        )
        facts += named_facts(tree, subnet, counts)
        tried += len(fabric.trunks) + len(fabric.taps)
        counterexamples += [*_labels(tree, subnet), *_ends(subnet), *_names(subnet), *_lists(subnet)]
    return Verdict(tuple(facts), tuple(counterexamples), Cases("cables", tried), unjudged=unjudged)


def _labels(tree: RenderedTree, subnet: ManagedSubnet) -> Iterator[Counterexample]:
    """Adapters with another name in the file than in the spec; rails and units are derived from these names."""
    endpoints = tree.declaration.endpoints if tree.declaration is not None else {}
    for adapter in subnet.fabric.adapters:
        name = (adapter.host, adapter.label)
        device, port = endpoints.get(adapter.guid, name)
        if (device, port) != name:
            message = f"0x{adapter.guid:016x} is {device} {port} by the spec, not {adapter.host} {adapter.label}"
            yield subnet.at_fabric(adapter.line, message)


def _ends(subnet: ManagedSubnet) -> Iterator[Counterexample]:
    for fault in subnet.fabric.faults:
        yield subnet.at_fabric(fault.line, fault.message)
    lines: dict[int, int] = {}
    for adapter in subnet.fabric.adapters:
        if adapter.guid in lines:
            first_line = lines[adapter.guid]
            message = f"{adapter.host} {adapter.label} has the port GUID of the adapter on line {first_line}"
            yield subnet.at_fabric(adapter.line, message)
        lines.setdefault(adapter.guid, adapter.line)
    if not len(subnet.leaves):
        yield subnet.without_nodes()


def _names(subnet: ManagedSubnet) -> Iterator[Counterexample]:
    guids = {switch.guid for switch in subnet.fabric.switches}
    at_names = partial(_at, subnet.device, subnet.names_file)
    for switch in subnet.fabric.switches:
        if switch.guid not in subnet.names:
            yield at_names(0, f"switch 0x{switch.guid:016x} ({switch.name}) has no name here")
    line_by_name: dict[str, int] = {}
    for guid, option in subnet.names.items():
        if guid not in guids:
            yield at_names(option.line, f"{option.value} is no switch of the fabric")
        if option.value in line_by_name:
            yield at_names(option.line, f"the name {option.value} stands on line {line_by_name[option.value]} too")
        line_by_name.setdefault(option.value, option.line)


def _at(device: str, file: str, line: int, message: str) -> Counterexample:
    return Counterexample(device=device, file=file, line=line, message=message)


def _lists(subnet: ManagedSubnet) -> Iterator[Counterexample]:
    switches = {switch.guid for switch in subnet.fabric.switches}
    for guid, line in subnet.roots.items():
        if guid not in switches:
            yield _at(subnet.device, subnet.roots_file, line, f"root 0x{guid:016x} is no switch here")
    adapters = {adapter.guid for adapter in subnet.fabric.adapters}
    at_compute = partial(_at, subnet.device, subnet.compute_file)
    for guid, line in subnet.compute.items():
        if guid not in adapters:
            yield at_compute(line, f"compute node's port 0x{guid:016x} is no adapter here")
    listed = Counter(adapter.host for adapter in subnet.fabric.adapters if adapter.guid in subnet.compute)
    for adapter in subnet.fabric.adapters:
        host = adapter.host
        if listed[host] and adapter.guid not in subnet.compute:
            missing = f"{host} {adapter.label} (0x{adapter.guid:016x}) is missing"
            yield at_compute(0, f"{missing}, while {listed[host]} other adapters of {host} are listed as compute nodes")


CABLING = ProofCheck(
    name="ib-cabling",
    claim="Both ends of every InfiniBand cable agree, and names, roots and compute nodes are those of the fabric.",
    kinds=KINDS,
    intent=SUBNET_INTENT | {"endpoints"},
    applies=has_subnet,
    check=_run,
    spec_only="whether adapters are cabled to their planned ports",
)
