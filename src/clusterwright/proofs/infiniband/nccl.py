"""NCCL on nodes of an InfiniBand fabric: RDMA over all planned adapters, in one partition and service level.

The partition's index is no constant: a subnet manager puts a P_Key at the next free index of a port's table and leaves
it there. So the text must name the partition, and a unit must find its index at the start of the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.hosts.linux.reader.nccl import CONF_FILES, NCCL, NCCL_PARTITION, read_nccl, read_partition
from clusterwright.hosts.linux.reader.unit_files import UNIT_FOLDERS
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, example
from clusterwright.proofs.infiniband.declared import DeclaredNccl
from clusterwright.proofs.library_environment import library_faults
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.runtime.switches import PXN, RDMA, c_number, switched_off

UNIT = "etc/systemd/system/nccl-partition.service"
SCRIPT = "usr/local/sbin/nccl-partition"
_WANTED_BY = tuple(f"{folder}multi-user.target.d/" for folder in UNIT_FOLDERS)
_CROSS_NIC_DEFAULT = "2"  # of NCCL: it crosses where that is faster
_ROCE = "NCCL_IB_ROCE_VERSION_NUM"  # set in every file for RoCE


@dataclass(frozen=True, slots=True)
class _NodeFiles:
    """A node's files about NCCL; None for a missing one."""

    path: str
    conf: str | None
    partition: str | None
    has_unit: bool


def _run(tree: RenderedTree) -> Verdict:
    nodes = _nodes(tree)
    counterexamples: list[Counterexample] = []
    tried: dict[tuple[_NodeFiles, DeclaredNccl | None], list[tuple[str, str, str]]] = {}
    adapters = 0
    for device, declared in nodes.items():
        files = _files_of(tree, device)
        key = (files, declared)
        if key not in tried:  # nodes of a kind have the same files
            tried[key] = list(_faults(files, declared))
        adapters += len(declared.devices) if declared is not None else 0
        for path, name, message in tried[key]:
            counterexamples.append(example(tree, device, path, (name,) if name else (), message))
    counterexamples += library_faults(tree, nodes)
    facts = [Fact("nodes whose NCCL sends by InfiniBand", len(nodes))]
    if adapters:
        facts.append(Fact("adapters that it uses", adapters))
    return Verdict(tuple(facts), tuple(counterexamples), Cases("nodes whose NCCL is on InfiniBand", len(nodes)))


def _nodes(tree: RenderedTree) -> Mapping[str, DeclaredNccl | None]:
    """The nodes of profiles on InfiniBand; in a folder, nodes with a file without settings for RoCE."""
    if tree.declaration is not None:
        return tree.declaration.nccl_on_infiniband
    path_by_device: dict[str, str] = {}
    for path in reversed(CONF_FILES):
        path_by_device.update(dict.fromkeys(tree.devices_with(path), path))
    texts = {device: tree.text(device, path) or "" for device, path in sorted(path_by_device.items())}
    return {device: None for device, text in texts.items() if _ROCE not in read_nccl(text)}


def _files_of(tree: RenderedTree, device: str) -> _NodeFiles:
    paths = [path for path in CONF_FILES if (device, path) in tree.files]
    path = paths[0] if paths else NCCL
    has_files = (device, UNIT) in tree.files and (device, SCRIPT) in tree.files
    return _NodeFiles(
        path=path,
        conf=tree.text(device, path),
        partition=tree.text(device, NCCL_PARTITION),
        has_unit=has_files and _starts_at_boot(tree, device),
    )


def _starts_at_boot(tree: RenderedTree, device: str) -> bool:
    name = UNIT.rpartition("/")[2]
    drop_ins = (path for path in tree.paths if path.startswith(_WANTED_BY))
    return any(name in (tree.text(device, path) or "") for path in drop_ins)


