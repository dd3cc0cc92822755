"""The inventory as CSV (RFC 4180): a file for each of its lists, cables in the order of laying."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from clusterwright.lists.interfaces import InterfaceProperties
from clusterwright.lists.materials import Material
from clusterwright.lists.records import text_of
from clusterwright.lists.table import TableCells, csv_row, csv_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clusterwright.lists.records import Inventory
    from clusterwright.plan.model import Cable, Device

_DEVICE_COLUMNS = (
    "name", "role", "model", "manufacturer", "part", "height_units", "power_w", "weight_kg", "rack",
    "unit", "pod", "fabric", "plane", "rail", "gpus", "rank", "asn",
    "loopback", "management", "guid", "zone", "image", "network_os", "state", "serial", "asset_tag", "planned_name",
)  # fmt: skip
_CABLE_COLUMNS = (
    "a_rack", "a_unit", "a_device", "a_port", "b_rack", "b_unit", "b_device", "b_port",
    "speed_gbps", "medium", "length_m", "fabric", "label", "in_service", "number",
)  # fmt: skip
_ADDRESS_COLUMNS = ("address", "prefix_length", "device", "port", "side", "fabric")
_SUBNET_COLUMNS = ("prefix", "kind", "fabric", "device", "gateway")
_ASN_COLUMNS = ("asn", "fabric", "role", "switches")
_RACK_COLUMNS = ("name", "row", "position", "pod", "height_units", "used_units", "devices", "power_w", "weight_kg")


def csv_lines(inventory: Inventory) -> Mapping[str, Iterator[str]]:
    """File name to lines: the files of :func:`csv_files`, line by line, and the interfaces."""
    return {
        "devices.csv": csv_table(_DEVICE_COLUMNS, _rows(_DEVICE_COLUMNS, inventory.devices())),
        "cables.csv": csv_table(_CABLE_COLUMNS, _cable_rows(inventory)),
        "addresses.csv": _address_lines(inventory),
        "subnets.csv": csv_table(_SUBNET_COLUMNS, _rows(_SUBNET_COLUMNS, inventory.subnets())),
        "racks.csv": csv_table(_RACK_COLUMNS, _rows(_RACK_COLUMNS, inventory.racks())),
        "asns.csv": csv_table(_ASN_COLUMNS, _rows(_ASN_COLUMNS, inventory.asns())),
        "materials.csv": csv_table(Material._fields, inventory.materials()),
        "interfaces.csv": _interface_lines(inventory),
    }


def csv_files(inventory: Inventory) -> Mapping[str, str]:
    """File name to text: ``devices.csv``, ``cables.csv`` (by the lower end's rack, unit, port), ``addresses.csv``."""
    lines = csv_lines(inventory)
    return {name: "".join(lines[name]) for name in ("devices.csv", "cables.csv", "addresses.csv")}


def natural_key(text: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key with numbers in numeric order: ``eth1/2`` before ``eth1/10``."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", text) if part)


def _cable_rows(inventory: Inventory) -> Iterable[Sequence[Any]]:
    by_name = inventory.plan.by_name
    keys: dict[str, tuple[tuple[int, int | str], ...]] = {}

    def natural(text: str) -> tuple[tuple[int, int | str], ...]:
        if text not in keys:
            keys[text] = natural_key(text)
        return keys[text]

    def laying_order(cable: Cable) -> tuple[Any, ...]:
        lower = by_name[cable.a.device]
        return (natural(lower.rack), lower.unit, natural(lower.name), natural(cable.a.port))

    for cable in sorted(inventory.cable_list, key=laying_order):
        a, b = by_name[cable.a.device], by_name[cable.b.device]
        yield (
            *_place(a), a.name, cable.a.port, *_place(b), b.name, cable.b.port,
            cable.speed_gbps, cable.medium, cable.length_m, cable.fabric,
            f"{a.name}:{cable.a.port} / {b.name}:{cable.b.port}", cable.in_service,
            inventory.cable_number(cable),
        )  # fmt: skip


def _interface_lines(inventory: Inventory) -> Iterator[str]:
    """The interfaces, those of a device at a time."""
    yield csv_row(["device", "name", "guid", "mac", *InterfaceProperties._fields])
    cells = TableCells()
    ends_of_lines: dict[InterfaceProperties, str] = {}
    for device, listed in inventory.listed_interfaces():
        begin, lines = cells[device.name], []
        for name, guid, mac, properties in listed:
            if properties not in ends_of_lines:
                ends_of_lines[properties] = csv_row(properties)
            lines.append(f"{begin},{cells[name]},{guid or ''},{mac or ''},{ends_of_lines[properties]}")
        yield "".join(lines)


def _address_lines(inventory: Inventory) -> Iterator[str]:
    yield csv_row(_ADDRESS_COLUMNS)
    cells = TableCells()
    for device, port, side, fabric, version, address, length in inventory.own_addresses():
        yield (f"{text_of(address, version)},{length},{cells[device]},{cells[port]},{cells[side]},{cells[fabric]}\r\n")


def _place(device: Device) -> tuple[str, float | None]:
    return device.rack, device.unit or None


def _rows(columns: Sequence[str], records: Iterable[Mapping[str, Any]]) -> Iterator[Sequence[Any]]:
    return ([record[name] for name in columns] for record in records)
