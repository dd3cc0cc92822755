"""The index of the report's search: names, addresses, GUIDs, MAC addresses, serial numbers and labels of every device.

A browser loads only scripts from files beside a page, so the index is scripts: one for each pod.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.extras.crew.route import LaidRoute
    from clusterwright.lists.records import Inventory, Record

_OUTSIDE = "no-pod"
_NUMBERS = (
    ("guid", "GUID"),
    ("serial", "serial number"),
    ("asset_tag", "asset tag"),
    ("planned_name", "name by its place"),
)


class SearchIndex:
    """The index of a cluster, as files."""

    def __init__(self, inventory: Inventory, routes: Iterable[LaidRoute]) -> None:
        self._keys: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        """Port, kind and value of each identifier, by device."""
        self._devices: dict[str, list[Record]] = defaultdict(list)
        for record in inventory.devices():
            self._devices[record["pod"] or _OUTSIDE].append(record)
        self._add_devices()
        self._add_ports(inventory)
        self._add_cables(inventory, routes)

    def _add_devices(self) -> None:
        for records in self._devices.values():
            for record in records:
                for key, kind in _NUMBERS:
                    if record[key] is not None and record[key] != record["name"]:
                        self._keys[record["name"]].append(("", kind, record[key]))

    def _add_ports(self, inventory: Inventory) -> None:
        for port in inventory.interfaces():
            if port.guid is not None:
                self._keys[port.device].append((port.name, "GUID", port.guid))
            if port.mac is not None:
                self._keys[port.device].append((port.name, "MAC address", port.mac))
        for address in inventory.addresses():
            self._keys[address["device"]].append((address["port"], "address", address["address"]))

    def _add_cables(self, inventory: Inventory, routes: Iterable[LaidRoute]) -> None:
        for route in routes:
            for end in (route.lower, route.upper):
                self._keys[end.device].append((end.port, "label", end.identifier))
        for cable in inventory.cables():
            if cable["number"] is None:
                continue
            for side in ("a", "b"):
                end = cable[side]
                self._keys[end["device"]].append((end["port"], "cable", cable["number"]))

    @property
    def scripts(self) -> tuple[str, ...]:
        """The names of the files."""
        return tuple(f"search/{pod}.js" for pod in self._devices)

    @property
    def files(self) -> Mapping[str, Iterable[str]]:
        """File name to the pieces of its text, made on reading."""
        return {f"search/{pod}.js": self._lines(records) for pod, records in self._devices.items()}

    def _lines(self, records: list[Record]) -> Iterator[str]:
        """A device a line: its name, role and rack, then its identifiers; search.js splits them."""
        yield "addToIndex([\n"
        for record in records:
            fields = ["\t".join((record["name"], record["role"], record["rack"] or ""))]
            fields += ["\t".join(key) for key in self._keys[record["name"]]]
            yield f"{json.dumps(chr(10).join(fields), ensure_ascii=False)},\n"
        yield "]);\n"
