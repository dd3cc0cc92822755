"""Classes on nodes: NICs and NCCL mean the same by a DSCP as the switches do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from clusterwright.verify.check import Counterexample, VerifyError
from clusterwright.verify.ethernet.network import Fabric
from clusterwright.verify.ethernet.node_files import NCCL, SCRIPT, NicQos, read_nccl, read_qos_script
from clusterwright.verify.ethernet.qos_truth import Said, class_mark, priorities
from clusterwright.verify.ethernet.router import DSCPS, example
from clusterwright.verify.tree import RenderedTree

_ECN_BITS = 2  # below the DSCP in the traffic class byte


def node_qos_faults(tree: RenderedTree, fabric: Fabric, nodes: Sequence[str], truth: Said) -> Iterator[Counterexample]:
    """What NICs and NCCL on ``nodes`` do otherwise than the switches. Raises VerifyError for a script without PFC."""
    scripts = {device: _script(tree, device) for device in nodes}
    votes = Counter(script.congestion_control for script in scripts.values() if script is not None)
    usual = max(votes.items(), key=lambda item: item[1])[0] if votes else ()
    names: dict[str, list[str]] = {}
    for nic, _ in fabric.nics:
        names.setdefault(nic.device, []).append(nic.name)
    for device, script in scripts.items():
        if script is None:
            message = "the node has NICs on a lossless fabric, but nothing sets their priorities"
            yield Counterexample(device, SCRIPT, 0, message)
            continue
        marks = dict(script.marks)
        for message, key in _nic_faults(script, names[device], truth, dict(usual)):
            mark = marks.get(key) or class_mark(marks, truth[0], int(key.rpartition(" ")[2]))
            yield example(tree, device, SCRIPT, mark, message)
        settings = read_nccl(tree.text(device, NCCL) or "")
        for name, message in _nccl_faults(settings, truth):
            yield example(tree, device, NCCL, (f"{name}=",), message)


def _script(tree: RenderedTree, device: str) -> NicQos | None:
    text = tree.text(device, SCRIPT)
    if text is None:
        return None
    try:
        return read_qos_script(text)
    except ValueError as error:
        raise VerifyError(f"{device}:/{SCRIPT}: {error}. Render the spec again.") from None


def _nic_faults(
    nic: NicQos, interfaces: Sequence[str], truth: Said, congestion_control: dict[int, bool]
) -> Iterator[tuple[str, str]]:
    """What a NIC does otherwise than the switches, with the name of the mark for it."""
    classes, _, lossless = truth
    if not nic.trusts_dscp:
        yield "the NICs do not trust the DSCP", "interfaces"
    if not nic.cable_m:
        yield "the NICs size their headroom for no cable at all", "cable"
    for name in interfaces:
        if name not in nic.interfaces:
            yield f"nothing sets the priorities of {name}", "interfaces"
    for priority in sorted(lossless):
        own, wanted_on = dict(nic.congestion_control).get(priority), congestion_control.get(priority)
        if own != wanted_on:
            text = {True: "on", False: "off", None: "left as it was"}
            yield f"DCQCN is {text[own]} for priority {priority}, {text[wanted_on]} on most nodes", "congestion"
    if nic.lossless != lossless:
        yield f"the NICs pause {priorities(nic.lossless)}, the switches {priorities(lossless)}", "pfc"
    for dscp in range(DSCPS):
        given, wanted = nic.priority_of[dscp], classes[dscp]
        # what is in no class of its own may have any priority that may be lost
        is_default = wanted == classes[0] and wanted not in lossless
        if (given in lossless) if is_default else (given != wanted):
            yield f"DSCP {dscp} has priority {given} here, traffic class {wanted} on the switches", f"dscp {dscp}"
    if nic.connection_class is not None and classes[nic.connection_class >> _ECN_BITS] not in lossless:
        value = nic.connection_class
        yield f"connections bear DSCP {value >> _ECN_BITS}, which is not in a lossless class", "connection"


def _nccl_faults(settings: dict[str, str], truth: Said) -> Iterator[tuple[str, str]]:
    classes, _, lossless = truth
    for name, must_be_lossless in (("NCCL_IB_TC", True), ("NCCL_IB_FIFO_TC", False)):
        value = settings.get(name)
        if value is None:
            if must_be_lossless and settings:
                yield name, "NCCL's data has no traffic class, so it travels without protection from loss"
            continue
        if not value.isdigit() or int(value) > 255 or int(value) % (1 << _ECN_BITS):
            yield name, f"{name}={value} is no DSCP times 4"
            continue
        dscp = int(value) >> _ECN_BITS
        number = classes[dscp]
        if must_be_lossless and number not in lossless:
            yield name, f"DSCP {dscp} is traffic class {number}, which is not lossless: {priorities(lossless)} is"
        elif not must_be_lossless and number == classes[0] and number not in lossless:
            yield (
                name,
                f"DSCP {dscp} is traffic class {number} like everything else: clear-to-send would wait behind it",
            )
