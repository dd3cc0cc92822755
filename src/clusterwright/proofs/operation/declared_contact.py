"""Planned first contact: the server's devices and addresses, computed from the plan independently of the renderers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.plan.boot import format_mac
from clusterwright.plan.first_contact import PortContact, contacts
from clusterwright.plan.model import Plan, format_address
from clusterwright.spec.hardware.systems import ContactWords, systems
from clusterwright.spec.site import FirstContact


@dataclass(frozen=True, slots=True)
class DeclaredDevice:
    """A port on the management network: its host name, its identity, its relay, and its planned address.

    ``known_by`` is the kind of identity and ``value`` that identity. ``words`` are the DHCP options of its system for a
    first file; None for a device without one.
    """

    name: str
    port: str
    known_by: str
    value: str
    relay: str
    address: str
    system: str
    words: ContactWords | None


@dataclass(frozen=True, slots=True)
class DeclaredContact:
    """Address and version of the server, the devices it can identify, and the operators with a login on switches."""

    server: str
    version: int
    devices: tuple[DeclaredDevice, ...]
    unknown: tuple[str, ...]
    """Devices without a distinguishing MAC address or port."""
    accounts: Mapping[str, frozenset[str]]
    installers: Mapping[str, str]
    """File installed by ONIE, by system."""


def declared_contact(plan: Plan) -> DeclaredContact | None:
    """Planned first contact; None without a server."""
    section = plan.spec.first_contact
    if section is None:
        return None
    devices, unknown = [], []
    for contact in contacts(plan):
        identity = _known(contact, section)
        if identity is None:
            unknown.append(contact.device)
        else:
            devices.append(_device(plan, contact, section, *identity))
    admins = [operator for operator in plan.spec.site.operators if operator.role == "admin"]
    return DeclaredContact(
        server=str(section.server),
        version=section.server.version,
        devices=tuple(devices),
        unknown=tuple(unknown),
        accounts={operator.name: frozenset(operator.keys) for operator in admins if operator.keys},
        installers={installer.system: installer.file for installer in section.installers},
    )


def _known(contact: PortContact, section: FirstContact) -> tuple[str, str] | None:
    if contact.mac is not None:
        return "hw-address", format_mac(contact.mac)
    if section.relay_ports is not None:
        return "circuit-id", section.relay_ports.replace("{port}", contact.switch_port)
    return None


def _device(plan: Plan, contact: PortContact, section: FirstContact, known_by: str, value: str) -> DeclaredDevice:
    version = section.server.version
    subnet = plan.host_subnet_of[contact.fabric, contact.switch]
    words = systems()[contact.system].first_contact.over(version) if contact.system else None
    return DeclaredDevice(
        name=contact.host_name,
        port=contact.port,
        known_by=known_by,
        value=value,
        relay=format_address(subnet.gateway or 0, version),
        address=format_address(contact.address, version),
        system=contact.system,
        words=words,
    )
