"""Expectations of the node check: the plan's parts, the spec's limits, and the node's own rendered settings.

A limit that is too narrow drains healthy nodes, one that is too wide gives jobs to faulty ones. The check's program is
not read: with a spec, a program other than the rendered one leaves every claim not proven.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.finding import VerifyError
from clusterwright.hosts.linux.reader.network import SCRIPT, ConfiguredQos, read_qos_script
from clusterwright.hosts.linux.reader.node_check import (
    CHECK_WANTS,
    LIMITS,
    MOUNTS,
    OWN,
    PROGRAMS,
    SERVICE,
    SERVICES,
    SETTINGS,
    TIMER,
    read_expected,
    read_mount,
    read_seconds,
    read_settings,
    read_wanted,
)
from clusterwright.hosts.linux.reader.units import unit_of
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, line_with
from clusterwright.proofs.operation.declared_node_check import CheckedNode, DeclaredCheck
from clusterwright.proofs.tree import RenderedFile, RenderedTree

Fault = tuple[str, int, str]
"""Path, line (0 for the whole file), and message."""
_FILTER = "etc/nftables.conf"
# The expectations of a node, and the files compared with them.
_SHARED = (LIMITS, SETTINGS, SCRIPT, TIMER, SERVICE, CHECK_WANTS, *SERVICES, *PROGRAMS)
_COMPARED = frozenset({"encryption", "mounts", "nftables", "node-qos", "node-system", "slurm"})
_ROUTES = ("default_routes", "owns_routes")
_PLANNED_PARTS = ("drivers.", "gpus.", "parts.", "partition.")
_NFS = "nfs4"  # type of an NFS mount of any version in proc_pid_mounts(5)
_ROCE_V2 = "RoCE v2"
_CLOCKS = {"chronyd.service": "chrony", "chrony.service": "chrony", "systemd-timesyncd.service": "timesyncd"}
_WATCHERS = (".path", ".timer")  # they start other units
_HEARD_AGAIN = 2  # intervals: one missed answer of a BMC drains no node


@dataclass(frozen=True, slots=True)
class _Read:
    """Values and faults of the files shared by nodes of a kind."""

    values: Mapping[str, Any]
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class _OtherParts:
    """Parts of a node for comparison with its expectations: its filter's digest, and its mount units."""

    filter_digest: str
    mounts: Sequence[str]


def _check(tree: RenderedTree) -> Verdict:
    declared = tree.declaration.node_checks if tree.declaration is not None else {}
    nodes = sorted({*tree.devices_with(LIMITS), *declared})
    shared: dict[tuple[object, ...], _Read] = {}
    digests: dict[RenderedFile | None, str] = {}
    counterexamples: list[Counterexample] = []
    mounts = [path for path in tree.paths if MOUNTS.fullmatch(path)]
    for node in nodes:
        planned = declared.get(node)
        files = tuple(tree.files.get((node, path)) for path in _SHARED)
        planned_check = planned.check if planned is not None else None
        key = (*files, planned_check)
        if key not in shared:  # nodes of an image have the same files
            texts = {path: file.read() for path, file in zip(_SHARED, files, strict=True) if file is not None}
            shared[key] = _read_shared(texts, planned_check)
        nftables = tree.files.get((node, _FILTER))
        if nftables not in digests:
            digests[nftables] = hashlib.sha256(nftables.read().encode()).hexdigest() if nftables is not None else ""
        counterexamples += [Counterexample(node, *fault) for fault in shared[key].faults]
        other_parts = _OtherParts(filter_digest=digests[nftables], mounts=mounts)
        counterexamples += [Counterexample(node, *fault) for fault in _own_faults(tree, node, planned, other_parts)]
    facts = (Fact("nodes that check themselves", len(nodes)),)
    return Verdict(facts, tuple(counterexamples), Cases("nodes that check themselves", len(nodes)))