def _faults(files: _NodeFiles, declared: DeclaredNccl | None) -> Iterator[tuple[str, str, str]]:
    """Path, mark of the line ("" for the whole file) and message of each fault."""
    if files.conf is None:
        yield files.path, "", "the file is missing: NCCL takes every RDMA device, in the default partition"
        return
    settings = read_nccl(files.conf)
    for switch in switched_off(settings):
        if switch.stops == RDMA:
            yield files.path, f"{switch.name}=", f"{switch.name}={settings[switch.name]} {switch.effect}"
    if declared is None:
        return
    yield from _adapter_faults(files.path, settings, declared)
    if declared.planes > 1:
        yield from _plane_faults(files.path, settings, declared)
    level = c_number(settings.get("NCCL_IB_SL", ""))
    if level != declared.level:
        yield files.path, "NCCL_IB_SL=", f"data travels in service level {level}, the spec wants {declared.level}"
    if declared.index is None:
        yield from _partition_faults(files, settings, declared)
    elif c_number(settings.get("NCCL_IB_PKEY", "")) != declared.index:
        index = settings.get("NCCL_IB_PKEY", "0")
        yield files.path, "NCCL_IB_PKEY=", f"NCCL opens P_Key index {index}, and the provider's is {declared.index}"


def _plane_faults(path: str, settings: Mapping[str, str], declared: DeclaredNccl) -> Iterator[tuple[str, str, str]]:
    """Settings allowing NCCL to send from one subnet to another, without a path between them."""
    value = settings.get("NCCL_CROSS_NIC", _CROSS_NIC_DEFAULT)
    if c_number(value) != 0:
        message = f"NCCL_CROSS_NIC {value} lets NCCL send from one of {declared.planes} subnets to another"
        yield path, "NCCL_CROSS_NIC=" if "NCCL_CROSS_NIC" in settings else "", message
    for switch in switched_off(settings):
        if switch.name in PXN:
            message = f"{switch.name}={settings[switch.name]} {switch.effect}, and no path leads between the subnets"
            yield path, f"{switch.name}=", message


def _adapter_faults(path: str, settings: Mapping[str, str], declared: DeclaredNccl) -> Iterator[tuple[str, str, str]]:
    value = settings.get("NCCL_IB_HCA")
    if value is None:
        yield path, "", "NCCL_IB_HCA is missing: NCCL takes every RDMA device of the node"
        return
    if not value.startswith("="):
        yield path, "NCCL_IB_HCA=", f"NCCL_IB_HCA={value} names no whole devices: which it takes, the machine decides"
        return
    chosen = {word.partition(":")[0] for word in value[1:].split(",")}
    if extra := sorted(chosen - declared.devices):
        yield path, "NCCL_IB_HCA=", f"NCCL uses {', '.join(extra)}, which {declared.fabric} does not serve"
    if missing := sorted(declared.devices - chosen):
        yield path, "NCCL_IB_HCA=", f"NCCL leaves {', '.join(missing)} on {declared.fabric} idle"


def _partition_faults(
    files: _NodeFiles, settings: Mapping[str, str], declared: DeclaredNccl
) -> Iterator[tuple[str, str, str]]:
    fixed = settings.get("NCCL_IB_PKEY")
    if declared.key is None:
        if fixed is not None and c_number(fixed) != 0:
            yield files.path, "NCCL_IB_PKEY=", f"NCCL opens P_Key index {fixed}, and the spec has no partition for it"
        if files.partition is not None:
            yield NCCL_PARTITION, "", "the spec has no partition for NCCL"
        return
    if fixed is not None:
        message = f"P_Key index {fixed} by number: where a partition stands differs from node to node"
        yield files.path, "NCCL_IB_PKEY=", message
        return
    if files.partition is None or not files.has_unit:
        lacking = NCCL_PARTITION if files.partition is None else UNIT
        yield lacking, "", f"nothing finds the index of P_Key {declared.key}: NCCL opens the default partition"
        return
    named = read_partition(files.partition)
    if named is None:
        yield NCCL_PARTITION, "", "the file names no P_Key and adapters: NCCL opens the default partition"
        return
    if named[0] != declared.key:
        yield NCCL_PARTITION, "PKEY=", f"NCCL opens P_Key {named[0]}, the spec wants {declared.key}"
    if set(named[1]) != declared.devices:
        yield NCCL_PARTITION, "DEVICES=", f"the index is looked up on {' '.join(named[1])} alone"


def _applies(tree: RenderedTree) -> bool:
    return bool(_nodes(tree))


IB_NCCL = ProofCheck(
    name="ib-nccl",
    claim=(
        "NCCL sends by RDMA over every adapter that the spec has on the fabric, in the spec's partition"
        " and service level."
    ),
    kinds=frozenset({"nccl"}),
    intent=frozenset({"library_environments", "nccl_on_infiniband"}),
    applies=_applies,
    check=_run,
    spec_only="the adapters, partition and service level for NCCL",
)
