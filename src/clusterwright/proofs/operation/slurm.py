"""Slurm places jobs on the spec's nodes alone, with their GPUs and processors, in its partitions and leaves.

Read are the files of controllers, the place where slurmd finds them, and their copies on login nodes. Settings other
than nodes, partitions, controllers and _GUARDS are not checked: with a spec, one that differs from the rendered one
leaves the claim not proven.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from clusterwright.and_more import and_more
from clusterwright.hosts.slurm.reader import (
    CGROUP_CONF,
    GRES_CONF,
    SLURM_CONF,
    SLURMD_DEFAULTS,
    TOPOLOGY_CONF,
    TOPOLOGY_YAML,
    SlurmLeaf,
    SlurmLine,
    leaves_of_conf,
    leaves_of_yaml,
    names_of,
    read_lines,
    read_servers,
)
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.operation.declared_slurm import DeclaredNode, DeclaredSlurm
from clusterwright.proofs.operation.slurm_login import copy_faults, login_copies
from clusterwright.proofs.tree import RenderedTree

Fault = tuple[str, int, str]
"""Path, line (0 for the whole file), and message."""
_SHOWN = 3
_GONE = ("down", "drain", "fail", "future", "power_down", "planned")
_TEMPLATE = "default"
_REQUIRED = (SLURM_CONF, GRES_CONF, TOPOLOGY_CONF, CGROUP_CONF)
_FILES = (*_REQUIRED, TOPOLOGY_YAML)
# Settings by file that keep jobs apart and off unfit nodes: the value, and the effect of another one.
_GUARDS = {
    SLURM_CONF: {
        "authtype": ("auth/munge", "a daemon believes every client"),
        "prolog": ("/usr/local/sbin/node-health-prolog", "jobs start on nodes that are not fit"),
        "healthcheckprogram": ("/usr/local/sbin/node-health-drain", "nodes that are not fit stay in service"),
        "epilog": ("/usr/local/sbin/node-epilog", "what a job leaves stays on its nodes"),
        "proctracktype": ("proctrack/cgroup", "processes escape the end of their job"),
    },
    CGROUP_CONF: {
        "constraindevices": ("yes", "jobs see the GPUs of others"),
        "constraincores": ("yes", "jobs take the cores of others"),
    },
}


@dataclass
class _Configuration:
    """Contents of a controller's files, with the faults of reading them."""

    nodes: dict[str, SlurmLine] = field(default_factory=dict)
    queues: dict[str, tuple[SlurmLine, frozenset[str]]] = field(default_factory=dict)
    controllers: dict[str, tuple[int, str]] = field(default_factory=dict)
    gpu_files: dict[str, list[str]] = field(default_factory=dict)
    topologies: dict[str, dict[str, SlurmLeaf]] = field(default_factory=dict)
    """Leaf switch or block of each node, by file: Slurm 25.05 and later read topology.yaml alone if it exists."""
    settings: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    """Line and value of the last occurrence by file and key, which is the one used by Slurm."""
    faults: list[Fault] = field(default_factory=list)

    def names(self, path: str, line: SlurmLine, key: str) -> tuple[str, ...]:
        """Names listed in a value; an unreadable one is recorded as a fault."""
        return self.names_in(path, line.number, line.value(key))

    def names_in(self, path: str, number: int, expression: str) -> tuple[str, ...]:
        """Names of an expression; an unreadable one is recorded as a fault on its line."""
        try:
            return names_of(expression)
        except ValueError as error:
            self.faults.append((path, number, str(error)))
            return ()


def _check(tree: RenderedTree) -> Verdict:
    slurms = tree.declaration.slurms if tree.declaration is not None else ()
    by_controller: dict[str, DeclaredSlurm] = {}
    for slurm in slurms:
        by_controller.update(dict.fromkeys(slurm.controllers, slurm))
    counterexamples: list[Counterexample] = []
    checked: dict[tuple[str | None, ...], tuple[_Configuration, DeclaredSlurm | None, list[Fault]]] = {}
    nodes: set[str] = set()
    gpus = 0
    copies = login_copies(tree, slurms)
    for device in sorted({*tree.devices_with(SLURM_CONF), *by_controller} - copies.keys()):
        texts = tuple(tree.text(device, path) for path in _FILES)
        declared = by_controller.get(device)
        reading = checked.get(texts)
        if reading is None or reading[1] is not declared:  # controllers of one Slurm have the same files
            configuration = _read(dict(zip(_FILES, texts, strict=True)))
            faults = [*configuration.faults, *_faults(configuration, texts)]
            if tree.declaration is not None:
                faults += _faults_of_spec(configuration, declared)
            checked[texts] = reading = (configuration, declared, faults)
            nodes.update(configuration.nodes)
            gpus += sum(_gpu_count(line) or 0 for line in configuration.nodes.values())
        counterexamples += [Counterexample(device, *fault) for fault in reading[2]]
    for slurm in slurms:
        counterexamples += _worker_faults(tree, slurm)
    counterexamples += copy_faults(tree, copies)
    facts = (Fact("nodes that Slurm places jobs on", len(nodes)), Fact("GPUs", gpus))
    return Verdict(facts, tuple(counterexamples), Cases("nodes of Slurm", len(nodes)))