def _read_shared(texts: Mapping[str, str], planned: DeclaredCheck | None) -> _Read:
    text = texts.get(LIMITS)
    if text is None:
        return _Read({}, ((LIMITS, 0, "the file is missing: the check ends with an error, and Slurm drains the node"),))
    try:
        values = read_expected(text)
    except (ValueError, RecursionError) as error:
        return _Read({}, ((LIMITS, 0, f"the check ends with an error: {error}"),))
    faults = [(LIMITS, _line(text, key), message) for key, message in _faults_of_texts(values, texts, planned)]
    faults += _start_faults(texts, planned)
    if planned is not None:
        faults += [(LIMITS, _line(text, key), message) for key, message in _faults_of_plan(values, planned)]
        faults += [(LIMITS, _line(text, key), message) for key, message in _lossless_faults(values, texts, planned)]
    return _Read(values, tuple(faults))


def _line(text: str, key: str) -> int:
    """Line of a key, or of its first part if the last is missing."""
    last, first = key.rpartition(".")[2], key.partition(".")[0]
    return line_with(text, f'"{last}":') or line_with(text, f'"{first}":')


def _faults_of_texts(
    values: Mapping[str, Any], texts: Mapping[str, str], planned: DeclaredCheck | None
) -> Iterator[tuple[str, str]]:
    """Differences between expectations and the node's rendered settings, as key and message."""
    yield from _setting_faults(values.get("kernel.settings"), read_settings(texts.get(SETTINGS, "")))
    started: frozenset[str] = frozenset().union(*(read_wanted(texts.get(path, "")) for path in SERVICES))
    yield from _unit_faults(values.get("units"), started)
    clocks = {_CLOCKS[unit] for unit in started if unit in _CLOCKS}
    clock = values.get("time", "")
    is_set_by_others = planned is not None and "time" in planned.values  # compared with the plan
    is_expected = clock in clocks or (clock is None and not clocks)
    if not is_set_by_others and not is_expected:
        yield "time", f"the clock is looked at by {values.get('time')}, and set by {', '.join(clocks) or 'nothing'}"


