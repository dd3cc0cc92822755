"""Routes configured on a Linux host: by systemd-networkd, NetworkManager and FRR."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.facts.reader import Fault, RouteCheck

# Begins with the end of the line before: a search for a fixed text is much faster than one for beginnings of lines.
_NETWORK = re.compile(
    r"\n(?:(?P<section>\[.*\])|Destination=(?P<to>\S+)|(?:Gateway|MultiPathRoute)=(?P<via>[^@\s]+)\S*|(?P<learnt>(?:DHCP|IPv6AcceptRA)="
    r"(?!no\b|false\b|0\b).*))$",
    re.M,
)
_FRR = re.compile(r"^(?:ip|ipv6) route (?P<to>\S+) (?P<via>\S+).*$", re.M)
_DEFAULT = re.compile(r"^ *neighbor \S+ default-originate.*$", re.M)
_PROFILE = re.compile(r"^(?:gateway|address\d+|route\d+)=(?P<value>.*)$", re.M)


def networkd_routes(text: str, check_route: RouteCheck) -> Iterator[Fault]:
    """Routes of a .network file, and settings for learning routes."""
    section, start = "", 0
    hops: list[str] = []
    destinations: list[tuple[int, str]] = []
    for match in _NETWORK.finditer(f"\n{text}"):
        if match["section"]:
            if section == "[Route]":
                yield from _route_faults(start, hops, destinations, check_route)
            section, start, hops, destinations = match["section"], match.start(), [], []
        elif match["to"]:
            destinations.append((match.start(), match["to"]))
        elif match["via"]:
            hops.append(match["via"])
            if section == "[Network]":
                yield match.start(), "a default route (Gateway= of the network) leads everywhere, the internet included"
        else:
            yield match.start(), f"{match['learnt']} takes routes from any neighbour"
    if section == "[Route]":
        yield from _route_faults(start, hops, destinations, check_route)


def _route_faults(
    start: int, hops: list[str], destinations: list[tuple[int, str]], check_route: RouteCheck
) -> Iterator[Fault]:
    """Errors of a section [Route], for each of its hops."""
    if hops and not destinations:
        yield start, "a default route (a gateway without a destination) leads everywhere, the internet included"
    for offset, prefix in destinations:
        faults = dict.fromkeys(check_route(prefix, hop) for hop in hops or [""])
        for fault in faults:
            if fault:
                yield offset, fault


def frr_routes(text: str, check_route: RouteCheck) -> Iterator[Fault]:
    """Static routes of FRR, and its announced default routes."""
    for match in _FRR.finditer(text):
        fault = check_route(match["to"], match["via"])
        if fault:
            yield match.start(), fault
    for match in _DEFAULT.finditer(text):
        yield match.start(), f'"{match[0].strip()}" announces a default route'


def profile_routes(text: str, check_route: RouteCheck) -> Iterator[Fault]:
    """A NetworkManager profile: ``address1=ADDRESS/LENGTH[,GATEWAY]``, ``route1=PREFIX,HOP``, ``gateway=``."""
    for match in _PROFILE.finditer(text):
        key, _, value = match[0].partition("=")
        parts = value.split(",")
        if key.startswith("route"):
            hop = parts[1] if len(parts) > 1 else ""
            fault = check_route(parts[0], hop)
            if fault:
                yield match.start(), fault
        elif key == "gateway" or len(parts) > 1:
            yield match.start(), "a gateway makes a default route: it leads everywhere, the internet included"


ROUTES = {
    ".network": networkd_routes,
    "frr.conf": frr_routes,
    "bgpd.conf": frr_routes,
    ".nmconnection": profile_routes,
}