def _read(texts: Mapping[str, str | None]) -> _Configuration:
    """The contents of a controller's files, by path."""
    configuration = _Configuration()
    for path in (SLURM_CONF, CGROUP_CONF):
        for line in read_lines(texts[path] or ""):
            for key, value in line.words.items():
                configuration.settings[path, key] = line.number, value
    for line in read_lines(texts[SLURM_CONF] or ""):
        _read_line(configuration, line)
    for line in read_lines(texts[GRES_CONF] or ""):
        _read_devices(configuration, line)
    for path, leaves_of in ((TOPOLOGY_CONF, leaves_of_conf), (TOPOLOGY_YAML, leaves_of_yaml)):
        text = texts[path]
        if text is not None:
            _read_topology(configuration, path, leaves_of, text)
    return configuration


def _read_topology(
    configuration: _Configuration, path: str, leaves_of: Callable[[str], Iterator[SlurmLeaf]], text: str
) -> None:
    """Add the leaves in one of the two files of the topology."""
    leaf_by_node: dict[str, SlurmLeaf] = {}
    configuration.topologies[path] = leaf_by_node
    try:
        for leaf in leaves_of(text):
            for name in configuration.names_in(path, leaf.line, leaf.nodes):
                if name in leaf_by_node:
                    configuration.faults.append((path, leaf.line, f"{name} is at two leaves"))
                leaf_by_node[name] = leaf
    except ValueError as error:
        configuration.faults.append((path, 0, str(error)))


def _read_line(configuration: _Configuration, line: SlurmLine) -> None:
    """Add a line of slurm.conf."""
    if "nodename" in line.words:
        for name in configuration.names(SLURM_CONF, line, "nodename"):
            if name in configuration.nodes:
                configuration.faults.append((SLURM_CONF, line.number, f"{name} stands on two lines"))
            configuration.nodes[name] = line
    elif "partitionname" in line.words:
        members = frozenset(configuration.names(SLURM_CONF, line, "nodes")) if line.value("nodes") else frozenset()
        configuration.queues[line.value("partitionname")] = (line, members)
    elif "slurmctldhost" in line.words:
        name, _, address = line.value("slurmctldhost").partition("(")
        configuration.controllers[name] = (line.number, address.removesuffix(")"))
    elif "include" in line.words:
        configuration.faults.append((SLURM_CONF, line.number, "another file is included, which is not read"))


def _read_devices(configuration: _Configuration, line: SlurmLine) -> None:
    if line.value("autodetect").lower() not in {"", "off"}:
        message = f"GPUs are looked for by {line.value('autodetect')}, for which slurmd needs a plugin"
        configuration.faults.append((GRES_CONF, line.number, message))
    if line.value("name") != "gpu":
        return
    files = configuration.names(GRES_CONF, line, "file")
    names = tuple(configuration.nodes)  # gres.conf(5): without NodeName, of every node that reads the file
    if "nodename" in line.words:
        names = configuration.names(GRES_CONF, line, "nodename")
    for name in names:
        configuration.gpu_files.setdefault(name, []).extend(files)


def _faults(configuration: _Configuration, texts: tuple[str | None, ...]) -> Iterator[Fault]:
    """Contradictions within the files, without regard to the spec."""
    for path, text in zip(_FILES, texts, strict=True):
        if text is None and path in _REQUIRED:
            yield path, 0, "the file is missing"
    yield from _guard_faults(configuration)
    if _TEMPLATE in {name.lower() for name in (*configuration.nodes, *configuration.queues)}:
        yield SLURM_CONF, 0, "a line for `DEFAULT` changes what the lines below it say"
    for name, (line, members) in configuration.queues.items():
        unknown = sorted(members - configuration.nodes.keys())
        if unknown:
            yield SLURM_CONF, line.number, f"{name} has {and_more(unknown, _SHOWN)}, which no line defines"
    yield from _device_faults(configuration)
    for path, leaf_by_node in configuration.topologies.items():
        nodes_without_leaf = [name for name in configuration.nodes if name not in leaf_by_node]
        if nodes_without_leaf and leaf_by_node:
            yield path, 0, f"{and_more(nodes_without_leaf, _SHOWN)} at no leaf: no job reaches them"
    yield from _contradictions(configuration)