def _setting_faults(expected: object, settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if not isinstance(expected, dict):
        yield "kernel.settings", "no kernel setting is looked at"
        return
    for name in sorted(expected.keys() | settings.keys()):
        if expected.get(name) != settings.get(name):
            yield name, f"{name} is to be {expected.get(name, 'unset')}, and is set to {settings.get(name)}"


def _unit_faults(units: object, started: frozenset[str]) -> Iterator[tuple[str, str]]:
    expected = frozenset(units) if isinstance(units, list) else frozenset()
    for unit in sorted(expected - started):
        yield "units", f"{unit} is to run and nothing starts it: healthy nodes are drained"
    for unit in sorted(started - expected):
        if not unit.endswith(_WATCHERS):
            yield "units", f"{unit} is to run, and the check does not read its state"


def _faults_of_plan(values: Mapping[str, Any], planned: DeclaredCheck) -> Iterator[tuple[str, str]]:
    for key, planned_value in planned.values.items():
        if key == "nics":
            yield from _nic_faults(values.get(key), planned_value)
            continue
        value = values.get(key, "nothing")
        if key == "partition.devices" and isinstance(value, list):
            value = sorted(map(str, value))
        if value != planned_value:
            yield key, f"{key} is {value}, and {planned_value} is planned"
    for key in _unplanned_keys(values, planned):
        yield key, f"{key} is {values[key]}, and nothing of it is planned"
    if "bmc" not in planned.values:
        oldest = values.get("bmc.oldest_s")
        if not isinstance(oldest, int) or oldest < _HEARD_AGAIN * planned.interval_s:
            message = f"readings of the BMC expire after {oldest} s, and are taken each {planned.interval_s} s"
            yield "oldest_s", message


def _unplanned_keys(values: Mapping[str, Any], planned: DeclaredCheck) -> Iterator[str]:
    unplanned = sorted(values.keys() - planned.values.keys())
    for part in _PLANNED_PARTS:
        yield from (key for key in unplanned if key.startswith(part))
    yield from (key for key in _ROUTES if key in unplanned)


def _records_in(value: object) -> list[dict[str, Any]]:
    """The mappings of a list; empty for a value of another type."""
    return [record for record in value if isinstance(record, dict)] if isinstance(value, list) else []


def _nic_faults(nics: object, planned_nics: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    by_interface = {str(nic.get("interface")): nic for nic in _records_in(nics)}
    for name in sorted(by_interface.keys() - planned_nics.keys()):
        yield name, f"the adapter {name} is to be there, and is not planned: healthy nodes are drained"
    for name, planned in planned_nics.items():
        nic = by_interface.get(name)
        if nic is None:
            yield "nics", f"the check does not read the adapter {name}"
            continue
        for key in sorted(planned.keys() | nic.keys()):
            if nic.get(key) != planned.get(key):
                yield name, f"{key} of {name} is to be {nic.get(key)}, and {planned.get(key)} is planned"


def _lossless_faults(
    values: Mapping[str, Any], texts: Mapping[str, str], planned: DeclaredCheck
) -> Iterator[tuple[str, str]]:
    """Differences between the expected priorities and those of the node's own script."""
    names = {key.partition(".")[2] for key in values if key.startswith("lossless.")}
    for name in sorted(planned.lossless - names):
        yield "lossless", f"the check does not read the lossless priorities of {name}"
    for name in sorted(names - planned.lossless):
        yield name, f"{name} has no lossless priority"
    if SCRIPT not in texts:
        return
    try:
        blocks = read_qos_script(texts[SCRIPT])
    except VerifyError:
        return  # the claim `qos` reports it
    nics = planned.values["nics"]
    for name in sorted(names & planned.lossless):
        interfaces = {interface for interface, nic in nics.items() if nic["fabric"] == name}
        for block in blocks:
            if block.interfaces.isdisjoint(interfaces):
                continue
            for key, message in _block_faults(values[f"lossless.{name}"], block):
                yield key, f"{name}: {message}"


def _block_faults(expected: Any, block: ConfiguredQos) -> Iterator[tuple[str, str]]:
    if not isinstance(expected, dict):
        yield "lossless", "it does not read"
        return
    pfc = ",".join(str(int(priority in block.lossless)) for priority in range(8))
    if expected.get("pfc") != pfc:
        yield "pfc", f"PFC is to be {expected.get('pfc')}, and is set to {pfc}"
    expected_priorities: dict[int, int] = {}
    for name, dscps in expected.get("priorities", {}).items():
        expected_priorities.update(dict.fromkeys(dscps, int(name)))
    for dscp, priority in enumerate(block.priority_of):
        if expected_priorities.get(dscp) != priority:
            expected_priority = expected_priorities.get(dscp, "nothing")
            yield "priorities", f"DSCP {dscp} is to have {expected_priority}, and is set to {priority}"
            break
    control = {str(priority): is_on for priority, is_on in block.congestion_control}
    if expected.get("dcqcn") != control:
        yield "dcqcn", f"DCQCN is to be {expected.get('dcqcn')}, and is set to {control}"
    if expected.get("traffic_class") not in (None, block.connection_class):
        yield "traffic_class", f"the traffic class is to be {expected['traffic_class']}, not {block.connection_class}"


def _start_faults(texts: Mapping[str, str], planned: DeclaredCheck | None) -> Iterator[Fault]:
    """Faults that keep the check from running, or from ending in time."""
    for program in PROGRAMS:
        if program not in texts:
            yield program, 0, "the program is missing"
    wanted = read_wanted(texts.get(CHECK_WANTS, ""))
    for unit in ("node-health.timer", "power-supplies.timer", "power-supplies.service"):
        if unit not in wanted:
            yield CHECK_WANTS, 0, f"nothing starts {unit}"
    timer, service = unit_of(texts.get(TIMER, "")), unit_of(texts.get(SERVICE, ""))
    if planned is None:
        return
    again = read_seconds(timer.get("OnUnitActiveSec", ""))
    if again != planned.interval_s or not timer.get("OnBootSec"):
        yield TIMER, 0, f"the node is looked at each {again} s, and {planned.interval_s} s is planned"
    longest = read_seconds(service.get("TimeoutStartSec", ""))
    if longest is None or longest <= planned.answers_s:
        yield SERVICE, 0, f"the check is ended after {longest} s, and answers may take {planned.answers_s:g} s"


def _own_faults(
    tree: RenderedTree, node: str, planned: CheckedNode | None, other_parts: _OtherParts
) -> Iterator[Fault]:
    text = tree.text(node, OWN)
    if text is None:
        yield OWN, 0, "the file is missing: the check ends with an error, and Slurm drains the node"
        return
    try:
        values = read_expected(text)
    except (ValueError, RecursionError) as error:
        yield OWN, 0, f"the check ends with an error: {error}"
        return
    if values.get("node") != node:
        yield OWN, _line(text, "node"), f"the node is called {values.get('node')}"
    if (values.get("filter.path"), values.get("filter.sha256")) != (f"/{_FILTER}", other_parts.filter_digest):
        yield OWN, _line(text, "filter"), f"another packet filter is to be loaded than /{_FILTER}"
    units = filter(None, (tree.text(node, path) for path in other_parts.mounts))
    for message in _mount_faults(values.get("mounts"), filter(None, map(read_mount, units))):
        yield OWN, _line(text, "mounts"), message
    if planned is not None:
        for interface, message in _gid_faults(values, planned.gids):
            yield OWN, _line(text, interface), message


def _mount_faults(expected_mounts: object, mounts: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    type_of_mount = {(mountpoint, source): kind for mountpoint, source, kind in mounts}
    expected = {(mount.get("where"), mount.get("what")): mount.get("types") for mount in _records_in(expected_mounts)}
    for mountpoint, source in sorted(type_of_mount.keys() - expected.keys()):
        yield f"the check does not read whether {source} is mounted at {mountpoint}"
    for place in sorted(expected.keys() - type_of_mount.keys(), key=str):
        yield f"{place[1]} is to be mounted at {place[0]}, and nothing mounts it: healthy nodes are drained"
    for place in type_of_mount.keys() & expected.keys():
        kind = type_of_mount[place]
        accepted_types = [kind, _NFS] if kind == "nfs" else [kind]
        if expected[place] != accepted_types:
            yield f"{place[0]} is to be of {expected[place]}, and is mounted as {kind}"


def _gid_faults(values: Mapping[str, Any], planned: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    expected = {key.partition(".")[2]: nic for key, nic in values.items() if key.startswith("own_nics.")}
    for name in sorted(expected.keys() - planned.keys()):
        yield name, f"a GID of {name} is asked for, and it has none"
    for name, number in planned.items():
        nic = expected.get(name)
        if not isinstance(nic, dict):
            yield "own_nics", f"the check does not read the address of {name}"
        elif not _is_gid(nic, number):
            yield name, f"the GID of {name} is to be {nic.get('gid')} ({nic.get('gid_type')}), which is not its address"


def _is_gid(nic: Mapping[str, Any], number: int) -> bool:
    digits = str(nic.get("gid")).replace(":", "")
    try:
        return len(digits) == 32 and int(digits, 16) == number and nic.get("gid_type") == _ROCE_V2
    except ValueError:
        return False


def _applies(tree: RenderedTree) -> bool:
    is_planned = tree.declaration is not None and bool(tree.declaration.node_checks)
    return is_planned or bool(tree.devices_with(LIMITS))


NODE_CHECK = ProofCheck(
    name="node-check",
    claim="Each node's health check expects its planned parts, the spec's limits and the settings of the node.",
    kinds=frozenset({"node-health"}) | _COMPARED,
    intent=frozenset({"node_checks"}),
    applies=_applies,
    check=_check,
    spec_only="the planned parts, adapters and limits",
    compared=_COMPARED,
)
