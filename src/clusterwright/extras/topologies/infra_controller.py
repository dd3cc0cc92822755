"""The expected machines, NVLink switches and racks of NVIDIA's infra controller.

Keys: input of `replace-all` of its admin CLI (NVIDIA/infra-controller, crates/admin-cli/src:
expected_machines/common.rs, expected_switch/common.rs, expected_rack/common.rs); labels of racks:
crates/api-model/src/rack.rs. Passwords and rack profiles are in no spec: the program refuses the files until a person
adds them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clusterwright.finding import ClusterwrightError
from clusterwright.lists.records import text_of
from clusterwright.lists.table import csv_table
from clusterwright.plan.boot import format_mac

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.lists.records import Inventory
    from clusterwright.plan.model import Device

_BMC = "bmc"
_NVOS_PORTS = ("come0", "come1")
"""The ports of an NVLink switch tray's system; the first one identifies a tray."""
_MISSING_COLUMNS = ("file", "device", "key", "comes_from")


def infra_controller_files(inventory: Inventory) -> Mapping[str, Iterator[str]]:
    """``expected_machines.json``, ``expected_switches.json``, ``expected_racks.json`` and ``missing.csv``.

    The last lists the values to add by hand for the admin CLI. Raises ClusterwrightError for nodes without a BMC.
    """
    tables = _Tables(inventory)
    nodes = [device for device in inventory.device_list if device.kind == "node" and tables.has_port(device, _BMC)]
    trays = [device for device in inventory.device_list if tables.has_port(device, _NVOS_PORTS[0])]
    if not nodes:
        raise ClusterwrightError(f"{inventory.plan.name} has no node with a port {_BMC}, which could be expected.")
    machines = [tables.machine(node) for node in nodes]
    files = {"expected_machines.json": _document("expected_machines", machines)}
    if trays:
        files["expected_switches.json"] = _document("expected_switches", [tables.switch(tray) for tray in trays])
    tables.note_credentials(files)
    racks = tables.racks({device.rack for device in (*nodes, *trays)})
    files["expected_racks.json"] = _document("expected_racks", racks)
    return files | {"missing.csv": csv_table(_MISSING_COLUMNS, tables.missing)}


class _Tables:
    """The entries of the files, and their missing values."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._spec = inventory.plan.spec
        self._bmc_addresses = _management_addresses(inventory, _BMC)
        self.missing: list[tuple[str, str, str, str]] = []

    def has_port(self, device: Device, port: str) -> bool:
        """Whether a device has the management port."""
        return port in self._spec.catalogue[device.model].management_names

    def machine(self, node: Device) -> dict[str, Any]:
        """A node as ``ExpectedMachineJson``."""
        return self._entry("expected_machines.json", node, "chassis_serial_number")

    def switch(self, tray: Device) -> dict[str, Any]:
        """A switch tray as ``ExpectedSwitchJson``."""
        entry = self._entry("expected_switches.json", tray, "switch_serial_number")
        macs = [self._spec.noted_macs.get((tray.name, port)) for port in _NVOS_PORTS]
        return entry | {"nvos_mac_addresses": [_mac_text(mac) for mac in macs if mac is not None]}

    def note_credentials(self, files: Iterable[str]) -> None:
        """Record the missing factory account of the BMC for each entry of the files."""
        for file in files:
            for key in ("bmc_username", "bmc_password"):
                self.missing.append((file, "every one", key, "the label or the maker"))

    def racks(self, names: set[str]) -> list[dict[str, Any]]:
        """The racks with a machine or switch tray, as ``ExpectedRackJson`` without the profile."""
        entries = []
        site = self._inventory.site or self._inventory.plan.name
        for rack in self._inventory.racks():
            if rack["name"] not in names:
                continue
            labels = {"location.datacenter": site}
            if rack["row"] is not None:
                labels["location.position"] = f"{rack['row']} {rack['position']}"
            entries.append({"rack_id": rack["name"], "metadata": _metadata(rack["name"], labels)})
        self.missing.append(("expected_racks.json", "every one", "rack_profile_id", "the controller's configuration"))
        return entries

    def _entry(self, file: str, device: Device, serial_key: str) -> dict[str, Any]:
        """The common keys of machines and switches; a key without a value is omitted and recorded as missing."""
        noted = self._spec.overlay.by_end.get((device.name, ""))
        mac = self._spec.noted_macs.get((device.name, _BMC))
        entry: dict[str, Any] = {}
        if mac is None:
            self.missing.append((file, device.name, "bmc_mac_address", "the overlay file"))
        else:
            entry["bmc_mac_address"] = _mac_text(mac)
        if noted is None or noted.serial is None:
            self.missing.append((file, device.name, serial_key, "the overlay file"))
        else:
            entry[serial_key] = noted.serial
        address = self._bmc_addresses.get(device.name)
        if address is not None:
            entry["bmc_ip_address"] = address
        if device.rack:
            entry["rack_id"] = device.rack
        labels = {"role": device.role, "model": device.model, "pod": device.pod, "rank": device.rank}
        return entry | {"metadata": _metadata(device.name, labels)}


def _management_addresses(inventory: Inventory, port: str) -> dict[str, str]:
    """The planned address of the management port of this name, by device."""
    versions = {
        fabric.name: fabric.addressing.hosts.version
        for fabric in inventory.plan.spec.fabrics
        if fabric.addressing is not None
    }
    addresses = {}
    for cable in inventory.cable_list:
        for end in (cable.a, cable.b):
            if end.side == "management" and end.port == port and end.address is not None:
                addresses[end.device] = text_of(end.address, versions[end.fabric])
    return addresses


def _metadata(name: str, labels: Mapping[str, object]) -> dict[str, Any]:
    """``forge.Metadata`` of the controller: labels without a value are left out."""
    listed = [{"key": key, "value": str(value)} for key, value in labels.items() if value not in {None, ""}]
    return {"name": name, "description": "", "labels": listed}


def _mac_text(mac: int) -> str:
    return format_mac(mac).upper()


def _document(name: str, entries: list[dict[str, Any]]) -> Iterator[str]:
    """A table with an entry a line."""
    yield f'{{"{name}_count": {len(entries)},\n"{name}": [\n'
    yield ",\n".join(map(json.dumps, entries))
    yield "\n]}\n"
