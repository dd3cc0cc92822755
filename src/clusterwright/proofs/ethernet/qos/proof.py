"""QoS: on every hop, NICs and switches agree on the meaning of a DSCP and pause the same priorities.

The setting of most devices of a fabric is the reference; every device with another one is reported with both values. A
network with two halves that disagree is refuted either way. The usual setting itself must be the spec's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.facts.router import DSCPS, QosMap, Router
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, example
from clusterwright.proofs.ethernet.network import (
    KINDS,
    NETWORK_INTENT,
    RoutedFabric,
    has_network,
    network_of_tree,
    without_cables,
)
from clusterwright.proofs.ethernet.qos.congestion import Usual, congestion_faults, usual_treatment
from clusterwright.proofs.ethernet.qos.declared import assumed_words, declared_faults, is_lossless
from clusterwright.proofs.ethernet.qos.majority import Said, class_mark
from clusterwright.proofs.ethernet.qos.nodes import node_qos_faults
from clusterwright.proofs.ethernet.qos.notifications import notification_faults
from clusterwright.proofs.ethernet.qos.pools import pool_facts, pool_faults
from clusterwright.proofs.ethernet.qos.ports import port_faults
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.fabric import Fabric


def _applies(tree: RenderedTree) -> bool:
    return has_network(tree) and any(is_lossless(tree, fabric) for fabric in network_of_tree(tree).fabrics)


def _has_lossless_class(fabric: Fabric) -> bool:
    return any(item.priority is not None for item in fabric.classes)


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    counterexamples: list[Counterexample] = []
    notes: list[str] = []
    tried = 0
    for fabric in network_of_tree(tree).fabrics:
        if not is_lossless(tree, fabric):
            continue
        tried += len(fabric.routers)
        truth = _truth(fabric)
        classes, queues, lossless = truth
        facts.append(Fact(f"{fabric.name}: switches with one map of DSCPs", len(fabric.routers)))
        for priority in sorted(lossless):
            dscps = [dscp for dscp in range(DSCPS) if classes[dscp] == priority]
            value = f"DSCP {', '.join(map(str, dscps))}, queue {queues[dscps[0]] if dscps else None}"
            facts.append(Fact(f"{fabric.name}: lossless priority {priority}", value))
        for router in fabric.routers:
            counterexamples += _switch(tree, router, truth)
        counterexamples += port_faults(tree, fabric, lossless)
        counterexamples += pool_faults(tree, fabric)
        notes += assumed_words(tree, fabric)
        usual = usual_treatment(fabric)
        counterexamples += congestion_faults(tree, fabric, usual)
        counterexamples += notification_faults(tree, fabric, truth, usual)
        counterexamples += declared_faults(tree, fabric, truth, usual)
        facts += _under_pressure(fabric.name, usual)
        # A switch out of service has no port with a peer, and the NICs plugged in there have no traffic.
        has_peers = [any(port.peer for port in router.ports) for router in fabric.routers]
        nodes = list(dict.fromkeys(nic.device for nic, at in fabric.nics if has_peers[at]))
        counterexamples += node_qos_faults(tree, fabric, nodes, truth, frozenset(queue for queue, _ in usual.marking))
        facts.append(Fact(f"{fabric.name}: nodes whose NICs agree", len(nodes)))
        stated_headroom = (port.qos.headroom_bytes for _, port in fabric.ports)
        headroom = [size for size in stated_headroom if size is not None]
        if headroom:
            facts.append(Fact(f"{fabric.name}: least headroom of a lossless port that states it, bytes", min(headroom)))
        facts += pool_facts(fabric)
    cases = Cases("switches of a lossless fabric", tried)
    return Verdict(
        facts=tuple(facts), counterexamples=tuple(counterexamples), cases=cases, notes=tuple(dict.fromkeys(notes))
    )


def _under_pressure(fabric: str, usual: Usual) -> Iterator[Fact]:
    marking = ", ".join(f"queue {queue} {text}" for queue, text in usual.marking)
    yield Fact(f"{fabric}: packets marked", marking or "none, and DCQCN is off")
    if usual.detection_ms is not None and usual.recovery_ms is not None:
        value = f"{usual.detection_ms} and {usual.recovery_ms}"
        yield Fact(f"{fabric}: PFC watchdog, ms to detection and to recovery", value)


def _said(qos: QosMap) -> Said:
    """For each DSCP the class and the queue, and the lossless priorities."""
    queues = tuple(qos.queue_of.get(number) if number is not None else None for number in qos.class_of)
    return qos.class_of, queues, qos.lossless


def _truth(fabric: RoutedFabric) -> Said:
    votes = Counter(_said(router.qos) for router in fabric.routers if router.qos is not None)
    by_dscp = [Counter[tuple[int | None, int | None]]() for _ in range(DSCPS)]
    lossless = Counter[frozenset[int]]()
    for (classes, queues, priorities), count in votes.items():
        lossless[priorities] += count
        for dscp in range(DSCPS):
            by_dscp[dscp][classes[dscp], queues[dscp]] += count
    if not votes:
        return (None,) * DSCPS, (None,) * DSCPS, frozenset()
    best = [votes_of_dscp.most_common(1)[0][0] for votes_of_dscp in by_dscp]
    classes_by_dscp = tuple(traffic_class for traffic_class, _ in best)
    queues_by_dscp = tuple(queue for _, queue in best)
    return classes_by_dscp, queues_by_dscp, lossless.most_common(1)[0][0]


def _switch(tree: RenderedTree, router: Router, truth: Said) -> Iterator[Counterexample]:
    classes, queues, lossless = truth
    if router.qos is None:
        yield example(tree, router.device, router.ports_file, (), "has no map from DSCP to traffic class")
        return
    yield from _shared_fate(tree, router, router.qos)
    setting = _said(router.qos)
    if setting == truth:
        return
    for dscp in range(DSCPS):
        traffic_class = setting[0][dscp]
        if traffic_class != classes[dscp]:
            mark = router.qos.marks.get(f"dscp {dscp}") or class_mark(router.qos.marks, classes, dscp)
            message = f"DSCP {dscp} is traffic class {traffic_class} here, {classes[dscp]} on the other switches"
            yield example(tree, router.device, router.ports_file, mark, message)
        elif setting[1][dscp] != queues[dscp]:
            mark = router.qos.marks.get(f"class {traffic_class}", ())
            given = f"DSCP {dscp}, class {traffic_class}, is in queue {setting[1][dscp]} here"
            message = f"{given}, {queues[dscp]} on the other switches"
            yield example(tree, router.device, router.ports_file, mark, message)
    for priority in sorted(setting[2] ^ lossless):
        mark = router.qos.marks.get(f"priority {priority}", ())
        here, there = ("lossless", "not") if priority in setting[2] else ("not lossless", "lossless")
        message = f"priority {priority} is {here} here, {there} on the other switches"
        yield example(tree, router.device, router.ports_file, mark, message)


def _shared_fate(tree: RenderedTree, router: Router, qos: QosMap) -> Iterator[Counterexample]:
    """Lossy classes in a priority group or a queue paused for a lossless class."""
    held = {qos.queue_of.get(priority): priority for priority in sorted(qos.lossless, reverse=True)}
    for number in sorted({number for number in qos.class_of if number is not None} - qos.lossless):
        if qos.group_of.get(number, number) in qos.paused:
            message = f"class {number} is lossy and in priority group {qos.group_of.get(number, number)}, which pauses"
            yield example(tree, router.device, router.ports_file, qos.marks.get(f"group {number}", ()), message)
        queue = qos.queue_of.get(number)
        if queue in held:
            message = f"class {number} is lossy and in queue {queue}, that of lossless priority {held[queue]}"
            yield example(tree, router.device, router.ports_file, qos.marks.get(f"class {number}", ()), message)


QOS = ProofCheck(
    name="qos",
    claim=(
        "On every hop, NICs included, a DSCP has the spec's class and queue; priorities pause, mark and"
        " are watched alike."
    ),
    kinds=KINDS,
    intent=NETWORK_INTENT | {"cable_m", "library_environments", "nccl_nodes"},
    applies=_applies,
    check=_run,
    spec_only="whether classes, queues, marks and times are those of the spec: switches are compared with each other",
    concerns=_has_lossless_class,
    uncheckable=without_cables,
)
