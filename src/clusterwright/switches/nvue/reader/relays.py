"""Source address of a switch with NVUE for its hosts' requests to DHCP servers.

Over IPv4 isc-dhcp-relay takes the gateway's if configured. Over IPv6 it leaves the source to the kernel: the one in the
route to the server, else that of the route's port.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.facts.router import packed
from clusterwright.switches.nvue.reader.objects import Object

VRF = "default"
_PERMIT = "permit"
_GATEWAY = frozenset({"gateway", "giaddress"})  # since and before Cumulus Linux 5.6
_Place = tuple[int, tuple[str, ...]]


def asks_from_gateway(root: Object) -> bool:
    """Whether requests over IPv4 leave from the address of the interface they came in at."""
    return root.text("service", "dhcp-relay", VRF, "source-ip") in _GATEWAY


def asks_from_port(root: Object) -> bool:
    """Whether requests over IPv6 leave by the interface of the hosts themselves, with an address of it."""
    relay = root.at("service", "dhcp-relay6", VRF, "interface")
    upstream = relay.at("upstream").below.keys()
    return bool(upstream) and upstream == relay.at("downstream").below.keys()


def route_source(root: Object, family: str = "ipv6") -> bytes | None:
    """The source of packets by BGP's routes; None without one.

    Raises ValueError for text other than an address.
    """
    source = _source_rule(root, _fib_filter(root, family).value).text("set", "source-ip")
    return packed(source) if source else None


def unknown_filters(root: Object) -> Iterator[_Place]:
    """Filters between BGP and the kernel that could keep a route back."""
    for family in ("ipv4", "ipv6"):
        filter_name = _fib_filter(root, family)
        if filter_name.line and not _source_rule(root, filter_name.value).line:
            yield filter_name.line, ("vrf", VRF, "router", "rib", family, "protocol", "bgp", "fib-filter")


def _fib_filter(root: Object, family: str) -> Object:
    return root.at("vrf", VRF, "router", "rib", family, "protocol", "bgp", "fib-filter")


def _source_rule(root: Object, name: str) -> Object:
    """The single rule of a route map that permits every route; an empty object for any other map."""
    rules = [rule for _, rule in root.items("router", "policy", "route-map", name, "rule")]
    if len(rules) != 1:
        return Object()
    permits = rules[0].at("action").below.keys() == {_PERMIT}
    matches_every_route = rules[0].at("match").below.keys() <= {"type"}
    return rules[0] if permits and matches_every_route else Object()
