"""A cluster that stood and what became of it: both plans, and what moved between them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from clusterwright.compare.changes import PlanChanges
from clusterwright.compare.plans import compare_plans
from clusterwright.plan.allocation.record import record
from clusterwright.plan.allocation.writing import allocation_text
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import allocation_file, load_spec
from clusterwright.spec.text.extends import read_spec_document

INVENTORY = Path(__file__).parents[2] / "inventory"
DAY = date(2026, 1, 1)
NUMBERS = frozenset({"asn", "loopback", "guid", "rack", "unit"})
Data = dict[str, Any]


@dataclass(frozen=True)
class Grown:
    """Plans before and after; ``unaided`` is what becomes of the same spec without its allocation file."""

    before: Plan
    after: Plan
    unaided: Plan

    @property
    def changes(self) -> PlanChanges:
        return compare_plans(self.before, self.after)

    def moved(self) -> dict[str, int]:
        return moved(self.before, self.after)

    def moved_unaided(self) -> dict[str, int]:
        return moved(self.before, self.unaided)


def moved(before: Plan, after: Plan) -> dict[str, int]:
    """How many cables, addresses and numbers of what stands in both plans are others, and how many names went."""
    changes = compare_plans(before, after)
    names = after.by_name.keys()
    pulled = (cable for each in changes.cables for cable in each.removed)
    return {
        "cables": sum(len(cable.moved) for cable in changes.cables)
        + sum({cable.a.device, cable.b.device} <= names for cable in pulled),
        "addresses": len(changes.addresses),
        "numbers": sum(each.field in NUMBERS for each in changes.devices.changed),
        "names": len(changes.devices.renamed),
    }


NOTHING = {"cables": 0, "addresses": 0, "numbers": 0, "names": 0}


def data_of(name: str) -> Data:
    """A spec of the inventory, with all that it extends."""
    data: Data = read_spec_document(INVENTORY / f"{name}.yaml").data
    copied: Data = json.loads(json.dumps(data))
    return copied


def write(data: Data, path: Path) -> Path:
    path.write_text(json.dumps(data, indent=1))  # JSON is a part of YAML, and has no anchors
    return path


def allocate(path: Path, day: date = DAY) -> Plan:
    """Writes the allocation file of a spec; gives its plan."""
    plan = build_plan(load_spec(path))
    allocation_file(path).write_text(allocation_text(plan.spec, record(plan, day)))
    return plan


def grow(folder: Path, data: Data, change: Callable[[Data], None]) -> Grown:
    """The spec allocated as it is, then changed."""
    path = write(data, folder / "cluster.yaml")
    before = allocate(path)
    change(data)
    write(data, path)
    after = build_plan(load_spec(path))
    unaided = build_plan(load_spec(write(data, folder / "unaided.yaml")))
    return Grown(before, after, unaided)


def item(items: list[Data], name: str) -> Data:
    """The item of a list with this name or role."""
    return next(each for each in items if name in (each.get("name"), each.get("role")))
