"""The cabling file of ibdm's tools against the plan: with a wrong one, technicians would move correct cables."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.and_more import and_more
from clusterwright.hosts.opensm.reader.topology import (
    FOLDER,
    NETLIST,
    TOPOLOGY,
    TopologyCables,
    read_netlist,
    read_topology,
)
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.infiniband.declared import Ends
from clusterwright.proofs.tree import RenderedTree

Fault = tuple[str, int, str]
"""Path, line (0 for the whole file), and mistake."""
_SHOWN = 3


def _is_topology(path: str) -> bool:
    return path.startswith(FOLDER) and path.endswith(TOPOLOGY)


def _run(tree: RenderedTree) -> Verdict:
    declared = tree.declaration.ib_cables if tree.declaration is not None else {}
    paths = sorted(path for path in tree.paths if _is_topology(path))
    counterexamples: list[Counterexample] = []
    unknown = []
    cables = 0
    faults: dict[tuple[str, str], list[Fault]] = {}
    for path in paths:
        for device in tree.devices_with(path):
            text = tree.text(device, path) or ""
            topology = read_topology(text)
            unknown += [f'{device}:/{path}:{number}: "{line}"' for number, line in topology.unknown]
            if (path, text) not in faults:  # the managers of a fabric have the same file
                cables += len(topology.cables)
                subnet = path.removeprefix(FOLDER).removesuffix(TOPOLOGY)
                planned = declared.get(subnet, frozenset()) if tree.declaration is not None else None
                faults[path, text] = list(_faults(path, topology, planned))
            counterexamples += [Counterexample(device, *fault) for fault in faults[path, text]]
            counterexamples += [Counterexample(device, *fault) for fault in _port_faults(tree, device, path, topology)]
    if tree.declaration is not None:
        present = {path.removeprefix(FOLDER).removesuffix(TOPOLOGY) for path in paths}
        for subnet in tree.declaration.subnets.keys() - present:
            counterexamples.append(Counterexample("", f"{FOLDER}{subnet}{TOPOLOGY}", 0, "no host has the file"))
    reason = f"not proven, because no reader knows {and_more(unknown, _SHOWN, '; ')}" if unknown else ""
    facts = (Fact("cables in the files of ibdm", cables),)
    return Verdict(facts, tuple(counterexamples), Cases("cables in the files of ibdm", cables), unjudged=reason)


def _faults(path: str, topology: TopologyCables, planned: frozenset[Ends] | None) -> Iterator[Fault]:
    for number, message in topology.faults:
        yield path, number, message
    if planned is None:
        return
    for ends in sorted(topology.cables.keys() - planned):
        yield path, topology.cables[ends], f"no cable is planned between {_phrase(ends)}"
    for ends in sorted(planned - topology.cables.keys()):
        yield path, 0, f"the cable between {_phrase(ends)} is missing"


def _phrase(ends: Ends) -> str:
    return f"{ends[0]} {ends[1]} and {ends[2]} {ends[3]}"


def _port_faults(tree: RenderedTree, device: str, path: str, topology: TopologyCables) -> Iterator[Fault]:
    """Ports missing in the netlist of their system; ibdm stops reading there."""
    ports_of: dict[str, frozenset[str]] = {}
    for model in sorted(set(topology.models.values())):
        netlist = f"{FOLDER}{model}{NETLIST}"
        text = tree.text(device, netlist)
        if text is None:
            yield netlist, 0, f"the file is missing: ibdm knows no {model}"
        ports_of[model] = read_netlist(text or "")
    for (model, port), number in topology.ports.items():
        if ports_of.get(model) and port not in ports_of[model]:
            yield path, number, f"{model} has no port {port}"


SUBNET_TOPOLOGY = ProofCheck(
    name="ib-topology",
    claim="The files that ibdm's tools compare the fabric with have every planned cable at its ports, and no other.",
    kinds=frozenset({"subnet-topology"}),
    intent=frozenset({"ib_cables", "subnets"}),
    applies=lambda tree: any(path.startswith(FOLDER) for path in tree.paths),
    check=_run,
    spec_only="the planned cables",
)
