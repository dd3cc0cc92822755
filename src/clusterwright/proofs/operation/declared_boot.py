"""Planned network boot: machines, servers and addresses, computed from the plan independently of the renderers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from clusterwright.plan.boot import boot_nics, format_mac, servers_by_rack
from clusterwright.plan.model import Plan, format_address


@dataclass(frozen=True, slots=True)
class DeclaredMachine:
    """A machine booting over the network."""

    adapters: Mapping[str, str]
    """Planned address by MAC address."""
    servers: tuple[str, ...]
    """Names of its boot servers, in order of preference."""
    image: str
    is_installed: bool
    """Whether its image is installed on its disks."""


@dataclass(frozen=True, slots=True)
class DeclaredBoot:
    """Machines booting over the network, and addresses of boot servers."""

    machines: Mapping[str, DeclaredMachine]
    addresses: Mapping[str, frozenset[str]]


def declared_boot(plan: Plan) -> DeclaredBoot | None:
    """Planned boot of all machines; None without network boot."""
    boot = plan.spec.boot
    if boot is None:
        return None
    version = plan.address_version(boot.fabric)
    by_rack = servers_by_rack(plan)
    installed = {image.name for image in plan.spec.images if image.delivery == "disk"}
    machines = {}
    for name, nics in boot_nics(plan).items():
        device = plan.by_name[name]
        machines[name] = DeclaredMachine(
            adapters={format_mac(nic.mac): format_address(nic.interface.address or 0, version) for nic in nics},
            servers=by_rack[device.rack],
            image=device.image or "",
            is_installed=device.image in installed,
        )
    servers = set(chain.from_iterable(machine.servers for machine in machines.values()))
    addresses: dict[str, set[str]] = {name: set() for name in servers}
    for cable in plan.cables:
        end = cable.a
        if cable.fabric == boot.fabric and end.device in servers and end.address is not None:
            addresses[end.device].add(format_address(end.address, version))
    return DeclaredBoot(machines, {name: frozenset(of_server) for name, of_server in addresses.items()})
