"""The technicians' work order: every cable to pull, to re-plug and to lay, in walking order of the racks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from clusterwright.compare.changes import CableChanges, CableMove
from clusterwright.lists.as_csv import natural_key
from clusterwright.lists.table import csv_table
from clusterwright.plan.model import Cable, Interface, Plan

COLUMNS = (
    "step", "action", "end", "rack", "unit", "device", "port", "to_rack", "to_unit", "to_device", "to_port",
    "other_rack", "other_device", "other_port", "fabric", "speed_gbps", "medium", "length_m", "instruction",
)  # fmt: skip
REMOVE, REPLACE, MOVE, ADD = "remove", "replace", "move", "add"
_ORDER = (REMOVE, REPLACE, MOVE, ADD)


@dataclass(frozen=True, slots=True)
class WorkOrderLine:
    """A step for the device or cable at ``place``: remove it, or move it to ``target``; ``other`` is the cable's other
    end.

    A new cable goes from ``place`` to ``other``. Names are those on labels at that moment: the first plan's for
    existing equipment, the second's for new.
    """

    action: str
    end: str
    plan: Plan
    place: Interface
    target_plan: Plan
    target: Interface | None
    other: Interface
    cable: Cable


def work_order(before: Plan, after: Plan, changes: Iterable[CableChanges]) -> tuple[WorkOrderLine, ...]:
    """Removals first, then replacements, moves, additions; each by rack, unit, device and port of the place."""
    jobs = chain.from_iterable(_jobs(before, after, fabric) for fabric in changes)
    return tuple(sorted(jobs, key=_floor_order))


def work_order_csv(jobs: Iterable[WorkOrderLine]) -> str:
    """The work order as CSV (RFC 4180), one line a job."""
    return "".join(csv_table(COLUMNS, _rows(jobs)))


def _rows(jobs: Iterable[WorkOrderLine]) -> Iterator[tuple[object, ...]]:
    for step, job in enumerate(jobs, 1):
        target = _place(job.target_plan, job.target) if job.target else ("", "", "", "")
        rack, _, device, port = _place(job.target_plan if job.action == ADD else job.plan, job.other)
        cable = job.cable
        row = (step, job.action, job.end, *_place(job.plan, job.place), *target, rack, device, port)
        length = f"{cable.length_m:g}"
        yield (*row, cable.fabric, cable.speed_gbps, cable.medium, length, instruction(job))


def instruction(job: WorkOrderLine) -> str:
    """The job in words."""
    place, other = _name(job.place), _name(job.other)
    if job.action == MOVE and job.target is not None:
        return f"move the end at {place} to {_name(job.target)}; the other end stays at {other}"
    if job.action == REPLACE:
        return f"replace the cable between {place} and {other} by {_kind(job.cable)}"
    if job.action == REMOVE:
        return f"remove the cable between {place} and {other}"
    return f"lay {_kind(job.cable)} from {place} to {other}"


def _kind(cable: Cable) -> str:
    return f"{cable.length_m:g} m {cable.medium} ({cable.speed_gbps} Gb/s)"


def _jobs(before: Plan, after: Plan, fabric: CableChanges) -> Iterator[WorkOrderLine]:
    for cable in fabric.removed:
        yield WorkOrderLine(
            action=REMOVE,
            end="",
            plan=before,
            place=cable.a,
            target_plan=after,
            target=None,
            other=cable.b,
            cable=cable,
        )
    for move in fabric.replaced:
        yield WorkOrderLine(
            action=REPLACE,
            end="",
            plan=after,
            place=move.after.a,
            target_plan=after,
            target=None,
            other=move.after.b,
            cable=move.after,
        )
    for move in fabric.moved:
        yield from _ends_to_move(before, after, move)
    for cable in fabric.added:
        yield WorkOrderLine(
            action=ADD, end="", plan=after, place=cable.a, target_plan=after, target=None, other=cable.b, cable=cable
        )


def _ends_to_move(before: Plan, after: Plan, move: CableMove) -> Iterator[WorkOrderLine]:
    old, new = move.before, move.after
    if move.ends in ("lower", "both"):
        yield WorkOrderLine(
            action=MOVE, end="lower", plan=before, place=old.a, target_plan=after, target=new.a, other=old.b, cable=new
        )
    if move.ends in ("upper", "both"):
        yield WorkOrderLine(
            action=MOVE, end="upper", plan=before, place=old.b, target_plan=after, target=new.b, other=old.a, cable=new
        )


def _name(interface: Interface) -> str:
    return f"{interface.device} {interface.port}"


def _place(plan: Plan, interface: Interface) -> tuple[str, str, str, str]:
    device = plan.by_name[interface.device]
    return device.rack, f"{device.unit:g}" if device.unit else "", device.name, interface.port


def _floor_order(job: WorkOrderLine) -> tuple[object, ...]:
    device = job.plan.by_name[job.place.device]
    rack, name, port = (natural_key(text) for text in (device.rack, device.name, job.place.port))
    return _ORDER.index(job.action), rack, device.unit, name, port
