"""A generated cluster that is written down and then grows: nothing of what stands moves."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.generated.judge import Failed
from tests.generated.mended import promised
from tests.generated.ports import models
from tests.generated.specs import Case
from tests.plan.grown import allocate

from clusterwright.compare.plans import compare_plans
from clusterwright.finding import Finding, Severity
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import allocation_file, load_spec

Data = dict[str, Any]

_NEVER = {"CW260", "CW261", "CW262", "CW263", "CW267"}
"""What lint must not find in a file that has just been written, whatever the spec becomes in these ways."""


def grown(case: Case, folder: Path, found: tuple[Finding, ...]) -> tuple[Case, tuple[Finding, ...]]:
    """The clean case with its allocation file, changed as it has drawn, as far as lint lets it; with what lint finds.

    Raises Failed where something that stands moves, or where lint refuses the file.
    """
    path = case.write(folder)
    before = allocate(path)
    case = replace(case, allocated=allocation_file(path).read_text())
    if findings := [finding for finding in lint_path(path).findings if finding.code.startswith("CW26")]:
        raise Failed("growth", f"the file just written: {findings[0].code} {findings[0].message}")
    for kind, number in case.growth:
        if kind == "a rack left out" and case.grown:
            # One that comes and one that goes between two plans would be the same, by another name.
            before = allocate(case.write(folder))
            case = replace(case, allocated=allocation_file(path).read_text())
        later = copy.deepcopy(case)
        if not _change(later, kind, number, before):
            continue
        told_later, errors = _linted(later, folder)
        if errors and {error.code for error in errors} & _NEVER:
            worst = next(error for error in errors if error.code in _NEVER)
            raise Failed("growth", f"{kind}: {worst.code} {worst.message}")
        if errors and (better := promised(later, errors, folder)) is not None:
            later = better
            told_later, errors = _linted(later, folder)
        if errors:
            continue
        after = build_plan(load_spec(later.write(folder)))
        if moved := "; ".join(_moved(before, after)):
            raise Failed("growth", f"{kind}: {moved}")
        case, found = replace(later, grown=(*case.grown, kind)), told_later
    case.write(folder)
    return case, found


def _linted(case: Case, folder: Path) -> tuple[tuple[Finding, ...], list[Finding]]:
    findings = lint_path(case.write(folder)).findings
    return findings, [finding for finding in findings if finding.severity is Severity.ERROR]


def _moved(before: Plan, after: Plan) -> Iterator[str]:
    """What is elsewhere of what stands in both plans, but for upper ends that new switches take."""
    changes = compare_plans(before, after)
    new = {device.name for device in changes.devices.added}
    to_new = {(cable.a.device, cable.a.port) for cable in after.cables if cable.b.device in new}
    for each in changes.cables:
        yield from (
            f"{move.before.a.device} {move.before.a.port} from {move.before.b.device} {move.before.b.port} to "
            f"{move.after.b.device} {move.after.b.port}"
            for move in each.moved
            if move.after.b.device not in new or move.ends != "upper"
        )
        yield from (
            f"{cable.a.device} {cable.a.port} is pulled"
            for cable in each.removed
            if {cable.a.device, cable.b.device} <= after.by_name.keys() and (cable.a.device, cable.a.port) not in to_new
        )
    yield from (
        f"{address.device} {address.port} from {address.before} to {address.after}" for address in changes.addresses
    )
    kept, racks = {"asn", "loopback", "guid", "rack"}, {device.rack for device in after.devices}
    yield from (
        f"{each.field} of {each.device} from {each.before} to {each.after}"
        for each in changes.devices.changed
        if each.field in kept and (each.field != "rack" or each.before in racks)  # one left out holds nothing
    )
    yield from (f"{old} is now {now}" for old, now in changes.devices.renamed.items())


def _change(case: Case, kind: str, number: int, plan: Plan) -> bool:
    """Changes the case; False where it has nothing of the kind."""
    parts = [part for part in (case.cluster, case.base) if part is not None]
    groups = [group for part in reversed(parts) for group in part.get("nodes", ()) if "model" in group]
    group = groups[number % len(groups)]
    storage = next((group for group in groups if group["role"] == "storage"), None)
    if kind == "nodes" or (kind == "storage servers" and storage is not None):
        _count(parts, (storage if kind == "storage servers" and storage is not None else group)["name"], number % 5 + 1)
    elif kind == "switches":
        fabrics = [fabric["tiers"] for part in parts for fabric in part.get("fabrics", ())]
        able = [
            upper
            for tiers in fabrics
            for lower, upper in pairwise(tiers)
            if upper["count"] < lower["up"]["links"] * (lower["count"] if lower["per"] == upper["per"] else 1)
        ]
        if not able:
            return False
        able[number % len(able)]["count"] += 1
    elif kind == "a rack left out":
        return _left_out(parts, groups, number, plan)
    elif kind == "a group before" and storage is not None:
        _group_before(parts, storage)
    elif kind == "a model" and storage is not None:
        own = models()[storage["model"]].nic_groups
        alike = [
            name
            for name, model in models().items()
            if model.kind == models()[storage["model"]].kind
            and [(g.name, len(g.nics), g.speed_gbps) for g in model.nic_groups]
            == [(g.name, len(g.nics), g.speed_gbps) for g in own]
        ]
        storage["model"] = alike[number % len(alike)]
    else:
        return False
    return True


def _count(parts: list[Data], name: str, more: int) -> None:
    """Adds nodes to a group, where its count is written last."""
    own = next(g for part in parts for g in part.get("nodes", ()) if g["name"] == name and "count" in g)
    own["count"] += more


def _left_out(parts: list[Data], groups: list[Data], number: int, plan: Plan) -> bool:
    """Leaves out a rack of a group that keeps others."""
    racks = Counter((d.node_group, d.groups[0]) for d in plan.devices if d.kind == "node" and d.groups)
    able = [(name, rack) for (name, rack) in racks if sum(each == name for each, _ in racks) > 1]
    if not able:
        return False
    name, rack = able[number % len(able)]
    _count(parts, name, -racks[name, rack])
    next(group for group in groups if group["name"] == name)["left_out"] = [rack]
    return True


def _group_before(parts: list[Data], storage: Data) -> None:
    """Another group of storage in front of all others, attached and in a zone as the one that is there."""
    part = next(part for part in parts if any(group is storage for group in part.get("nodes", ())))
    levels = [{**level, "code": "q"} for level in storage["levels"]]
    first = {**storage, "name": "early", "prefix": "ea", "count": 1, "levels": levels}
    part["nodes"].insert(0, first)
    for fabric in part["fabrics"]:
        own = [{**each, "nodes": "early"} for each in fabric["attach"] if each.get("nodes") == "storage"]
        fabric["attach"][:0] = own
    for zone in part["zones"]:
        if "storage" in zone.get("nodes", ()):
            zone["nodes"].append("early")
