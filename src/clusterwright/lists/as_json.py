"""The inventory as JSON, one record a line for comparisons line by line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clusterwright.lists.records import short_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.lists.interfaces import InterfaceProperties
    from clusterwright.lists.records import Inventory

VERSION = 1  # of the document's form: a key that disappears or changes its meaning makes it 2
_encode = json.JSONEncoder(separators=(", ", ": "), check_circular=False).encode


def json_lines(inventory: Inventory, totals: Mapping[str, float]) -> Iterator[str]:
    """The document of ``inventory/schema/inventory.schema.json``, piece by piece.

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
    yield from _section("materials", (material._asdict() for material in inventory.materials()))
    yield '"totals": {\n'
    totals_lines = [f"{_encode(name)}: {_encode(short_number(value))}" for name, value in totals.items()]
    yield ",\n".join(totals_lines)
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
    """An interface a line, the lines of a device at a time."""
    names: dict[str, str] = {}
    ends_of_lines: dict[InterfaceProperties, str] = {}
    for device, listed in inventory.listed_interfaces():
        begin = f'{{"device": {_encode(device.name)}, "name": '
        for name, guid, mac, properties in listed:
            if properties not in ends_of_lines:
                ends_of_lines[properties] = _encode(properties._asdict())[1:]
            if name not in names:
                names[name] = _encode(name)
            fields_of_port = '"guid": null' if guid is None else f'"guid": "{guid}"'
            fields_of_port += ', "mac": null' if mac is None else f', "mac": "{mac}"'
            yield f"{begin}{names[name]}, {fields_of_port}, {ends_of_lines[properties]}"
