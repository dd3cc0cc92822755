"""The Ethernet fabrics as a topology of NVIDIA Air, the simulator of networks with Cumulus Linux.

Format: CumulusNetworks/docs, content/nvidia-air-v2/Custom-Topology.md, "JSON" and "Import a Topology with
the API": nodes by name with an image and its resources, links as pairs of a node and an interface.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clusterwright.finding import ClusterwrightError
from clusterwright.lists.table import csv_table
from clusterwright.plan.boot import format_mac
from clusterwright.spec.hardware.systems import release_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterwright.lists.records import Inventory
    from clusterwright.plan.model import Cable, Device, Interface

_SIMULATED_SYSTEM = "nvue"
_NODE_IMAGE = "generic/ubuntu2404"
# Values of a leaf and a server in the documentation's example: cores, MiB, GB.
_SWITCH_RESOURCES = {"cpu": 2, "memory": 4096, "storage": 20}
_NODE_RESOURCES = {"cpu": 2, "memory": 2048, "storage": 10}
_LEFT_OUT_COLUMNS = ("kind", "device", "port", "far_device", "far_port", "reason")
_MANAGEMENT = "Air's own management network stands in its place"


def air_files(inventory: Inventory) -> Mapping[str, Iterator[str]]:
    """``topology.json`` for Air's import, and ``left-out.csv`` with the devices and cables missing there.

    Raises ClusterwrightError for a cluster without a switch for Air.
    """
    topology = _Topology(inventory)
    for device in inventory.device_list:
        topology.add_device(device)
    if not topology.has_switch:
        raise ClusterwrightError(
            f"{inventory.plan.name} has no Ethernet switch with Cumulus Linux (nvue), which NVIDIA Air could simulate."
        )
    for cable in inventory.cable_list:
        topology.add_cable(cable)
    return {
        "topology.json": _topology_lines(inventory.plan.name, topology),
        "left-out.csv": csv_table(_LEFT_OUT_COLUMNS, topology.left_out),
    }


class _Topology:
    """The simulated nodes and links, and the omitted devices with their reasons."""

    def __init__(self, inventory: Inventory) -> None:
        self._spec = inventory.plan.spec
        self._fabrics = {fabric.name: fabric for fabric in self._spec.fabrics}
        self.nodes: dict[str, dict[str, Any]] = {}
        self.links: list[list[dict[str, str]]] = []
        self.left_out: list[tuple[str, str, str, str, str, str]] = []
        self.has_switch = False

    def add_device(self, device: Device) -> None:
        """Simulate a device, or record the reason against it."""
        reason = self._why_not_simulated(device)
        if reason:
            self.left_out.append(("device", device.name, "", "", "", reason))
        elif device.kind == "node":
            self.nodes[device.name] = {"os": _NODE_IMAGE, **_NODE_RESOURCES}
        else:
            self.nodes[device.name] = {"os": self._switch_image(device), **_SWITCH_RESOURCES}
            self.has_switch = True

    def add_cable(self, cable: Cable) -> None:
        """Link the ends of a cable, or record the reason against it."""
        reason = self._why_not_linked(cable)
        if reason:
            self.left_out.append(("cable", cable.a.device, cable.a.port, cable.b.device, cable.b.port, reason))
        else:
            self.links.append([self._link_end(cable.a), self._link_end(cable.b)])

    def _why_not_simulated(self, device: Device) -> str:
        """The reason against a counterpart of a device in Air; "" for a device with one."""
        if device.kind == "node":
            return ""
        if device.kind == "device":
            return "a device with management ports alone"
        fabric = self._fabrics[device.fabric]
        if fabric.technology == "infiniband":
            return "an InfiniBand switch"
        if fabric.is_management:
            return _MANAGEMENT
        system = self._spec.catalogue[device.model].network_os
        return "" if system == _SIMULATED_SYSTEM else f"runs {system or 'no known system'}, not Cumulus Linux"

    def _why_not_linked(self, cable: Cable) -> str:
        """The reason against a link in Air for a cable; "" for a cable with one."""
        if self._fabrics[cable.fabric].is_management:
            return _MANAGEMENT
        for end in (cable.a, cable.b):
            if end.device not in self.nodes:
                return f"{end.device} is not simulated"
        return ""

    def _switch_image(self, device: Device) -> str:
        tier = self._fabrics[device.fabric].tiers[device.tier]
        release = release_of(self._spec.catalogue[device.model], tier.release)
        # Images name a release with its patch, such as cumulus-vx-5.16.1; a spec may name it without one.
        patched = release if release.count(".") > 1 else f"{release}.0"
        return f"cumulus-vx-{patched}"

    def _link_end(self, end: Interface) -> dict[str, str]:
        link_end = {"node": end.device, "interface": end.port}
        mac = self._spec.noted_macs.get((end.device, end.port))
        if mac is not None:
            link_end["mac"] = format_mac(mac)
        return link_end


def _topology_lines(title: str, topology: _Topology) -> Iterator[str]:
    """The document with a node or a link a line, for comparisons by line."""
    yield f'{{"format": "JSON", "title": {json.dumps(title)}, "ztp": null, "content": {{"oob": true,\n"nodes": {{\n'
    yield ",\n".join(f"{json.dumps(name)}: {json.dumps(node)}" for name, node in topology.nodes.items())
    yield '\n},\n"links": [\n'
    yield ",\n".join(map(json.dumps, topology.links))
    yield "\n]}}\n"
