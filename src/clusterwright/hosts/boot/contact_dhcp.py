"""DHCP for unconfigured devices: their planned address, and for switches the URL of their first file.

A device is known by its management port's MAC address, or, if that has not been noted, by the management switch's port
named by its relay (RFC 3046, circuit ID). All others get no answer. A switch's answer depends on its planned system and
on the client: the same hardware is first ONIE and then that system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import Any, NamedTuple

from clusterwright.hosts.boot.dhcp import reserved_address, server_settings, url_host
from clusterwright.hosts.boot.kea_releases import retries_sockets
from clusterwright.plan.boot import format_mac
from clusterwright.plan.first_contact import PortContact, contacts
from clusterwright.plan.model import Plan, Subnet, format_address
from clusterwright.spec.hardware.systems import ContactWords
from clusterwright.spec.site import FirstContact
from clusterwright.text.json_lines import dump_lines

ONIE_CLIENT = "onie_vendor:"
"""How the vendor class of ONIE begins (opencomputeproject/onie, scripts/functions: udhcpc_args)."""
INSTALLERS = "installers"
_VENDOR_CLASS, _DEFAULT_URL = 60, 114
# Options that no standard names have to be defined; Kea names the others itself.
_SCRIPT = {"name": "provisioning-script-url", "code": 239, "type": "string"}
# RFC 8415, 21.16: the enterprise number and a length come before the text. A length would come before that of option 15
# (21.15), and SONiC, the one that sends it, leaves it out (sonic-net/sonic-buildimage, files/dhcp/dhclient.conf.j2).
_TEXT_FROM = {16: 6}


class ServedSwitch(NamedTuple):
    """A switch with a first file."""

    file: str
    """Name of the file."""
    words: ContactWords
    """How its system's DHCP client identifies itself, over the server's version of IP."""


def contact_url(section: FirstContact, path: str) -> str:
    """URL of a file on the server of first contact."""
    return f"http://{url_host(str(section.server))}/{path}"


def contact_kea(plan: Plan, section: FirstContact, served: Mapping[str, ServedSwitch]) -> bytes:
    """Kea's configuration; ``served`` has the switches with a first file, by name."""
    version = section.server.version
    by_switch: dict[tuple[str, str], list[PortContact]] = {}
    for contact in contacts(plan):
        by_switch.setdefault((contact.fabric, contact.switch), []).append(contact)
    subnets = []
    for number, (place, switch_contacts) in enumerate(by_switch.items(), 1):
        subnets.append(_subnet(number, plan.host_subnet_of[place], switch_contacts, section, served))
    identifiers = ["hw-address"] if section.relay_ports is None else ["hw-address", "circuit-id"]
    nics = [(section.interface or "*", str(section.server))]
    settings = {
        **server_settings(version, nics, identifiers=identifiers, retries=retries_sockets(None)),
        "option-def": [{**_SCRIPT, "space": f"dhcp{version}"}],
    }
    classes = list(_classes(section, served))
    if classes:  # Kea's grammar has no empty list of them
        settings["client-classes"] = classes
    settings[f"subnet{version}"] = subnets
    return dump_lines({f"Dhcp{version}": settings}, depth=5)


def _subnet(
    number: int,
    subnet: Subnet,
    switch_contacts: Sequence[PortContact],
    section: FirstContact,
    served: Mapping[str, ServedSwitch],
) -> dict[str, Any]:
    gateway = format_address(subnet.gateway or 0, subnet.version)
    reservations = []
    for contact in switch_contacts:
        reservation = _reservation(contact, section, served.get(contact.device))
        if reservation is not None:
            reservations.append(reservation)
    settings: dict[str, Any] = {
        "id": number,
        "subnet": str(ip_network((subnet.network, subnet.prefix_length))),
        "user-context": {"switch": subnet.device},
        "relay": {"ip-addresses": [gateway]},
        "reservations": reservations,
    }
    if subnet.version == 4:
        settings["option-data"] = [{"name": "routers", "data": gateway}]
    return settings


def _reservation(contact: PortContact, section: FirstContact, served: ServedSwitch | None) -> dict[str, Any] | None:
    """The address of one device; None for a device without an identifier."""
    if contact.mac is not None:
        identifier = {"hw-address": format_mac(contact.mac)}
    elif section.relay_ports is not None:
        identifier = {"circuit-id": f"'{section.relay_ports.replace('{port}', contact.switch_port)}'"}
    else:
        return None
    address = format_address(contact.address, section.server.version)
    reservation: dict[str, Any] = {
        **identifier,
        **reserved_address(address, section.server.version),
        "hostname": contact.host_name,
        "user-context": {"port": contact.port},
    }
    classes = []
    if served is not None:
        classes.append(_has_file(served.file))
    if any(installer.system == contact.system for installer in section.installers):
        classes.append(_is_installed(contact.system))
    if classes:
        reservation["client-classes"] = classes
    return reservation


def _classes(section: FirstContact, served: Mapping[str, ServedSwitch]) -> Iterator[dict[str, Any]]:
    """The classes that reservations name, then the classes with the answers to each.

    Kea evaluates a class with a test for ``KNOWN`` once it has found the reservation.
    """
    files = {switch.file: switch.words for switch in served.values()}
    for file in files:
        yield {"name": _has_file(file)}
    for installer in section.installers:
        yield {"name": _is_installed(installer.system)}
    for file, words in files.items():
        yield {
            "name": f"asks-for-{file}",
            "test": f"member('KNOWN') and member('{_has_file(file)}') and {_asks(words)}",
            "option-data": [_url_option(words.answer, contact_url(section, file))],
        }
    for installer in section.installers:
        image = contact_url(section, f"{INSTALLERS}/{installer.file}")
        yield {
            "name": f"asks-to-install-{installer.system}",
            "test": f"member('KNOWN') and member('{_is_installed(installer.system)}') and {_begins(ONIE)}",
            "option-data": [_url_option(_DEFAULT_URL, image)],
        }


ONIE = ContactWords(answer=_DEFAULT_URL, option=_VENDOR_CLASS, begins=ONIE_CLIENT)


def _has_file(file: str) -> str:
    return f"has-{file}"


def _is_installed(system: str) -> str:
    return f"installs-{system}"


def _asks(words: ContactWords) -> str:
    """The test for a system's DHCP client; one without a vendor class is any client but ONIE."""
    if words.option is None:
        return f"not ({_begins(ONIE)})"
    return _begins(words)


def _begins(words: ContactWords) -> str:
    text, option = words.begins or "", words.option or 0
    return f"substring(option[{option}].hex, {_TEXT_FROM.get(option, 0)}, {len(text)}) == '{text}'"


def _url_option(code: int, url: str) -> dict[str, Any]:
    return {"code": code, "csv-format": True, "data": url, "always-send": True}
