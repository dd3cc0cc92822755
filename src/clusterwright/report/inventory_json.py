"""The inventory as JSON: one record a line, so that two inventories can be compared line by line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clusterwright.report.records import short_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.report.records import Inventory

_encode = json.JSONEncoder(separators=(", ", ": "), check_circular=False).encode


def json_lines(inventory: Inventory, totals: Mapping[str, float]) -> Iterator[str]:
    """The document, piece by piece, as ``inventory/schema/inventory.schema.json`` describes it.

    ``totals`` are the figures of the whole plan by dotted name.
    """
    yield f'{{\n"cluster": {_encode(inventory.plan.name)},\n'
    yield from _section("devices", inventory.devices())
    yield from _section("cables", inventory.cables())
    yield from _section("addresses", inventory.addresses())
    yield from _section("subnets", inventory.subnets())
    yield '"totals": {\n'
    yield ",\n".join(f"{_encode(name)}: {_encode(short_number(value))}" for name, value in totals.items())
    yield "\n}\n}\n"


def _section(name: str, records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield f"{_encode(name)}: ["
    between = "\n"
    for record in records:
        yield between + _encode(record)
        between = ",\n"
    yield "\n],\n"
