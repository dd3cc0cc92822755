"""One truth on QoS: NICs and switches mean the same by a DSCP, and pause the same priorities, on every hop.

What most devices of a fabric say is taken for the truth; every device that says something else is named, with both
values. A network with two halves that disagree is refuted either way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from clusterwright.verify.check import Check, Counterexample, Fact, Verdict, VerifyError
from clusterwright.verify.ethernet.network import KINDS, Fabric, has_network, network_of_tree
from clusterwright.verify.ethernet.node_files import NCCL, SCRIPT, NicQos, read_nccl, read_qos_script
from clusterwright.verify.ethernet.router import DSCPS, Mark, QosMap, Router, example
from clusterwright.verify.tree import RenderedTree

_ECN_BITS = 2  # below the DSCP in the traffic class byte
Said = tuple[tuple[int | None, ...], tuple[int | None, ...], frozenset[int]]


def _applies(tree: RenderedTree) -> bool:
    return has_network(tree) and any(fabric.is_lossless for fabric in network_of_tree(tree).fabrics)


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    found: list[Counterexample] = []
    for fabric in network_of_tree(tree).fabrics:
        if not fabric.is_lossless:
            continue
        truth = _truth(fabric)
        classes, queues, lossless = truth
        facts.append(Fact(f"{fabric.name}: switches with one map of DSCPs", len(fabric.routers)))
        for priority in sorted(lossless):
            dscps = [dscp for dscp in range(DSCPS) if classes[dscp] == priority]
            value = f"DSCP {', '.join(map(str, dscps))}, queue {queues[dscps[0]] if dscps else None}"
            facts.append(Fact(f"{fabric.name}: lossless priority {priority}", value))
        for router in fabric.routers:
            found += _switch(tree, router, truth)
            found += _ports(tree, router, lossless)
        nodes = list(dict.fromkeys(nic.device for nic, _ in fabric.nics))
        for device in nodes:
            found += _node(tree, device, truth)
        facts.append(Fact(f"{fabric.name}: nodes whose NICs agree", len(nodes)))
    return Verdict(tuple(facts), tuple(found))


def _said(qos: QosMap) -> Said:
    """For each DSCP the class and the queue, and the lossless priorities."""
    queues = tuple(qos.queue_of.get(number) if number is not None else None for number in qos.class_of)
    return qos.class_of, queues, qos.lossless


def _truth(fabric: Fabric) -> Said:
    votes = Counter(_said(router.qos) for router in fabric.routers if router.qos is not None)
    by_dscp = [Counter[tuple[int | None, int | None]]() for _ in range(DSCPS)]
    lossless = Counter[frozenset[int]]()
    for (classes, queues, priorities), count in votes.items():
        lossless[priorities] += count
        for dscp in range(DSCPS):
            by_dscp[dscp][classes[dscp], queues[dscp]] += count
    best = [max(each.items(), key=lambda item: item[1])[0] for each in by_dscp]
    return tuple(b[0] for b in best), tuple(b[1] for b in best), max(lossless.items(), key=lambda item: item[1])[0]


def _switch(tree: RenderedTree, router: Router, truth: Said) -> Iterator[Counterexample]:
    classes, queues, lossless = truth
    if router.qos is None:
        yield example(tree, router.device, router.ports_file, (), "has no map from DSCP to traffic class")
        return
    said = _said(router.qos)
    if said == truth:
        return
    for dscp in range(DSCPS):
        own = said[0][dscp]
        if own != classes[dscp]:
            mark = router.qos.marks.get(f"dscp {dscp}") or _class_mark(router.qos.marks, classes, dscp)
            message = f"DSCP {dscp} is traffic class {own} here, {classes[dscp]} on the other switches"
            yield example(tree, router.device, router.ports_file, mark, message)
        elif said[1][dscp] != queues[dscp]:
            mark = router.qos.marks.get(f"class {own}", ())
            message = (
                f"DSCP {dscp}, class {own}, is in queue {said[1][dscp]} here, {queues[dscp]} on the other switches"
            )
            yield example(tree, router.device, router.ports_file, mark, message)
    for priority in sorted(said[2] ^ lossless):
        mark = router.qos.marks.get(f"priority {priority}", ())
        here, there = ("lossless", "not") if priority in said[2] else ("not lossless", "lossless")
        message = f"priority {priority} is {here} here, {there} on the other switches"
        yield example(tree, router.device, router.ports_file, mark, message)


def _class_mark(marks: Mapping[str, Mark], classes: tuple[int | None, ...], dscp: int) -> Mark:
    """Where a DSCP that is missing should be: with the others of its class."""
    others = (marks.get(f"dscp {other}") for other in range(DSCPS) if classes[other] == classes[dscp])
    return next((mark for mark in others if mark), ())


def _ports(tree: RenderedTree, router: Router, lossless: frozenset[int]) -> Iterator[Counterexample]:
    """Routed ports that pause other priorities than the lossless ones."""
    for port in router.ports:
        if port.address is not None and port.peer and port.lossless != lossless:
            message = (
                f"{port.name} to {port.peer} pauses {_priorities(port.lossless)}, the class needs "
                f"{_priorities(lossless)} at both ends"
            )
            yield example(tree, router.device, router.ports_file, port.qos_mark, message)


def _priorities(numbers: frozenset[int]) -> str:
    return f"priority {', '.join(map(str, sorted(numbers)))}" if numbers else "no priority"


def _node(tree: RenderedTree, device: str, truth: Said) -> Iterator[Counterexample]:
    text = tree.text(device, SCRIPT)
    if text is None:
        yield Counterexample(
            device, SCRIPT, 0, "the node has NICs on a lossless fabric, but nothing sets their priorities"
        )
        return
    try:
        nic = read_qos_script(text)
    except ValueError as error:
        raise VerifyError(f"{device}:/{SCRIPT}: {error}. Render the spec again.") from None
    marks = dict(nic.marks)
    for message, key in _nic_faults(nic, truth):
        yield example(
            tree, device, SCRIPT, marks.get(key) or _class_mark(marks, truth[0], int(key.rpartition(" ")[2])), message
        )
    settings = read_nccl(tree.text(device, NCCL) or "")
    for name, message in _nccl_faults(settings, truth):
        yield example(tree, device, NCCL, (f"{name}=",), message)


def _nic_faults(nic: NicQos, truth: Said) -> Iterator[tuple[str, str]]:
    """What a NIC does otherwise than the switches, with the name of the mark for it."""
    classes, _, lossless = truth
    if not nic.trusts_dscp:
        yield "the NICs do not trust the DSCP", "pfc"
    if nic.lossless != lossless:
        yield f"the NICs pause {_priorities(nic.lossless)}, the switches {_priorities(lossless)}", "pfc"
    for dscp in range(DSCPS):
        own, wanted = nic.priority_of[dscp], classes[dscp]
        # what is in no class of its own may have any priority that may be lost
        is_default = wanted == classes[0] and wanted not in lossless
        if (own in lossless) if is_default else (own != wanted):
            yield f"DSCP {dscp} has priority {own} here, traffic class {wanted} on the switches", f"dscp {dscp}"
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
            yield name, f"DSCP {dscp} is traffic class {number}, which is not lossless: {_priorities(lossless)} is"
        elif not must_be_lossless and number == classes[0] and number not in lossless:
            yield (
                name,
                f"DSCP {dscp} is traffic class {number} like everything else: clear-to-send would wait behind it",
            )


QOS = Check(
    "qos",
    "NICs and switches map each DSCP to the same traffic class and queue, and pause the same priorities on every hop.",
    KINDS,
    _applies,
    _run,
)
