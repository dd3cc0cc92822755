"""Addresses impossible as a source, and addresses of the internet, with tests of how many of these prefixes include."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_address
from itertools import chain
from typing import TypeVar

from clusterwright.spec.isolation import Address, Network

N = TypeVar("N", IPv4Network, IPv6Network)

MAPPED_IPV4 = IPv6Network("::ffff:0.0.0.0/96")
# RFC 6890: none of them is the source of a packet from a network.
NEVER_A_SOURCE: tuple[Network, ...] = (
    IPv4Network("0.0.0.0/8"),
    IPv4Network("127.0.0.0/8"),
    IPv4Network("224.0.0.0/3"),
    IPv6Network("::1/128"),
    MAPPED_IPV4,
    IPv6Network("100::/64"),
    IPv6Network("ff00::/8"),
)
# RFC 3927 forbids routers to forward these, but clouds serve metadata, names, time and boot disks from them.
LINK_LOCAL_IPV4 = IPv4Network("169.254.0.0/16")
# An owner's networks are longer prefixes: a prefix of this length is as large as half of the internet's addresses.
SHORTEST_IPV4 = 7
SHORTEST_IPV6 = 15
# IANA's registries of special-purpose addresses: no host on the internet has one of these.
_PRIVATE_IPV4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "224.0.0.0/3",
    )
)
# RFC 4291: all global unicast addresses given out by IANA.
_PUBLIC_IPV6 = IPv6Network("2000::/3")
DEFAULT_ROUTE: Mapping[int, Network] = {4: IPv4Network("0.0.0.0/0"), 6: IPv6Network("::/0")}


def address_or_none(text: str) -> Address | None:
    """The address in ``text``; None for a name."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def dropped_sources(held: Iterable[Network]) -> tuple[Network, ...]:
    """Sources dropped by a host, IPv4 first: RFC 6890's, and the IPv4 link-local addresses outside of all zones."""
    link_local = [LINK_LOCAL_IPV4]
    for network in held:
        if isinstance(network, IPv4Network):
            link_local = _all_without(link_local, network)
    four = [network for network in NEVER_A_SOURCE if isinstance(network, IPv4Network)]
    six = [network for network in NEVER_A_SOURCE if isinstance(network, IPv6Network)]
    return (*sorted((*four, *link_local)), *six)


def _all_without(networks: Iterable[N], excluded: N) -> list[N]:
    """The parts of networks of one version outside of ``excluded``."""
    return list(chain.from_iterable(_without(network, excluded) for network in networks))


def internet_without(networks: Iterable[Network]) -> tuple[Network, ...]:
    """All public addresses outside ``networks``, in the fewest prefixes, IPv4 first."""
    excluded = (*_PRIVATE_IPV4, *networks)
    remaining_ipv4 = [IPv4Network("0.0.0.0/0")]
    remaining_ipv6 = [_PUBLIC_IPV6]
    for network in excluded:
        if isinstance(network, IPv4Network):
            remaining_ipv4 = _all_without(remaining_ipv4, network)
        else:
            remaining_ipv6 = _all_without(remaining_ipv6, network)
    return (*collapse_addresses(remaining_ipv4), *collapse_addresses(remaining_ipv6))


def takes_in_internet(networks: Iterable[Network]) -> bool:
    """True for prefixes with as many public addresses as an IPv4 /7 or an IPv6 /15, in any number of parts."""
    prefixes = tuple(networks)
    return _public_ipv4(prefixes) >= 1 << (32 - SHORTEST_IPV4) or _public_ipv6(prefixes) >= 1 << (128 - SHORTEST_IPV6)


def _public_ipv4(networks: Iterable[Network]) -> int:
    remaining = list(collapse_addresses(network for network in networks if isinstance(network, IPv4Network)))
    for private in _PRIVATE_IPV4:
        remaining = _all_without(remaining, private)
    return sum(network.num_addresses for network in remaining)


def _public_ipv6(networks: Iterable[Network]) -> int:
    merged = collapse_addresses(network for network in networks if isinstance(network, IPv6Network))
    public = [network for network in merged if network.overlaps(_PUBLIC_IPV6)]
    return sum(min(network.num_addresses, _PUBLIC_IPV6.num_addresses) for network in public)


def _without(whole: N, part: N) -> list[N]:
    """The parts of ``whole`` outside ``part``."""
    if whole.subnet_of(part):
        return []
    if part.subnet_of(whole):
        return list(whole.address_exclude(part))
    return [whole]
