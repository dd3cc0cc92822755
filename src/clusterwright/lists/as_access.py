"""The access file's skeleton: a line for each device with its address, and marks for values to fill in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.spec.hardware.systems import system_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.lists.records import Inventory
    from clusterwright.plan.model import Device

FILL_IN = "FILL-IN"
_HEAD = f"""\
# How Ansible reaches the devices of {{name}}: `clusterwright explain access` has every key.
# Write your own in the place of each {FILL_IN}; paths count from this file's folder.
private_key: {FILL_IN}  # the private key's file, which its owner alone can read
known_hosts: {FILL_IN}  # the file of host keys; a device whose key is not in it is not spoken to
user: {FILL_IN}  # root, or an account that becomes root by sudo without a password
addresses:
"""
_EAPI = f"""\
eapi:
  ca: {FILL_IN}  # the authority that signs the switches' certificates, as a PEM file
  user: {FILL_IN}
  password_file: {FILL_IN}  # or certificate and key of a client, in the place of user and password_file
  addresses:
"""
_HTTPAPI = "httpapi"


def access_lines(inventory: Inventory) -> Iterator[str]:
    """The file, line by line: nodes and Linux-based switches over SSH, EOS switches over eAPI."""
    addresses = inventory.reachable_addresses()
    over_ssh: list[str] = []
    over_eapi: list[str] = []
    skipped: list[str] = []
    for device in inventory.device_list:
        address = addresses.get(device.name)
        line = f'{device.name}: "{address or FILL_IN}"'
        reason = _reason_to_skip(inventory, device, address)
        if reason:
            skipped.append(f"# {line}  # {reason}\n")
        elif _is_over_eapi(inventory, device):
            over_eapi.append(f"    {line}\n")
        else:
            over_ssh.append(f"  {line}\n")
    yield _HEAD.format(name=inventory.plan.name)
    yield from over_ssh
    if over_eapi:
        yield _EAPI
        yield from over_eapi
    if skipped:
        yield "# Left alone. A line of these goes under the addresses of its kind, without its first #.\n"
        yield from skipped


def _is_over_eapi(inventory: Inventory, device: Device) -> bool:
    system = system_of(inventory.plan.spec.catalogue[device.model])
    return system is not None and system.connection.endswith(_HTTPAPI)


def _reason_to_skip(inventory: Inventory, device: Device, address: str | None) -> str:
    """Why no deployment reaches a device; "" for one that is deployed to."""
    if address is None:
        return "the plan gives it no address to be reached by"
    if device.kind == "node":
        return "" if device.image is not None else "runs no image of the spec"
    system = system_of(inventory.plan.spec.catalogue[device.model])
    if system is None:
        return "configured elsewhere"
    if system.connection != "ssh" and not system.connection.endswith(_HTTPAPI):
        return f"{system.title} is configured by people"
    return ""
