"""Differences between plan and fabric as text, JSON and CSV."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from clusterwright.lists.table import csv_table
from clusterwright.observe.difference import ObservedDifference, Place

VERSION = 1


def render_text(differences: Sequence[ObservedDifference]) -> str:
    """A line for each difference, in walking order, behind its place; then their number."""
    lines = [f"{_where(item.stop)}: {item.message}\n" for item in differences]
    if not differences:
        return "no differences\n"
    moves = sum(item.target is not None for item in differences)
    count = len(differences)
    lines.append(f"{count} difference{'s' * (count != 1)}, {moves} cable{'s' * (moves != 1)} to move\n")
    return "".join(lines)


def render_json(differences: Sequence[ObservedDifference], cluster: str, fabric: str) -> str:
    """``{"version", "cluster", "fabric", "differences", "summary"}``; the summary counts by kind.

    A difference has kind, message and place and, for a cable, its unmoved end ``cable`` and the port ``target`` to move
    it to, each with rack, unit, device and port.
    """
    report = {
        "version": VERSION,
        "cluster": cluster,
        "fabric": fabric,
        "differences": [
            {
                "kind": item.kind.value,
                "message": item.message,
                "place": _record(item.place),
                "cable": _record(item.cable),
                "target": _record(item.target),
            }
            for item in differences
        ],
        "summary": dict(sorted(Counter(item.kind.value for item in differences).items())),
    }
    return json.dumps(report, indent=2) + "\n"


def render_csv(differences: Sequence[ObservedDifference]) -> str:
    """CSV (RFC 4180) with a row for each difference, in walking order."""
    keys = ("rack", "unit", "device", "port")
    columns = ["kind"]
    for prefix in ("", "cable_", "target_"):
        columns += [f"{prefix}{key}" for key in keys]
    rows = []
    for item in differences:
        cells: list[Any] = [item.kind.value]
        for place in (item.place, item.cable, item.target):
            record = _record(place) or {}
            cells += [record.get(key) for key in keys]
        rows.append([*cells, item.message])
    return "".join(csv_table([*columns, "message"], rows))


def _where(place: Place) -> str:
    unit = f" U{place.unit:g}" if place.unit else ""
    return f"{place.rack or '-'}{unit} {place}"


def _record(place: Place | None) -> dict[str, Any] | None:
    if place is None:
        return None
    unit = int(place.unit) if float(place.unit).is_integer() else place.unit
    return {"rack": place.rack or None, "unit": unit or None, "device": place.device, "port": place.port or None}
