"""DHCP for booting nodes: Kea with one reservation per adapter, and nothing for other clients.

The address is the planned one, so that a node has the same one before and after its system runs. An unknown adapter
gets no answer.

Over IPv6 the firmware, iPXE and the next boot are separate clients with separate identities, and the planned address is
still leased to the previous one. A pool for known adapters has an address for each of them, in the same subnet, as
packet filters require. Over IPv4 the adapter is the identity.

Requests come through the rack switches' relays, so a server knows the rack by the relay's address. The offered file
depends on the client: firmware gets iPXE, iPXE its script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

from clusterwright.hosts.boot.kea_releases import retries_sockets
from clusterwright.plan.boot import BootNic, boot_server_image, format_mac, ipxe_of
from clusterwright.plan.model import Plan, Subnet, format_address
from clusterwright.text.json_lines import dump_lines

LEASE_S = 3600
# Kea cannot listen at an IPv6 address before duplicate detection has ended (RFC 4862), nor at one of a port that is
# down. It starts without the socket and never opens it by itself, so it is configured to try again for an hour.
_RETRIES, _RETRY_MS = 720, 5000
# Client system architecture (RFC 4578, RFC 5970; IANA "Processor Architecture Types"): x64 UEFI, by TFTP and by HTTP.
_UEFI = "0x0007"
_UEFI_HTTP = "0x0010"
# UEFI 2.10, 24.7.3: an HTTP client takes only an offer with this vendor class; 343 is Intel's enterprise number.
_HTTP_CLIENT = "HTTPClient"
_INTEL = 343

Served = Sequence[tuple[Subnet, Sequence[BootNic]]]


def kea_config(plan: Plan, nics: Sequence[tuple[str, str]], served: Served) -> tuple[int, bytes]:
    """The IP version and the text of a boot server's configuration.

    ``nics`` are its interfaces on the boot fabric with their addresses; nodes fetch from the first address. ``served``
    are host subnets with their adapters.
    """
    address = nics[0][1]
    version = served[0][0].version
    url = f"http://{url_host(address)}"
    name = ipxe_of(plan.spec).rpartition("/")[2]
    host_switches = [subnet.device for subnet in plan.subnets if subnet.kind == "host"]
    subnet_numbers = {switch: number for number, switch in enumerate(host_switches, 1)}
    retries = retries_sockets(boot_server_image(plan.spec))
    settings = server_settings(version, nics, identifiers=("hw-address",), retries=retries)
    if version == 6:
        settings["client-classes"] = _classes_v6(address, url, name)
    else:
        settings["client-classes"] = _classes_v4(address, url, name)
    settings[f"subnet{version}"] = [_subnet(subnet_numbers[subnet.device], subnet, nics) for subnet, nics in served]
    return version, dump_lines({f"Dhcp{version}": settings}, depth=5)


def url_host(address: str) -> str:
    """An address as the host of a URL: IPv6 stands in brackets (RFC 3986, 3.2.2)."""
    return f"[{address}]" if ":" in address else address


def reserved_address(address: str, version: int) -> dict[str, Any]:
    """The address of a reservation, by Kea's key for the IP version."""
    if version == 6:
        return {"ip-addresses": [address]}
    return {"ip-address": address}


