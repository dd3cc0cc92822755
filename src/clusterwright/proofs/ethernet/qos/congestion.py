"""Congestion on a class, hop by hop: ECN marks, their counters, and the PFC watchdog with its times.

The setting of most ports is expected of all ports of a fabric, across operating systems. Settings with a form of their
own in each system (a statement for counters, polling and action of the watchdog) are compared within that system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from clusterwright.facts.router import Mark, Marking, Port, PortQos, Router, Watchdog
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree

T = TypeVar("T")
_Alike = tuple[Router, PortQos, list[Port]]
_Fault = tuple[str, str]


class Usual(NamedTuple):
    """The settings of most ports of a fabric; ``counted`` and ``manner`` by the system's file."""

    marking: Marking
    counted: dict[str, tuple[int, ...] | None]
    manner: dict[str, str]
    detection_ms: int | None
    recovery_ms: int | None


def usual_treatment(fabric: RoutedFabric) -> Usual:
    """The settings of most cabled ports of a fabric on marks and the watchdog."""
    alike = list(_alike(fabric))
    watched = [(router, qos.watchdog, len(ports)) for router, qos, ports in alike if qos.watchdog is not None]
    files = dict.fromkeys(router.ports_file for router, _, _ in alike)
    counted, manner = {}, {}
    for file in files:
        votes = [(qos.counted, len(ports)) for router, qos, ports in alike if router.ports_file == file]
        counted[file] = _most(votes, None)
        manners = [(dog.manner, count) for router, dog, count in watched if router.ports_file == file]
        manner[file] = _most(manners, "")
    return Usual(
        marking=_most(((qos.marking, len(ports)) for _, qos, ports in alike), ()),
        counted=counted,
        manner=manner,
        detection_ms=_most(((dog.detection_ms, count) for _, dog, count in watched), None),
        recovery_ms=_most(((dog.recovery_ms, count) for _, dog, count in watched), None),
    )


def congestion_faults(tree: RenderedTree, fabric: RoutedFabric, usual: Usual) -> Iterator[Counterexample]:
    """Ports with other marks, counters or watchdogs than most; one counterexample for all ports of a line."""
    ports_by_fault: dict[tuple[str, str, Mark, str], list[Port]] = {}
    for router, qos, ports in _alike(fabric):
        places = dict(qos.places)
        for key, message in _faults(qos, usual, router.ports_file):
            mark = places.get(key, ports[0].qos_mark)
            ports_by_fault.setdefault((router.device, router.ports_file, mark, message), []).extend(ports)
    for (device, file, mark, message), ports in ports_by_fault.items():
        others = f" and {len(ports) - 1} other ports" if len(ports) > 1 else ""
        yield example(tree, device, file, mark, f"{ports[0].name} to {ports[0].peer}{others}: {message}")


def _alike(fabric: RoutedFabric) -> Iterator[_Alike]:
    """Cabled ports of each switch by their settings of classes; readers share one object for equal ports."""
    for router in fabric.routers:
        ports_by_setting: dict[int, list[Port]] = {}
        for port in router.ports:
            if port.peer:
                ports_by_setting.setdefault(id(port.qos), []).append(port)
        for ports in ports_by_setting.values():
            yield router, ports[0].qos, ports


def _most(votes: Iterable[tuple[T, int]], default: T) -> T:
    counter: Counter[T] = Counter()
    for value, count in votes:
        counter[value] += count
    if not counter:
        return default
    return max(counter.items(), key=lambda item: item[1])[0]


def _faults(qos: PortQos, usual: Usual, file: str) -> Iterator[_Fault]:
    marking, usual_marking = dict(qos.marking), dict(usual.marking)
    for queue in sorted(marking.keys() | usual_marking.keys()):
        marks, usual_marks = marking.get(queue, "nothing"), usual_marking.get(queue, "nothing")
        if marks != usual_marks:
            yield f"queue {queue}", f"queue {queue} marks {marks} here, {usual_marks} on most ports"
    counted = set(qos.counted or ())
    usually_counted = set(usual.counted[file] or ())
    for queue in sorted(counted ^ usually_counted):
        here, there = ("on", "off") if queue in counted else ("off", "on")
        yield f"queue {queue}", f"ECN counting of queue {queue} is {here} here, but {there} for most ports"
    if qos.watchdog is not None:
        yield from _watchdog_faults(qos.watchdog, usual, file)


def _watchdog_faults(watchdog: Watchdog, usual: Usual, file: str) -> Iterator[_Fault]:
    if watchdog.detection_ms != usual.detection_ms:
        here, there = milliseconds(watchdog.detection_ms), milliseconds(usual.detection_ms)
        yield "detection", f"the PFC watchdog finds a stuck queue after {here} here, {there} on most ports"
    if watchdog.recovery_ms != usual.recovery_ms:
        here, there = milliseconds(watchdog.recovery_ms), milliseconds(usual.recovery_ms)
        yield "recovery", f"the PFC watchdog restores it after {here} here, {there} on most ports"
    if watchdog.manner != usual.manner[file]:
        there = usual.manner[file]
        yield "manner", f"the PFC watchdog {watchdog.manner} here, {there} on most ports of this system"


def milliseconds(time_ms: int | None) -> str:
    """A time in words; None is a time missing in the text."""
    if time_ms is None:
        return "a time that is not stated"
    return f"{time_ms} ms"
