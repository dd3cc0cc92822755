"""Mounts from servers outside the spec: the planned export of the planned server, by its address in the spec.

The servers themselves are not described: their exports are noted as not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.hosts.linux.reader.hosts_file import HOSTS, read_hosts
from clusterwright.hosts.linux.reader.unit_files import UNIT_FOLDERS, is_mount_unit
from clusterwright.hosts.linux.reader.units import unit_of
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, line_with
from clusterwright.proofs.encryption.declared import DeclaredFileServer
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.image import NETWORK

_UNITS = UNIT_FOLDERS[0]
Fault = tuple[str, int, str]
"""Path, line (0 for the whole file), and message."""
Servers = Mapping[str, DeclaredFileServer]


def _check(tree: RenderedTree) -> Verdict:
    declared = _servers(tree)
    units = sorted(filter(is_mount_unit, tree.paths))
    elsewhere = frozenset(tree.declaration.left_out.get(NETWORK, ())) if tree.declaration is not None else frozenset()
    faults_by_texts: dict[tuple[object, ...], list[Fault]] = {}
    counterexamples: list[Counterexample] = []
    for node, servers in declared.items():
        texts = {path: tree.files[node, path].read() for path in units if (node, path) in tree.files}
        key = (id(servers), *texts.items())
        if key not in faults_by_texts:  # nodes of an image have the same units
            faults_by_texts[key] = list(_unit_faults(texts, servers))
        counterexamples += [Counterexample(node, *fault) for fault in faults_by_texts[key]]
        if node not in elsewhere:
            hosts = tree.text(node, HOSTS) or ""
            counterexamples += [Counterexample(node, *fault) for fault in _name_faults(hosts, servers)]
    mounts = sum(map(len, declared.values()))
    return Verdict(
        facts=(Fact("mounts from servers outside of the spec", mounts),),
        counterexamples=tuple(counterexamples),
        cases=Cases("mounts from servers outside of the spec", mounts),
        notes=tuple(_notes(declared, elsewhere)),
    )


def _servers(tree: RenderedTree) -> Mapping[str, Servers]:
    return tree.declaration.file_servers if tree.declaration is not None else {}


def _unit_faults(texts: Mapping[str, str], servers: Servers) -> Iterator[Fault]:
    units = {path: unit_of(text) for path, text in texts.items()}
    path_of = {unit.get("Where", ""): path for path, unit in units.items()}
    for mountpoint, server in servers.items():
        path = path_of.get(mountpoint)
        if path is None:
            yield _UNITS, 0, f"no unit mounts {server.source} at {mountpoint}"
            continue
        source = units[path].get("What", "")
        if source != server.source:
            yield path, line_with(texts[path], "What="), f"{source} is mounted, and {server.source} is planned"


def _name_faults(hosts: str, servers: Servers) -> Iterator[Fault]:
    addresses_by_name = read_hosts(hosts)
    for server in servers.values():
        addresses = addresses_by_name.get(server.name, frozenset())
        if server.addresses and addresses != server.addresses:
            resolved = " and ".join(sorted(addresses)) or "no address"
            planned = " and ".join(sorted(server.addresses))
            yield HOSTS, line_with(hosts, server.name), f"{server.name} is {resolved}, and {planned} is planned"


def _notes(declared: Mapping[str, Servers], elsewhere: frozenset[str]) -> Iterator[str]:
    names: dict[str, None] = {}
    resolved_by_others: dict[str, None] = {}
    for node, servers_of_node in declared.items():
        for server in servers_of_node.values():
            names[server.name] = None
            if node in elsewhere and server.addresses:
                resolved_by_others[server.name] = None
    for name in sorted(names):
        yield f"the spec does not describe {name}: its exports are not checked"
    for name in resolved_by_others:
        yield f"the nodes' own system resolves {name}: whether to the addresses of the spec is not checked"


FILE_SERVERS = ProofCheck(
    name="file-servers",
    claim="Nodes mount the planned exports of servers outside of the spec, whose names are the spec's addresses.",
    kinds=frozenset({"mounts", "node-network"}),
    intent=frozenset({"file_servers"}),
    compared=frozenset({"node-network"}),
    does_without=frozenset({"node-network"}),
    applies=lambda tree: bool(_servers(tree)),
    check=_check,
    spec_only="the file servers outside the spec",
)
