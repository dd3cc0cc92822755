"""Declared classes: the settings of most switches and ports are those of the spec.

The other checks compare a switch with the rest of its fabric; only this one finds a setting missing on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.facts.router import DSCPS, STRICT, Port, Router, thresholds
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.declared import declared
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.ethernet.qos.congestion import Usual, milliseconds
from clusterwright.proofs.ethernet.qos.majority import ClassSettings, class_mark, priorities
from clusterwright.proofs.ethernet.qos.ports import share_faults, usual_shares
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.fabric import Fabric, TrafficClass
from clusterwright.spec.hardware.systems import system_of

_KBYTE = 1000
_ROUNDING_MS = 5  # EOS takes hundredths of a second
_Fault = tuple[str, str]  # the key among the places of a switch or port, and the message


def is_lossless(tree: RenderedTree, fabric: RoutedFabric) -> bool:
    """True when a switch of the fabric has a lossless priority, or the spec a lossless class."""
    wanted = declared(tree, fabric)
    return fabric.is_lossless or (wanted is not None and bool(_lossless(wanted)))


def assumed_words(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[str]:
    """Notes on assumed commands for queues of the spec's models, not confirmed by a source."""
    wanted = declared(tree, fabric)
    if wanted is not None:
        for tier in wanted.tiers:
            system = system_of(tier.model)
            words = system.queues_on(tier.model.asic) if system is not None else None
            if system is not None and words is not None and words.assumed:
                yield (
                    f"No device ran {system.title}'s words for queues of {tier.model.name}: assumed is {words.assumed}."
                )


def declared_faults(
    tree: RenderedTree, fabric: RoutedFabric, settings: ClassSettings, usual: Usual
) -> Iterator[Counterexample]:
    """Differences between most of a fabric and the spec, each once, at a switch with them."""
    wanted = declared(tree, fabric)
    if wanted is None:
        return
    yield from _map_counterexamples(tree, fabric, wanted, settings)
    first_ports = _first_ports(fabric)
    for index, (file, (router, port)) in enumerate(first_ports.items()):
        faults = list(_counting_faults(wanted, usual.counted[file]))
        if index == 0:
            faults += [*_treatment_faults(wanted, usual), *_share_faults(wanted, fabric)]
        for key, message in faults:
            mark = dict(port.qos.places).get(key, port.qos_mark)
            yield example(tree, router.device, file, mark, f"{port.name} to {port.peer}, as most ports, {message}")


def _map_counterexamples(
    tree: RenderedTree, fabric: RoutedFabric, wanted: Fabric, settings: ClassSettings
) -> Iterator[Counterexample]:
    """Differences between the map of DSCPs of most switches and the spec, at the first switch with a map."""
    for router in fabric.routers:
        if router.qos is None:
            continue
        marks = router.qos.marks
        for key, message in _map_faults(wanted, settings):
            mark = marks.get(key, ())
            dscp = key.removeprefix("dscp ")
            if not mark and dscp.isdigit():
                mark = class_mark(marks, settings.classes, int(dscp))
            yield example(tree, router.device, router.ports_file, mark, message)
        return


def _lossless(wanted: Fabric) -> frozenset[int]:
    return frozenset(entry.priority for entry in wanted.classes if entry.priority is not None)


def _first_ports(fabric: RoutedFabric) -> dict[str, tuple[Router, Port]]:
    """One cabled port for each operating system, by the path of its file."""
    first_ports: dict[str, tuple[Router, Port]] = {}
    for router in fabric.routers:
        if router.ports_file in first_ports:
            continue
        cabled = [port for port in router.ports if port.peer]
        if cabled:
            first_ports[router.ports_file] = router, cabled[0]
    return first_ports


def _map_faults(wanted: Fabric, settings: ClassSettings) -> Iterator[_Fault]:
    class_of_dscp: dict[int, TrafficClass] = {}
    for traffic_class in wanted.classes:
        class_of_dscp.update(dict.fromkeys(traffic_class.dscp, traffic_class))
    lossless = _lossless(wanted)
    for dscp in range(DSCPS):
        number, queue = settings.classes[dscp], settings.queues[dscp]
        planned = class_of_dscp.get(dscp)
        priority = planned.priority if planned is not None else None
        if planned is not None and queue != planned.queue:
            message = f"DSCP {dscp} is in queue {queue}, the spec's class {planned.name} in {planned.queue}"
            yield f"dscp {dscp}", message
        elif planned is not None and priority is not None and number != priority:
            message = f"DSCP {dscp} is traffic class {number}, the spec's class {planned.name} {priority}"
            yield f"dscp {dscp}", message
        elif priority is None and number in lossless:
            message = f"DSCP {dscp} is in lossless class {number}, to which the spec does not give it"
            yield f"dscp {dscp}", message
    if settings.lossless != lossless:
        paused = priorities(settings.lossless)
        yield "priority", f"switches pause {paused}, the spec has {priorities(lossless)} without loss"


def _counting_faults(wanted: Fabric, counted: tuple[int, ...] | None) -> Iterator[_Fault]:
    for entry in wanted.classes:
        if entry.ecn != "none" and counted is not None and entry.queue not in counted:
            message = f"does not count ECN marks of queue {entry.queue}, the spec's class {entry.name} does"
            yield f"queue {entry.queue}", message


def _treatment_faults(wanted: Fabric, usual: Usual) -> Iterator[_Fault]:
    marking = dict(usual.marking)
    planned_marking = _marking(wanted)
    for queue in sorted(marking.keys() | planned_marking.keys()):
        marks, planned_marks = marking.get(queue, "nothing"), planned_marking.get(queue, "nothing")
        if marks != planned_marks:
            yield f"queue {queue}", f"marks {marks} in queue {queue}, {planned_marks} in the spec"
    planned_ms = wanted.pfc_watchdog.detection_ms
    if _is_other_time(usual.detection_ms, planned_ms):
        message = f"finds a stuck queue after {milliseconds(usual.detection_ms)}, by the spec {planned_ms} ms"
        yield "detection", message
    planned_ms = wanted.pfc_watchdog.recovery_ms
    if _is_other_time(usual.recovery_ms, planned_ms):
        yield "recovery", f"restores it after {milliseconds(usual.recovery_ms)}, by the spec {planned_ms} ms"


def _is_other_time(time_ms: int | None, planned_ms: int) -> bool:
    return time_ms is None or abs(time_ms - planned_ms) > _ROUNDING_MS


def _marking(wanted: Fabric) -> dict[int, str]:
    """The planned thresholds by queue."""
    thresholds_by_queue = {}
    for entry in wanted.classes:
        marking = entry.marking
        if marking is not None:
            low_bytes, high_bytes = marking.min_kbytes * _KBYTE, marking.max_kbytes * _KBYTE
            thresholds_by_queue[entry.queue] = thresholds(low_bytes, high_bytes, marking.percent)
    return thresholds_by_queue


def _share_faults(wanted: Fabric, fabric: RoutedFabric) -> Iterator[_Fault]:
    planned_shares = sorted((entry.queue, _planned_share(entry)) for entry in wanted.classes)
    for queue, message in share_faults(usual_shares(fabric), tuple(planned_shares), "the spec"):
        yield f"queue {queue}", message


def _planned_share(entry: TrafficClass) -> float:
    return STRICT if entry.strict else float(entry.weight)