def _contradictions(configuration: _Configuration) -> Iterator[Fault]:
    """Nodes that topology.yaml groups otherwise than topology.conf: the release decides which of the two counts."""
    leaf_by_node = configuration.topologies.get(TOPOLOGY_YAML, {})
    group_by_node = {name: leaf.name for name, leaf in configuration.topologies.get(TOPOLOGY_CONF, {}).items()}
    for name, leaf, group in _misplaced(leaf_by_node, group_by_node):
        message = f"{name} is at the leaf {leaf.name}, and at {group} in topology.conf: the release of Slurm decides"
        yield TOPOLOGY_YAML, leaf.line, message


def _guard_faults(configuration: _Configuration) -> Iterator[Fault]:
    """Wrong values of the settings that keep jobs apart and off unfit nodes."""
    for path, guards in _GUARDS.items():
        for key, (value, otherwise) in guards.items():
            number, written = configuration.settings.get((path, key), (0, ""))
            if written.lower() != value:
                yield path, number, f"{key} is {written or 'left as it is'}: {otherwise}"


def _device_faults(configuration: _Configuration) -> Iterator[Fault]:
    """Nodes with different numbers of GPUs and device files; nodes with the same line and fault in one finding."""
    names_by_fault: dict[tuple[int, str], list[str]] = {}
    for name, line in configuration.nodes.items():
        fault = _device_fault(line, configuration.gpu_files.get(name, []))
        if fault:
            names_by_fault.setdefault((line.number, fault), []).append(name)
    for (number, fault), names in names_by_fault.items():
        yield SLURM_CONF, number, f"{and_more(names, _SHOWN)}: {fault}"


def _device_fault(line: SlurmLine, files: list[str]) -> str:
    count = _gpu_count(line)
    if count is None:
        return f"Gres={line.value('gres')} does not read"
    twice = sorted(file for file, times in Counter(files).items() if times > 1)
    if twice:
        return f"{twice[0]} stands twice in gres.conf"
    return "" if len(files) == count else f"{count} GPUs, of which gres.conf has {len(files)} device files"


def _gpu_count(line: SlurmLine) -> int | None:
    """Number of GPUs of a node line; None if it does not read."""
    total = 0
    for resource in filter(None, line.value("gres").split(",")):
        kind, *rest = resource.split("(")[0].split(":")
        if kind == "gpu":
            if not rest or not rest[-1].isdecimal():
                return None
            total += int(rest[-1])
    return total


def _faults_of_spec(configuration: _Configuration, declared: DeclaredSlurm | None) -> Iterator[Fault]:
    if declared is None:
        yield SLURM_CONF, 0, "the spec has no controller of Slurm here"
        return
    yield from _controller_faults(configuration, declared)
    unknown = sorted(configuration.nodes.keys() - declared.nodes.keys())
    if unknown:
        yield SLURM_CONF, configuration.nodes[unknown[0]].number, f"{and_more(unknown, _SHOWN)}: no node of this Slurm"
    missing = sorted(declared.nodes.keys() - configuration.nodes.keys())
    if missing:
        yield SLURM_CONF, 0, f"{and_more(missing, _SHOWN)} missing: no job is placed there"
    wrong: dict[tuple[int, str], list[str]] = {}
    for name in declared.nodes.keys() & configuration.nodes.keys():
        line = configuration.nodes[name]
        for message in _node_faults(name, line, declared.nodes[name]):
            wrong.setdefault((line.number, message), []).append(name)
    for (number, message), names in sorted(wrong.items()):
        yield SLURM_CONF, number, f"{and_more(sorted(names), _SHOWN)}: {message}"
    yield from _queue_faults(configuration, declared)
    yield from _leaf_faults(configuration, declared)


def _controller_faults(configuration: _Configuration, declared: DeclaredSlurm) -> Iterator[Fault]:
    if list(configuration.controllers) != list(declared.controllers):
        written, wanted = (", ".join(names) or "none" for names in (configuration.controllers, declared.controllers))
        number = next((number for number, _ in configuration.controllers.values()), 0)
        yield SLURM_CONF, number, f"the controllers are {written}, the spec has {wanted}"
    for name, (number, address) in configuration.controllers.items():
        addresses = declared.controllers.get(name, frozenset())
        if address and address not in addresses:
            yield SLURM_CONF, number, f"{name} has no address {address}"