def server_settings(
    version: int, nics: Iterable[tuple[str, str]], *, identifiers: Sequence[str], retries: bool
) -> dict[str, Any]:
    """Settings of every server of reservations; ``nics`` are its interfaces for relays, with their addresses.

    With ``retries`` Kea tries again to open a socket that it could not open at its start.
    """
    interfaces = [name for name, _ in nics]
    if version == 6:
        # Over IPv6 Kea listens on its own links alone, unless the address that relays send to is configured.
        interfaces = [f"{name}/{address}" for name, address in nics]
    settings: dict[str, Any] = {
        "interfaces-config": {"interfaces": interfaces},
        "lease-database": {"type": "memfile", "lfc-interval": LEASE_S},
        "valid-lifetime": LEASE_S,
        "host-reservation-identifiers": [*identifiers],
        "reservations-global": False,
        "reservations-in-subnet": True,
        "reservations-out-of-pool": True,
    }
    if version == 6:
        # A DUID says nothing about the adapter; the relay and the link-local address do.
        settings["mac-sources"] = ["client-link-addr-option", "ipv6-link-local", "duid"]
        settings["preferred-lifetime"] = LEASE_S
        # RFC 8415, 18.2.1: without the highest preference a client waits for other servers, firmware for four seconds
        # and more.
        settings["option-data"] = [{"name": "preference", "data": "255", "always-send": True}]
    else:
        settings["interfaces-config"]["dhcp-socket-type"] = "udp"  # everything is relayed
        settings["match-client-id"] = False
    if retries:
        settings["interfaces-config"]["service-sockets-max-retries"] = _RETRIES
        settings["interfaces-config"]["service-sockets-retry-wait-time"] = _RETRY_MS
    return settings


def _subnet(number: int, subnet: Subnet, nics: Sequence[BootNic]) -> dict[str, Any]:
    version = subnet.version
    settings: dict[str, Any] = {
        "id": number,
        "subnet": str(ip_network((subnet.network, subnet.prefix_length))),
        "user-context": {"switch": subnet.device},
        "reservations": [_reservation(nic, version) for nic in nics],
    }
    if subnet.gateway is not None:
        gateway = format_address(subnet.gateway, version)
        settings["relay"] = {"ip-addresses": [gateway]}
        if version == 4:
            settings["option-data"] = [{"name": "routers", "data": gateway}]
    half = 1 << (127 - subnet.prefix_length)
    if version == 6 and all((nic.interface.address or 0) < subnet.network + half for nic in nics):
        pool = ip_network((subnet.network + half, subnet.prefix_length + 1))
        settings["pools"] = [{"pool": str(pool), "client-class": "KNOWN"}]
    return settings


def _reservation(nic: BootNic, version: int) -> dict[str, Any]:
    address = format_address(nic.interface.address or 0, version)
    return {
        "hw-address": format_mac(nic.mac),
        **reserved_address(address, version),
        "hostname": nic.device,
        "user-context": {"adapter": nic.interface.port, "address": "planned" if nic.is_planned else "noted"},
    }


def _classes_v4(address: str, url: str, name: str) -> list[Mapping[str, Any]]:
    http = {"name": "vendor-class-identifier", "data": _HTTP_CLIENT}
    return [
        {"name": "ipxe", "test": "option[77].hex == 'iPXE'", "boot-file-name": f"{url}/boot.ipxe"},
        {
            "name": "uefi",
            "test": f"option[93].hex == {_UEFI} and not member('ipxe')",
            "next-server": str(ip_address(address)),
            "boot-file-name": name,
        },
        {
            "name": "uefi-http",
            "test": f"option[93].hex == {_UEFI_HTTP} and not member('ipxe')",
            "boot-file-name": f"{url}/{name}",
            "option-data": [http],
        },
    ]


def _classes_v6(address: str, url: str, name: str) -> list[Mapping[str, Any]]:
    vendor = _INTEL.to_bytes(4, "big") + len(_HTTP_CLIENT).to_bytes(2, "big") + _HTTP_CLIENT.encode()
    http = {"code": 16, "csv-format": False, "data": vendor.hex(), "always-send": True}
    return [
        {
            "name": "ipxe",
            "test": "substring(option[15].hex, 2, 4) == 'iPXE'",
            "option-data": [_bootfile(f"{url}/boot.ipxe")],
        },
        {
            "name": "uefi",
            "test": f"option[61].hex == {_UEFI} and not member('ipxe')",
            "option-data": [_bootfile(f"tftp://[{address}]/{name}")],
        },
        {
            "name": "uefi-http",
            "test": f"option[61].hex == {_UEFI_HTTP} and not member('ipxe')",
            "option-data": [_bootfile(f"{url}/{name}"), http],
        },
    ]


def _bootfile(url: str) -> dict[str, Any]:
    return {"name": "bootfile-url", "data": url, "always-send": True}
