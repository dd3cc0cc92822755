"""Classes on nodes: a DSCP has the same meaning for NICs, NCCL and switches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeVar

from clusterwright.facts.router import DSCPS
from clusterwright.finding import VerifyError
from clusterwright.hosts.linux.reader.nccl import NCCL, read_nccl
from clusterwright.hosts.linux.reader.network import SCRIPT, ConfiguredQos, read_qos_script
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.ethernet.qos.majority import ClassSettings, class_mark, priorities
from clusterwright.proofs.ethernet.qos.nccl import ECN_BITS, is_elsewhere, marks_of, nccl_faults, unusual
from clusterwright.proofs.library_environment import library_faults
from clusterwright.proofs.tree import RenderedTree

T = TypeVar("T")
NcclClasses = tuple[tuple[str, str | None], ...]
_NO_PROFILE = -1


def node_qos_faults(
    tree: RenderedTree, fabric: RoutedFabric, nodes: Sequence[str], settings: ClassSettings, marking: frozenset[int]
) -> Iterator[Counterexample]:
    """Differences between NICs and NCCL on ``nodes`` and the switches; ``marking`` are the queues marking packets.

    Raises VerifyError for a script without PFC.
    """
    names: dict[str, list[str]] = {}
    addresses: dict[str, list[bytes]] = {}
    for nic, _ in fabric.nics:
        addresses.setdefault(nic.device, []).append(nic.address)
        names.setdefault(nic.device, []).append(nic.name)
    blocks_by_node = {device: _blocks(tree, device) for device in nodes}
    blocks = {device: _blocks_of_nics(blocks_by_node[device], names[device]) for device in nodes}
    group_of = _comparable_nodes(tree, nodes)
    classes: dict[int | str, Counter[int | None]] = {}
    traffic_classes: dict[int | str, Counter[NcclClasses]] = {}
    for device, node_blocks in blocks.items():
        group = group_of[device]
        classes.setdefault(group, Counter()).update(_connections(block) for block in node_blocks)
        if _runs_nccl(tree, device):
            nccl_classes = marks_of(read_nccl(tree.text(device, NCCL) or ""))
            traffic_classes.setdefault(group, Counter()).update([nccl_classes])
    yield from library_faults(tree, [device for device in blocks if _runs_nccl(tree, device)])
    for device, node_blocks in blocks.items():
        group = group_of[device]
        if not node_blocks:
            message = "the node has NICs on a lossless fabric, but nothing sets their priorities"
            yield Counterexample(device=device, file=SCRIPT, line=0, message=message)
            continue
        yield from _unreached(tree, device, names[device], node_blocks)
        usual_class = _most(classes[group], None)
        for block in node_blocks:
            yield from _block_faults(tree, device, block, settings=settings, marking=marking, usual_class=usual_class)
        nccl = read_nccl(tree.text(device, NCCL) or "")
        if is_elsewhere(nccl, node_blocks, blocks_by_node[device]):
            continue
        faults = list(nccl_faults(nccl, settings, node_blocks, addresses.get(device, ())))
        if _runs_nccl(tree, device):
            faults += unusual(nccl, _most(traffic_classes[group], ()))
        for name, message in faults:
            yield example(tree, device, NCCL, (f"{name}=",), message)


def _blocks_of_nics(blocks: Sequence[ConfiguredQos], names: Sequence[str]) -> list[ConfiguredQos]:
    """The blocks of a fabric's NICs, as NICs on other fabrics may have other settings."""
    return [block for block in blocks if not block.interfaces.isdisjoint(names)]


def _unreached(
    tree: RenderedTree, device: str, names: Sequence[str], blocks: Sequence[ConfiguredQos]
) -> Iterator[Counterexample]:
    """NICs of a node without a block in its script."""
    reached = frozenset(chain.from_iterable(block.interfaces for block in blocks))
    for name in names:
        if name not in reached:
            mark = dict(blocks[0].marks)["interfaces"]
            yield example(tree, device, SCRIPT, mark, f"nothing sets the priorities of {name}")


