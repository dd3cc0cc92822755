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
from clusterwright.proofs.ethernet.qos.majority import ClassSettings, class_mark
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
        settings = _usual_settings(fabric)
        facts.append(Fact(f"{fabric.name}: switches with one map of DSCPs", len(fabric.routers)))
        facts += _lossless_facts(fabric.name, settings)
        for router in fabric.routers:
            counterexamples += _switch(tree, router, settings)
        counterexamples += port_faults(tree, fabric, settings.lossless)
        counterexamples += pool_faults(tree, fabric)
        notes += assumed_words(tree, fabric)
        usual = usual_treatment(fabric)
        counterexamples += congestion_faults(tree, fabric, usual)
        counterexamples += notification_faults(tree, fabric, settings, usual)
        counterexamples += declared_faults(tree, fabric, settings, usual)
        facts += _congestion_facts(fabric.name, usual)
        # A switch out of service has no port with a peer, and the NICs plugged in there have no traffic.
        has_peers = [_has_peers(router) for router in fabric.routers]
        nodes = list(dict.fromkeys(nic.device for nic, switch in fabric.nics if has_peers[switch]))
        marking = frozenset(queue for queue, _ in usual.marking)
        counterexamples += node_qos_faults(tree, fabric, nodes, settings, marking)
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


def _has_peers(router: Router) -> bool:
    return any(port.peer for port in router.ports)


def _lossless_facts(fabric: str, settings: ClassSettings) -> Iterator[Fact]:
    for priority in sorted(settings.lossless):
        dscps = [dscp for dscp in range(DSCPS) if settings.classes[dscp] == priority]
        queue = settings.queues[dscps[0]] if dscps else None
        value = f"DSCP {', '.join(map(str, dscps))}, queue {queue}"
        yield Fact(f"{fabric}: lossless priority {priority}", value)


def _congestion_facts(fabric: str, usual: Usual) -> Iterator[Fact]:
    marking = ", ".join(f"queue {queue} {marks}" for queue, marks in usual.marking)
    yield Fact(f"{fabric}: packets marked", marking or "none, and DCQCN is off")
    if usual.detection_ms is not None and usual.recovery_ms is not None:
        value = f"{usual.detection_ms} and {usual.recovery_ms}"
        yield Fact(f"{fabric}: PFC watchdog, ms to detection and to recovery", value)


def _settings_of(qos: QosMap) -> ClassSettings:
    queues = tuple(_queue_of(qos, traffic_class) for traffic_class in qos.class_of)
    return ClassSettings(classes=qos.class_of, queues=queues, lossless=qos.lossless)


def _queue_of(qos: QosMap, traffic_class: int | None) -> int | None:
    return qos.queue_of.get(traffic_class) if traffic_class is not None else None


def _usual_settings(fabric: RoutedFabric) -> ClassSettings:
    """The settings of most switches, for each DSCP by itself."""
    votes = Counter(_settings_of(router.qos) for router in fabric.routers if router.qos is not None)
    if not votes:
        return ClassSettings(classes=(None,) * DSCPS, queues=(None,) * DSCPS, lossless=frozenset())
    votes_by_dscp = [Counter[tuple[int | None, int | None]]() for _ in range(DSCPS)]
    lossless = Counter[frozenset[int]]()
    for settings, count in votes.items():
        lossless[settings.lossless] += count
        for dscp in range(DSCPS):
            votes_by_dscp[dscp][settings.classes[dscp], settings.queues[dscp]] += count
    usual = [votes_of_dscp.most_common(1)[0][0] for votes_of_dscp in votes_by_dscp]
    return ClassSettings(
        classes=tuple(traffic_class for traffic_class, _ in usual),
        queues=tuple(queue for _, queue in usual),
        lossless=lossless.most_common(1)[0][0],
    )


def _switch(tree: RenderedTree, router: Router, usual: ClassSettings) -> Iterator[Counterexample]:
    """Differences between a switch and most switches, and lossy classes paused together with lossless ones."""
    if router.qos is None:
        yield example(tree, router.device, router.ports_file, (), "has no map from DSCP to traffic class")
        return
    yield from _shared_fate(tree, router, router.qos)
    settings = _settings_of(router.qos)
    if settings == usual:
        return
    marks = router.qos.marks
    for dscp in range(DSCPS):
        traffic_class, usual_class = settings.classes[dscp], usual.classes[dscp]
        queue, usual_queue = settings.queues[dscp], usual.queues[dscp]
        if traffic_class != usual_class:
            mark = marks.get(f"dscp {dscp}") or class_mark(marks, usual.classes, dscp)
            message = f"DSCP {dscp} is traffic class {traffic_class} here, {usual_class} on the other switches"
            yield example(tree, router.device, router.ports_file, mark, message)
        elif queue != usual_queue:
            mark = marks.get(f"class {traffic_class}", ())
            place = f"DSCP {dscp}, class {traffic_class}, is in queue {queue} here"
            message = f"{place}, {usual_queue} on the other switches"
            yield example(tree, router.device, router.ports_file, mark, message)
    for priority in sorted(settings.lossless ^ usual.lossless):
        mark = marks.get(f"priority {priority}", ())
        message = f"priority {priority} is not lossless here, lossless on the other switches"
        if priority in settings.lossless:
            message = f"priority {priority} is lossless here, not on the other switches"
        yield example(tree, router.device, router.ports_file, mark, message)


def _shared_fate(tree: RenderedTree, router: Router, qos: QosMap) -> Iterator[Counterexample]:
    """Lossy classes in a priority group or a queue paused for a lossless class."""
    priority_of_queue = {qos.queue_of.get(priority): priority for priority in sorted(qos.lossless, reverse=True)}
    classes = {number for number in qos.class_of if number is not None}
    for number in sorted(classes - qos.lossless):
        group = qos.group_of.get(number, number)
        if group in qos.paused:
            message = f"class {number} is lossy and in priority group {group}, which pauses"
            yield example(tree, router.device, router.ports_file, qos.marks.get(f"group {number}", ()), message)
        queue = qos.queue_of.get(number)
        if queue in priority_of_queue:
            priority = priority_of_queue[queue]
            message = f"class {number} is lossy and in queue {queue}, that of lossless priority {priority}"
            yield example(tree, router.device, router.ports_file, qos.marks.get(f"class {number}", ()), message)


QOS = ProofCheck(
    name="qos",
    claim=(
        "On every hop and NIC, a DSCP has the spec's class and queue; PFC, ECN marking and PFC watchdogs are set alike."
    ),
    kinds=KINDS,
    intent=NETWORK_INTENT | {"cable_m", "library_environments", "nccl_nodes"},
    applies=_applies,
    check=_run,
    spec_only="whether classes, queues, marks and times are those of the spec: switches are compared with each other",
    concerns=_has_lossless_class,
    uncheckable=without_cables,
)
