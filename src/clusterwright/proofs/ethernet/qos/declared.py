"""Declared classes: the settings of most switches and ports are those of the spec.

The other checks compare a switch with the rest of its fabric; only this one finds a setting missing on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.facts.router import DSCPS, STRICT, Marking, Port, Router, thresholds
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.declared import declared
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.ethernet.qos.congestion import Usual, milliseconds
from clusterwright.proofs.ethernet.qos.majority import Said, class_mark, priorities
from clusterwright.proofs.ethernet.qos.ports import share_faults, usual_shares
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.fabric import Fabric, TrafficClass
from clusterwright.spec.hardware.systems import system_of

_KBYTE = 1000
_ROUNDING_MS = 5  # EOS takes hundredths of a second
_Fault = tuple[str, str]  # the key of what says so among a switch's or a port's places, the message


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


def declared_faults(tree: RenderedTree, fabric: RoutedFabric, truth: Said, usual: Usual) -> Iterator[Counterexample]:
    """Differences between most of a fabric and the spec, each once, at a switch with them."""
    wanted = declared(tree, fabric)
    if wanted is None:
        return
    router = next((router for router in fabric.routers if router.qos is not None), None)
    if router is not None and router.qos is not None:
        for key, message in _map_faults(wanted, truth):
            dscp = key.removeprefix("dscp ")
            mark = router.qos.marks.get(key) or (
                class_mark(router.qos.marks, truth[0], int(dscp)) if dscp.isdigit() else ()
            )
            yield example(tree, router.device, router.ports_file, mark, message)
    first = _first_ports(fabric)
    for file, (router, port) in first.items():
        faults = list(_counting_faults(wanted, usual.counted[file]))
        if file == next(iter(first)):
            faults += [*_treatment_faults(wanted, usual), *_share_faults(wanted, fabric)]
        for key, message in faults:
            mark = dict(port.qos.places).get(key, port.qos_mark)
            yield example(tree, router.device, file, mark, f"{port.name} to {port.peer}, as most ports, {message}")


def _lossless(wanted: Fabric) -> frozenset[int]:
    return frozenset(entry.priority for entry in wanted.classes if entry.priority is not None)


def _first_ports(fabric: RoutedFabric) -> dict[str, tuple[Router, Port]]:
    """One cabled port for each operating system, by the path of its file."""
    first_ports: dict[str, tuple[Router, Port]] = {}
    for router in fabric.routers:
        port = next((port for port in router.ports if port.peer), None)
        if port is not None:
            first_ports.setdefault(router.ports_file, (router, port))
    return first_ports


def _map_faults(wanted: Fabric, truth: Said) -> Iterator[_Fault]:
    classes, queues, lossless = truth
    entries: dict[int, TrafficClass] = {}
    for traffic_class in wanted.classes:
        entries.update(dict.fromkeys(traffic_class.dscp, traffic_class))
    paused = _lossless(wanted)
    for dscp in range(DSCPS):
        entry = entries.get(dscp)
        if entry is not None and queues[dscp] != entry.queue:
            yield (
                f"dscp {dscp}",
                f"DSCP {dscp} is in queue {queues[dscp]}, the spec's class {entry.name} in {entry.queue}",
            )
        elif entry is not None and entry.priority is not None and classes[dscp] != entry.priority:
            message = f"DSCP {dscp} is traffic class {classes[dscp]}, the spec's class {entry.name} {entry.priority}"
            yield f"dscp {dscp}", message
        elif (entry is None or entry.priority is None) and classes[dscp] in paused:
            yield (
                f"dscp {dscp}",
                f"DSCP {dscp} is in lossless class {classes[dscp]}, to which the spec does not give it",
            )
    if lossless != paused:
        yield "priority", f"switches pause {priorities(lossless)}, the spec has {priorities(paused)} without loss"


def _counting_faults(wanted: Fabric, counted: tuple[int, ...] | None) -> Iterator[_Fault]:
    for entry in wanted.classes:
        if entry.ecn != "none" and counted is not None and entry.queue not in counted:
            yield (
                f"queue {entry.queue}",
                f"does not count ECN marks of queue {entry.queue}, the spec's class {entry.name} does",
            )


def _treatment_faults(wanted: Fabric, usual: Usual) -> Iterator[_Fault]:
    marking = dict(usual.marking)
    asked = dict(_marking(wanted))
    for queue in sorted(marking.keys() | asked.keys()):
        if marking.get(queue) != asked.get(queue):
            here, there = marking.get(queue, "nothing"), asked.get(queue, "nothing")
            yield f"queue {queue}", f"marks {here} in queue {queue}, {there} in the spec"
    for key, what, time_ms, asked_ms in (
        ("detection", "finds a stuck queue after", usual.detection_ms, wanted.pfc_watchdog.detection_ms),
        ("recovery", "restores it after", usual.recovery_ms, wanted.pfc_watchdog.recovery_ms),
    ):
        if time_ms is None or abs(time_ms - asked_ms) > _ROUNDING_MS:
            yield key, f"{what} {milliseconds(time_ms)}, by the spec {asked_ms} ms"


def _marking(wanted: Fabric) -> Marking:
    return tuple(
        (entry.queue, thresholds(m.min_kbytes * _KBYTE, m.max_kbytes * _KBYTE, m.percent))
        for entry in wanted.classes
        if (m := entry.marking) is not None
    )


def _share_faults(wanted: Fabric, fabric: RoutedFabric) -> Iterator[_Fault]:
    asked = tuple(sorted((e.queue, STRICT if e.strict else float(e.weight)) for e in wanted.classes))
    for queue, message in share_faults(usual_shares(fabric), asked, "the spec"):
        yield f"queue {queue}", message