def _block_faults(
    tree: RenderedTree,
    device: str,
    block: ConfiguredQos,
    *,
    settings: ClassSettings,
    marking: frozenset[int],
    usual_class: int | None,
) -> Iterator[Counterexample]:
    marks = dict(block.marks)
    traffic_class = _connections(block)
    if traffic_class != usual_class:
        here, there = traffic_class or "no class", usual_class or "no class"
        message = f"connections get {here} on the first port of their devices, {there} on most nodes"
        yield example(tree, device, SCRIPT, marks.get("connection", marks["interfaces"]), message)
    for message, key in _nic_faults(block, settings, marking):
        mark = marks.get(key, ())
        number = key.rpartition(" ")[2]
        if not mark and number.isdigit():
            mark = class_mark(marks, settings.classes, int(number))
        yield example(tree, device, SCRIPT, mark, message)


def _runs_nccl(tree: RenderedTree, device: str) -> bool:
    """True for a node with jobs: one of the spec's NCCL profiles; in a folder, one with a file of NCCL."""
    if tree.declaration is not None:
        return device in tree.declaration.nccl_nodes
    return tree.text(device, NCCL) is not None


def _comparable_nodes(tree: RenderedTree, nodes: Sequence[str]) -> dict[str, int | str]:
    """The group of comparable nodes of each node: with several NCCL profiles, those of its profile.

    In a folder, nodes with the same beginning of their names.
    """
    if tree.declaration is None:
        return {device: device.rpartition("-")[0] for device in nodes}
    profiles = tree.declaration.nccl_nodes
    if len({*profiles.values()}) < 2:
        return dict.fromkeys(nodes, _NO_PROFILE)
    return {device: profiles.get(device, _NO_PROFILE) for device in nodes}


def _most(votes: Counter[T], default: T) -> T:
    if not votes:
        return default
    return max(votes.items(), key=lambda item: item[1])[0]


def _connections(script: ConfiguredQos) -> int | None:
    """The traffic class byte for connections of the script's devices, None without a device."""
    return script.connection_class if script.devices else None


def _blocks(tree: RenderedTree, device: str) -> tuple[ConfiguredQos, ...]:
    text = tree.text(device, SCRIPT)
    if text is None:
        return ()
    try:
        return read_qos_script(text)
    except ValueError as error:
        raise VerifyError(f"{device}:/{SCRIPT}: {error}. Render the spec again.") from None


def _nic_faults(nic: ConfiguredQos, settings: ClassSettings, marking: frozenset[int]) -> Iterator[tuple[str, str]]:
    """Differences between a NIC and the switches, with the name of the mark for each."""
    classes, queues, lossless = settings
    if not nic.trusts_dscp:
        yield "the NICs do not trust the DSCP", "interfaces"
    if not nic.cable_m:
        yield "the NICs size their headroom for no cable at all", "cable"
    for priority in sorted(lossless):
        is_on = dict(nic.congestion_control).get(priority)
        queues_of_priority = {queue for number, queue in zip(classes, queues, strict=True) if number == priority}
        marks_packets = not queues_of_priority.isdisjoint(marking)
        if is_on != marks_packets:
            state = {True: "on", False: "off", None: "left as it was"}[is_on]
            there = "marks packets" if marks_packets else "marks nothing"
            yield f"DCQCN is {state} for priority {priority}, whose queue {there} on the switches", "congestion"
    if nic.lossless != lossless:
        yield f"the NICs pause {priorities(nic.lossless)}, the switches {priorities(lossless)}", "pfc"
    for dscp in range(DSCPS):
        priority, number = nic.priority_of[dscp], classes[dscp]
        if priority != number:
            there = "no traffic class" if number is None else f"traffic class {number}"
            yield f"DSCP {dscp} has priority {priority} here, {there} on the switches", f"dscp {dscp}"
    yield from _connection_faults(nic, settings)


def _connection_faults(nic: ConfiguredQos, settings: ClassSettings) -> Iterator[tuple[str, str]]:
    if nic.connection_class is None:
        return
    if nic.connection_class % (1 << ECN_BITS):
        yield f"{nic.connection_class} is no DSCP times 4", "connection"
    dscp = nic.connection_class >> ECN_BITS
    if settings.classes[dscp] not in settings.lossless:
        yield f"connections bear DSCP {dscp}, which is not in a lossless class", "connection"
