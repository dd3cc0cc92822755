"""Planned LLDP neighbours by port, as a table and as ANTA's tests of EOS."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from clusterwright.lists.panel_names import PanelNames
from clusterwright.spec.hardware.systems import systems

if TYPE_CHECKING:
    from clusterwright.lists.records import Inventory

Neighbours = dict[str, dict[str, tuple[str, str]]]


def expected_neighbours(inventory: Inventory) -> Neighbours:
    """Device and port to the neighbour's device and LLDP port name, for every Ethernet cable in service."""
    ethernet = {fabric.name for fabric in inventory.plan.spec.fabrics if fabric.technology != "infiniband"}
    announced = PanelNames(inventory.plan)
    neighbours: Neighbours = defaultdict(dict)
    for cable in inventory.cable_list:
        if cable.in_service and cable.fabric in ethernet:
            neighbours[cable.a.device][cable.a.port] = (cable.b.device, announced.of(cable.b))
            neighbours[cable.b.device][cable.b.port] = (cable.a.device, announced.of(cable.a))
    return dict(neighbours)


def anta_inventory(inventory: Inventory) -> dict[str, Any]:
    """The switches tested by ANTA, each with its name, fabric, role and pod as tags."""
    reached = inventory.reachable_addresses()
    tested = {name for name, system in systems().items() if system.tested_by_anta}
    hosts: list[dict[str, Any]] = []
    for device in inventory.device_list:
        network_os = inventory.plan.spec.catalogue[device.model].network_os
        if network_os in tested and device.name in reached:
            tags = [tag for tag in (device.name, device.fabric, device.role, device.pod) if tag]
            hosts.append({"host": reached[device.name], "name": device.name, "tags": tags})
    return {"anta_inventory": {"hosts": hosts}}


def anta_catalogue(inventory: Inventory, tested: dict[str, Any], neighbours: Neighbours) -> dict[str, Any]:
    """ANTA's tests for each switch of ``tested``, selected by the tag of its name: LLDP neighbours and ports.

    Only switches are tested as neighbours: hosts may have no LLDP. For ports to hosts only the state is tested.
    """
    kinds = {device.name: device.kind for device in inventory.plan.devices}
    lldp: list[dict[str, Any]] = []
    states: list[dict[str, Any]] = []
    for host in tested["anta_inventory"]["hosts"]:
        ports = neighbours.get(host["name"], {})
        filters = {"tags": [host["name"]]}
        switches = [
            {"port": port, "neighbor_device": device, "neighbor_port": far}
            for port, (device, far) in ports.items()
            if kinds[device] == "switch"
        ]
        if switches:
            lldp.append({"VerifyLLDPNeighbors": {"neighbors": switches, "require_fqdn": False, "filters": filters}})
        if ports:
            interfaces = [{"name": port, "status": "up"} for port in ports]
            states.append({"VerifyInterfacesStatus": {"interfaces": interfaces, "filters": filters}})
    return {"anta.tests.connectivity": lldp, "anta.tests.interfaces": states}
