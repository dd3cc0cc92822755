"""The inventory as CSV (RFC 4180): devices, cables in the order in which the floor lays them, addresses."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clusterwright.plan.model import Cable, Device
    from clusterwright.report.records import Inventory

# A cell that begins with one of these is run as a formula by spreadsheets (OWASP: CSV injection).
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

_DEVICE_COLUMNS = (
    "name", "role", "model", "rack", "unit", "pod", "fabric", "plane", "rail", "gpus", "rank", "asn",
    "loopback", "management", "guid", "zone", "image", "network_os", "state",
)  # fmt: skip
_CABLE_COLUMNS = (
    "a_rack", "a_unit", "a_device", "a_port", "b_rack", "b_unit", "b_device", "b_port",
    "speed_gbps", "medium", "length_m", "fabric", "label", "in_service",
)  # fmt: skip
_ADDRESS_COLUMNS = ("address", "prefix_length", "device", "port", "side", "fabric")


def csv_files(inventory: Inventory) -> Mapping[str, str]:
    """File name to text: ``devices.csv``, ``cables.csv`` (by the lower end's rack, unit, port), ``addresses.csv``."""
    return {
        "devices.csv": _table(_DEVICE_COLUMNS, ([r[name] for name in _DEVICE_COLUMNS] for r in inventory.devices())),
        "cables.csv": _table(_CABLE_COLUMNS, _cable_rows(inventory)),
        "addresses.csv": _table(
            _ADDRESS_COLUMNS, ([r[name] for name in _ADDRESS_COLUMNS] for r in inventory.addresses())
        ),
    }


def natural_key(text: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key by which ``eth1/2`` comes before ``eth1/10``."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", text) if part)


def _cable_rows(inventory: Inventory) -> Iterable[Sequence[Any]]:
    by_name = inventory.plan.by_name
    keys: dict[str, tuple[tuple[int, int | str], ...]] = {}

    def natural(text: str) -> tuple[tuple[int, int | str], ...]:
        if text not in keys:
            keys[text] = natural_key(text)
        return keys[text]

    def floor_order(cable: Cable) -> tuple[Any, ...]:
        lower = by_name[cable.a.device]
        return (natural(lower.rack), lower.unit, natural(lower.name), natural(cable.a.port))

    for cable in sorted(inventory.cable_list, key=floor_order):
        a, b = by_name[cable.a.device], by_name[cable.b.device]
        yield (
            *_place(a), a.name, cable.a.port, *_place(b), b.name, cable.b.port,
            cable.speed_gbps, cable.medium, cable.length_m, cable.fabric,
            f"{a.name}:{cable.a.port} / {b.name}:{cable.b.port}", cable.in_service,
        )  # fmt: skip


def _place(device: Device) -> tuple[str, float | None]:
    return device.rack, device.unit or None


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return "'" + value
    return value