def _node_faults(name: str, line: SlurmLine, planned: DeclaredNode) -> Iterator[str]:
    gpus = _gpu_count(line)
    if gpus is not None and gpus != planned.gpus:
        yield f"{gpus} GPUs, the model has {planned.gpus}"
    keys = ("sockets", "corespersocket", "threadspercore")
    written = tuple(line.value(key) for key in keys)
    if planned.processors is not None and written != tuple(map(str, planned.processors)):
        wanted = " x ".join(map(str, planned.processors))
        yield f"{' x '.join(written)} sockets, cores and threads, the model has {wanted}"
    memory = line.value("realmemory")
    if planned.memory_mib is not None and not (memory.isdecimal() and int(memory) <= planned.memory_mib):
        yield f"RealMemory={memory}, the model has {planned.memory_mib}: Slurm drains a node with less"
    for key in ("nodeaddr", "nodehostname", "port"):
        if line.value(key) not in {"", name}:
            yield f"{key} {line.value(key)} leads elsewhere"
    is_gone = line.value("state").lower().startswith(_GONE)
    if is_gone is planned.is_in_service:
        planned_state = "in service" if planned.is_in_service else "out of service"
        yield f"State={line.value('state')}, and the spec has it {planned_state}"


def _queue_faults(configuration: _Configuration, declared: DeclaredSlurm) -> Iterator[Fault]:
    for name in sorted(configuration.queues.keys() - declared.queues.keys()):
        yield SLURM_CONF, configuration.queues[name][0].number, f"the spec has no partition {name}"
    number, enforced = configuration.settings.get((SLURM_CONF, "accountingstorageenforce"), (0, ""))
    if any(queue.accounts for queue in declared.queues.values()) and "associations" not in enforced.lower():
        yield SLURM_CONF, number, "accounts are not checked: accountingstorageenforce lacks associations"
    for name, queue in declared.queues.items():
        if name not in configuration.queues:
            yield SLURM_CONF, 0, f"the partition {name} is missing"
            continue
        line, members = configuration.queues[name]
        if members != queue.nodes:
            strange = sorted(members ^ queue.nodes)
            yield SLURM_CONF, line.number, f"{name} and the spec differ in {and_more(strange, _SHOWN)}"
        for key, wanted in (("allowgroups", queue.groups), ("allowaccounts", queue.accounts)):
            allowed = frozenset(filter(None, line.value(key).split(",")))
            if allowed != wanted:
                lets_in, meant = (", ".join(sorted(names)) or "everyone" for names in (allowed, wanted))
                yield SLURM_CONF, line.number, f"{name} lets in {lets_in} by {key}, the spec {meant}"
        if line.value("state").lower() not in {"", "up"}:
            yield SLURM_CONF, line.number, f"{name} is {line.value('state')}: it takes or starts no job"


def _leaf_faults(configuration: _Configuration, declared: DeclaredSlurm) -> Iterator[Fault]:
    """Nodes at another leaf than the plan's."""
    group_by_node = {name: node.leaf for name, node in declared.nodes.items()}
    for path, leaf_by_node in configuration.topologies.items():
        for name, leaf, group in _misplaced(leaf_by_node, group_by_node):
            yield path, leaf.line, f"{name} of {group or 'the cluster'} is at the leaf {leaf.name}"


def _misplaced(
    leaf_by_node: Mapping[str, SlurmLeaf], group_by_node: Mapping[str, str]
) -> Iterator[tuple[str, SlurmLeaf, str]]:
    """Nodes with the same group and different leaves, or the same leaf and different groups.

    Names of leaves are free.
    """
    leaf_of_group: dict[str, str] = {}
    group_of_leaf: dict[str, str] = {}
    for name, group in group_by_node.items():
        leaf = leaf_by_node.get(name)
        if leaf is None:
            continue
        has_other_leaf = leaf_of_group.setdefault(group, leaf.name) != leaf.name
        has_other_group = group_of_leaf.setdefault(leaf.name, group) != group
        if has_other_leaf or has_other_group:
            yield name, leaf, group


def _worker_faults(tree: RenderedTree, slurm: DeclaredSlurm) -> Iterator[Counterexample]:
    wanted = list(slurm.controllers)
    for name, node in slurm.nodes.items():
        if not node.fetches_configuration:
            continue
        text = tree.text(name, SLURMD_DEFAULTS)
        servers = list(read_servers(text or ""))
        if servers != wanted:
            names = ", ".join(servers) or "no server"
            message = f"slurmd asks {names} for its configuration, the controllers are {', '.join(wanted)}"
            yield Counterexample(device=name, file=SLURMD_DEFAULTS, line=0, message=message)


def _applies(tree: RenderedTree) -> bool:
    return bool(tree.devices_with(SLURM_CONF)) or (tree.declaration is not None and bool(tree.declaration.slurms))


SLURM_NODES = ProofCheck(
    name="slurm",
    claim="Slurm places jobs on the spec's nodes alone, with their GPUs and processors, in its partitions and leaves.",
    kinds=frozenset({"slurm"}),
    intent=frozenset({"slurms"}),
    applies=_applies,
    check=_check,
    spec_only="the planned nodes, GPUs, partitions and controllers",
)
