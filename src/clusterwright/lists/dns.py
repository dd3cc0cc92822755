"""Zone files: the name of every device and of every interface with an address, forwards and backwards (RFC 1035)."""

from __future__ import annotations

from collections import defaultdict
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError
from clusterwright.lists.records import text_of
from clusterwright.spec.hardware.port_names import dns_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

    from clusterwright.lists.records import Inventory

_KINDS = {4: "A", 6: "AAAA"}
# Times in seconds, as suggested by RFC 1912 for a zone that seldom changes.
_TTL, _REFRESH, _RETRY, _EXPIRE, _NEGATIVE = 3600, 7200, 900, 1209600, 300


def zone_files(inventory: Inventory, serial: int) -> Mapping[str, list[str]]:
    """File name to lines: ``ZONE.zone`` for the site's domain and for every pool, at the next larger dot of its name.

    A device has the address for logins, ``INTERFACE.DEVICE`` each of its others; addresses outside of all pools
    (towards other networks) have a zone of their /24 or /64. Raises ClusterwrightError without name servers.
    """
    site = inventory.plan.spec.site
    if not site.dns:
        raise ClusterwrightError("site.dns names no server, and a zone must have one: name those that answer for it.")
    domain = f"{site.domain}."
    servers = [(f"ns{number}", ip_address(str(server))) for number, server in enumerate(site.dns)]
    login_addresses = inventory.reachable_addresses()
    zones: dict[str, list[str]] = defaultdict(list)
    forward = zones[domain]
    forward += [f"{name} {_KINDS[address.version]} {address}\n" for name, address in servers]
    backward = _ReverseZones(_rounded(subnet["prefix"]) for subnet in inventory.subnets() if subnet["device"] is None)
    for own_address in inventory.own_addresses():
        text, kind = text_of(own_address.address, own_address.version), _KINDS[own_address.version]
        name = f"{dns_label(own_address.port)}.{own_address.device}"
        if login_addresses.get(own_address.device) == text:
            forward += (f"{own_address.device} {kind} {text}\n", f"{name} {kind} {text}\n")
            name = own_address.device
        else:
            forward.append(f"{name} {kind} {text}\n")
        pointer = f"{_pointer(own_address.address, own_address.version)}. PTR {name}.{domain}\n"
        zones[backward.zone(own_address.address, own_address.version)].append(pointer)
    files = {}
    for zone, lines in zones.items():
        files[f"{zone.rstrip('.')}.zone"] = [*_head(zone, domain, servers, serial), *lines]
    return files


def _head(zone: str, domain: str, servers: list[tuple[str, IPv4Address | IPv6Address]], serial: int) -> Iterator[str]:
    yield f"$ORIGIN {zone}\n$TTL {_TTL}\n"
    yield f"@ SOA {servers[0][0]}.{domain} hostmaster.{domain} {serial} {_REFRESH} {_RETRY} {_EXPIRE} {_NEGATIVE}\n"
    for name, _ in servers:
        yield f"@ NS {name}.{domain}\n"


class _ReverseZones:
    """Reverse zones: an address belongs to that of the smallest pool around it, or else of its network."""

    def __init__(self, pools: Iterable[IPv4Network | IPv6Network]) -> None:
        nets = sorted(set(pools), key=lambda net: -net.prefixlen)
        self._pools = [
            (net.version, net.max_prefixlen - net.prefixlen, int(net.network_address), _reverse(net)) for net in nets
        ]
        self._others: dict[tuple[int, int], str] = {}

    def zone(self, address: int, version: int) -> str:
        """The name of the zone, with the dot at its end."""
        for version_of_pool, bits, network, name in self._pools:
            if version_of_pool == version and address >> bits == network >> bits:
                return name
        bits = 8 if version == 4 else 64
        key = (version, address >> bits)
        if key not in self._others:
            length = 24 if version == 4 else 64
            self._others[key] = _reverse(ip_network(f"{text_of(address, version)}/{length}", strict=False))
        return self._others[key]


def _pointer(address: int, version: int) -> str:
    """The reverse name of an address; ``ipaddress`` takes ten times as long."""
    if version == 4:
        return ".".join(str(address >> bits & 255) for bits in (0, 8, 16, 24)) + ".in-addr.arpa"
    return ".".join(f"{address:032x}"[::-1]) + ".ip6.arpa"


def _rounded(prefix: str) -> IPv4Network | IPv6Network:
    """The smallest network around a prefix with a whole number of labels in its reverse name: octets, or four bits."""
    network = ip_network(prefix)
    step = 8 if network.version == 4 else 4
    # At least one label belongs to the host: a zone of one address would have its record at the top.
    return network.supernet(new_prefix=min(network.prefixlen, network.max_prefixlen - step) // step * step)


def _reverse(network: IPv4Network | IPv6Network) -> str:
    step = 8 if network.version == 4 else 4
    labels = network.network_address.reverse_pointer.split(".")
    return ".".join(labels[(network.max_prefixlen - network.prefixlen) // step :]) + "."
