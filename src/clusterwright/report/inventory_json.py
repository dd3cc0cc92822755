"""The inventory as JSON: one record a line, so that two inventories can be compared line by line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clusterwright.report.records import short_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.report.records import Inventory

VERSION = 1  # of the document's form: a key that is taken away or means something else makes it 2
_encode = json.JSONEncoder(separators=(", ", ": "), check_circular=False).encode


def json_lines(inventory: Inventory, totals: Mapping[str, float]) -> Iterator[str]:
    """The document, piece by piece, as ``inventory/schema/inventory.schema.json`` describes it.

    ``totals`` are the figures of the whole plan by dotted name.
    """
    yield f'{{\n"version": {VERSION},\n"cluster": {_encode(inventory.plan.name)},\n'
    yield from _section("devices", inventory.devices())
    yield from _section("cables", inventory.cables())
    yield from _section("addresses", inventory.addresses())
    yield from _section("subnets", inventory.subnets())
    yield from _lines("interfaces", _interface_lines(inventory))
    yield from _section("racks", inventory.racks())
    yield from _section("vrfs", inventory.vrfs())
    yield from _section("asns", inventory.asns())
    yield from _section("materials", (each._asdict() for each in inventory.materials()))
    yield '"totals": {\n'
    yield ",\n".join(f"{_encode(name)}: {_encode(short_number(value))}" for name, value in totals.items())
    yield "\n}\n}\n"


def _section(name: str, records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    return _lines(name, map(_encode, records))


def _lines(name: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"{_encode(name)}: ["
    between = "\n"
    for line in lines:
        yield between + line
        between = ",\n"
    yield "\n],\n"


def _interface_lines(inventory: Inventory) -> Iterator[str]:
    """An interface a line. There are 400,000 at full size, all but their first four fields the same in many."""
    names: dict[str | None, str] = {}
    tails: dict[tuple[Any, ...], str] = {}
    for each in inventory.interfaces():
        rest = each[4:]
        if rest not in tails:
            tails[rest] = _encode(each._asdict()).partition('"kind": ')[2]
        for name in each[:2]:
            if name not in names:
                names[name] = _encode(name)
        guid = "null" if each.guid is None else f'"{each.guid}"'
        mac = "null" if each.mac is None else f'"{each.mac}"'
        device, port = names[each.device], names[each.name]
        yield f'{{"device": {device}, "name": {port}, "guid": {guid}, "mac": {mac}, "kind": {tails[rest]}'
