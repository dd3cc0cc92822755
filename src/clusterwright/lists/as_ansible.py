"""The inventory as JSON in the layout of Ansible's ``yaml`` inventory plugin, one host a line.

Ansible reads JSON in a tenth of the time of YAML. Save it with the ending ``.json``.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from clusterwright.spec.hardware.systems import WITHOUT_FILES, systems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterwright.lists.records import Inventory
    from clusterwright.plan.model import Device
    from clusterwright.spec.hardware.systems import System


def ansible_lines(inventory: Inventory) -> Iterator[str]:
    """The document, piece by piece.

    Every device is a host in the groups ``role_<role>``, ``pod_<pod>``, ``rack_<rack>`` and ``model_<model>``, a switch
    also in ``fabric_<fabric>``, ``tier_<fabric>_<tier>`` and ``system_<system>``, with the variables of Ansible's
    connection; a node also in the groups of its fabrics. Devices without a login are in ``unmanaged`` too.
    ``ansible_host`` is the address of a switch's management port, and of a node's first NIC on a fabric without
    lossless transport, because its management port is the BMC. ``cw_addresses`` are all addresses of a host with their
    lengths, by interface.
    """
    reach = inventory.reachable_addresses()
    addresses_by_port: dict[str, dict[str, str]] = defaultdict(dict)
    for record in inventory.addresses():
        addresses_by_port[record["device"]][record["port"]] = f"{record['address']}/{record['prefix_length']}"
    members: dict[str, list[str]] = defaultdict(list)
    attached: dict[str, dict[str, None]] = defaultdict(dict)
    for cable in inventory.cable_list:
        attached[cable.a.device][cable.fabric] = None
    yield '{"all": {"hosts": {'
    between = "\n"
    for device in inventory.device_list:
        for group in _groups(inventory, device, tuple(attached[device.name])):
            members[group].append(device.name)
        variables = _variables(inventory, device, reach, addresses_by_port)
        yield f"{between}{json.dumps(device.name)}: {json.dumps(variables)}"
        between = ",\n"
    yield '\n}, "children": {\n'
    variables_by_group = {group_name("system", system.name): _connection(system) for system in systems().values()}
    lines = []
    for group, names in sorted(members.items()):
        document: dict[str, Any] = {"hosts": dict.fromkeys(names)}
        if group in variables_by_group:
            document["vars"] = variables_by_group[group]
        lines.append(f"{json.dumps(group)}: {json.dumps(document)}")
    yield ",\n".join(lines)
    yield "\n}}}\n"


def group_name(kind: str, name: str) -> str:
    """A valid name of an Ansible group: ``rack``, ``p00-r01`` becomes ``rack_p00_r01``."""
    return re.sub(r"[^A-Za-z0-9_]", "_", f"{kind}_{name}")


def _connection(system: System) -> dict[str, Any]:
    values: dict[str, Any] = {"ansible_connection": system.connection}
    if system.network_os:
        values["ansible_network_os"] = system.network_os
    if system.connection.endswith("httpapi"):
        values |= {"ansible_httpapi_use_ssl": True, "ansible_httpapi_validate_certs": True}
    return values


def _groups(inventory: Inventory, device: Device, attached: tuple[str, ...]) -> Iterator[str]:
    """Groups of a device; a node, without a fabric of its own, is in those of the ``attached`` fabrics."""
    network_os = inventory.plan.spec.catalogue[device.model].network_os or ""
    if device.fabric:
        yield group_name("fabric", device.fabric)
        yield group_name("tier", f"{device.fabric}_{device.tier}")
    else:
        for fabric in attached:
            yield group_name("fabric", fabric)
    if network_os in systems():
        yield group_name("system", network_os)
    yield group_name("role", device.role)
    yield group_name("model", device.model)
    if device.pod:
        yield group_name("pod", device.pod)
    if device.rack:
        yield group_name("rack", device.rack)
    if network_os in WITHOUT_FILES:
        yield network_os


def _variables(
    inventory: Inventory, device: Device, reach: Mapping[str, str], addresses_by_port: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    model = inventory.plan.spec.catalogue[device.model]
    values: dict[str, Any] = {
        "ansible_host": reach.get(device.name),
        "cw_role": device.role,
        "cw_model": device.model,
        "cw_pod": device.pod or None,
        "cw_rack": device.rack or None,
        "cw_network_os": model.network_os,
        "cw_addresses": addresses_by_port.get(device.name),
        "cw_state": device.state if device.state != "active" else None,
    }
    return {name: value for name, value in values.items() if value is not None}
