"""Zone files: the name of every device and of every interface with an address, forwards and backwards (RFC 1035)."""

from __future__ import annotations

import re
from collections import defaultdict
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

    from clusterwright.report.records import Inventory

# Times in seconds, those that RFC 1912 suggests for a zone that seldom changes.
_TTL, _REFRESH, _RETRY, _EXPIRE, _NEGATIVE = 3600, 7200, 900, 1209600, 300


def zone_files(inventory: Inventory, serial: int) -> Mapping[str, list[str]]:
    """File name to lines: ``ZONE.zone`` for the site's domain and for every pool, at the next larger dot of its name.

    A device has the address at which it is reached, ``INTERFACE.DEVICE`` each of its others; addresses outside of all
    pools (towards other networks) have a zone of their /24 or /64. Raises ClusterwrightError without name servers.
    """
    site = inventory.plan.spec.site
    if not site.dns:
        raise ClusterwrightError("site.dns names no server, and a zone must have one: name those that answer for it.")
    domain = f"{site.domain}."
    servers = [(f"ns{number}", ip_address(str(server))) for number, server in enumerate(site.dns)]
    reached = inventory.reachable_addresses()
    zones: dict[str, list[str]] = defaultdict(list)
    zones[domain] += [f"{name} {_kind(address)} {address}\n" for name, address in servers]
    networks = [_rounded(each["prefix"]) for each in inventory.subnets() if each["device"] is None]
    for each in inventory.addresses():
        address = ip_address(each["address"])
        names = [f"{_label(each['port'])}.{each['device']}"]
        if reached.get(each["device"]) == each["address"]:
            names.insert(0, each["device"])
        zones[domain] += [f"{name} {_kind(address)} {address}\n" for name in names]
        around = max((net for net in networks if address in net), key=_length, default=None) or _around(address)
        zones[_reverse(around)].append(f"{address.reverse_pointer}. PTR {names[0]}.{domain}\n")
    return {
        f"{zone.rstrip('.')}.zone": [*_head(zone, domain, servers, serial), *lines] for zone, lines in zones.items()
    }


def _head(zone: str, domain: str, servers: list[tuple[str, IPv4Address | IPv6Address]], serial: int) -> Iterator[str]:
    yield f"$ORIGIN {zone}\n$TTL {_TTL}\n"
    yield f"@ SOA {servers[0][0]}.{domain} hostmaster.{domain} {serial} {_REFRESH} {_RETRY} {_EXPIRE} {_NEGATIVE}\n"
    for name, _ in servers:
        yield f"@ NS {name}.{domain}\n"


def _label(port: str) -> str:
    """A port's name as a label of a host name: ``Ethernet1/1`` becomes ``ethernet1-1``."""
    return re.sub(r"[^a-z0-9]+", "-", port.lower()).strip("-")


def _kind(address: IPv4Address | IPv6Address) -> str:
    return "A" if address.version == 4 else "AAAA"


def _length(network: IPv4Network | IPv6Network) -> int:
    return network.prefixlen


def _rounded(prefix: str) -> IPv4Network | IPv6Network:
    """The smallest network around a prefix that ends at a label of the reverse name: an octet, or four bits."""
    network = ip_network(prefix)
    step = 8 if network.version == 4 else 4
    # The last label stays the host's: a zone of one address would have its record at the top.
    return network.supernet(new_prefix=min(network.prefixlen, network.max_prefixlen - step) // step * step)


def _around(address: IPv4Address | IPv6Address) -> IPv4Network | IPv6Network:
    return ip_network((address, 24 if address.version == 4 else 64), strict=False)


def _reverse(network: IPv4Network | IPv6Network) -> str:
    step = 8 if network.version == 4 else 4
    labels = network.network_address.reverse_pointer.split(".")
    return ".".join(labels[(network.max_prefixlen - network.prefixlen) // step :]) + "."
