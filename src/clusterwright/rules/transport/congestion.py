"""CW441 to CW443: marking thresholds above the buffer, notifications among other traffic, chips with unknown queue
names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from clusterwright.finding import Severity
from clusterwright.intent.traffic_classes import default_class
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric, TrafficClass
from clusterwright.spec.hardware.models import Buffer, HardwareModel
from clusterwright.spec.hardware.systems import system_of

_KBYTE = 1000
# Of adapters' congestion notifications, by default (NVIDIA, "Explicit Congestion Notification": cnp_dscp).
NOTIFICATION_DSCP = 48


@rule("CW441", Severity.ERROR)
def marks_beyond_the_buffer(subject: Subject) -> Iterator[Problem]:
    """Thresholds of `marking` larger than the packet buffer of a switch of the fabric."""
    for fabric in subject.spec.fabrics:
        if fabric.technology == "infiniband":
            continue
        smallest = _smallest_buffer(fabric, subject.spec.catalogue)
        for item in fabric.classes:
            if smallest is None or item.marking is None:
                continue
            model, size_bytes = smallest
            if item.marking.max_kbytes * _KBYTE < size_bytes:
                continue
            yield Problem(
                (*item.path, "marking", "max_kbytes"),
                f"{item.name} marks fully from {item.marking.max_kbytes:,} kB, and all queues of {model} share"
                f" {size_bytes // _KBYTE:,} kB: no queue gets there.",
                "Use thresholds that one port's queue reaches before it pauses, such as 150 and 1,500 kB.",
            )


def _smallest_buffer(fabric: Fabric, catalogue: Mapping[str, HardwareModel]) -> tuple[str, int] | None:
    """The model with the smallest shared buffer in a fabric, and its bytes; None without a known buffer."""
    buffers: list[tuple[int, str]] = []
    for tier in fabric.tiers:
        buffer = _buffer_of(tier.model, catalogue)
        if buffer is not None:
            buffers.append((buffer.pool_cells * buffer.cell_bytes, tier.model.name))
    if not buffers:
        return None
    size_bytes, model = min(buffers)
    return model, size_bytes


def _buffer_of(model: HardwareModel, catalogue: Mapping[str, HardwareModel]) -> Buffer | None:
    """The packet buffer of a model, or of another one with the same chip."""
    if model.buffer is not None or model.asic is None:
        return model.buffer
    alike = (other.buffer for other in catalogue.values() if other.asic == model.asic)
    return next((buffer for buffer in alike if buffer is not None), None)


@rule("CW442", Severity.ERROR)
def notifications_among_others(subject: Subject) -> Iterator[Problem]:
    """Fabrics marking a lossless class, with congestion notifications in it or in the default class."""
    for fabric in subject.spec.fabrics:
        marking_class = _first_marking_lossless_class(fabric)
        if fabric.technology == "infiniband" or marking_class is None:
            continue
        owner = _class_of(fabric, NOTIFICATION_DSCP)
        if owner is None:
            yield _misplaced(marking_class, "ecn", "no class takes them, so they share one with all other traffic")
        elif owner.priority is not None:
            fault = f"{owner.name} is paused, and they wait behind the data that they slow down"
            yield _misplaced(owner, "dscp", fault)
        elif not _is_apart(owner, fabric):
            yield _misplaced(owner, "dscp", f"{owner.name} takes all other traffic too, which crowds them out")


def _first_marking_lossless_class(fabric: Fabric) -> TrafficClass | None:
    for item in fabric.classes:
        if item.ecn == "mark" and item.priority is not None:
            return item
    return None


def _class_of(fabric: Fabric, dscp: int) -> TrafficClass | None:
    for item in fabric.classes:
        if dscp in item.dscp:
            return item
    return None


def _is_apart(owner: TrafficClass, fabric: Fabric) -> bool:
    """True for a class of the DSCPs in its list alone, without the default ones."""
    return owner is not default_class(fabric) and 0 not in owner.dscp


def _misplaced(item: TrafficClass, key: str, fault: str) -> Problem:
    return Problem(
        (*item.path, key),
        f"Switches mark, and adapters answer with congestion notifications of DSCP {NOTIFICATION_DSCP}: {fault}.",
        f"Give DSCP {NOTIFICATION_DSCP} a lossy class of its own with `strict: true`.",
    )


@rule("CW443", Severity.ERROR)
def queues_without_words(subject: Subject) -> Iterator[Problem]:
    """Tiers with classes on a chip with unknown names of transmit queues."""
    for fabric in subject.spec.fabrics:
        if fabric.technology == "infiniband" or not fabric.classes:
            continue
        for tier in fabric.tiers:
            system = system_of(tier.model)
            if system is None or not system.queues or system.queues_on(tier.model.asic) is not None:
                continue
            chips = ", ".join(chain.from_iterable(words.asics for words in system.queues))
            if tier.model.asic is None:
                chip = "a chip that the catalogue does not name"
                hint = f"Name the chip of {tier.model.name} by `asic` in its hardware file: {chips}."
            else:
                chip, hint = tier.model.asic, f"Take a model with one of {chips}."
            yield Problem(
                (*tier.path, "model"),
                f"{tier.model.name} has {chip}, and no source documents the queue command of {system.title} there.",
                hint,
            )
