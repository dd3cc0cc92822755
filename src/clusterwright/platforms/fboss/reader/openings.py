"""What FBOSS's agent.conf and bgpcpp.conf say beside their tables that takes packets around them.

Names are those of facebook/fboss (switch_config.thrift, bgp_config.thrift).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from clusterwright.platforms.fboss.reader.configuration import AGENT, ENABLED, LAYOUTS
from clusterwright.platforms.fboss.reader.document import Json, document_of
from clusterwright.platforms.reader import LEASES, LOGS, NAMES, TIME, Fault, Planned, Server

_ELSEWHERE = "takes packets past the tables of their ports"
_COPIES = "sends copies of packets elsewhere"
_OPEN = {
    "mirrors": _COPIES,
    "mirrorOnDropReports": _COPIES,
    "sFlowCollectors": _COPIES,
    "ipInIpTunnels": _ELSEWHERE,
    "staticMplsRoutesWithNhops": _ELSEWHERE,
    "staticIp2MplsRoutes": _ELSEWHERE,
    "globalEgressTrafficPolicy": _ELSEWHERE,
}
# Further inside, with a word that one search finds.
_INSIDE = (
    ('irror"', re.compile(r'"(?:ingress|egress)Mirror"'), _COPIES),
    ("redirectToNextHop", re.compile(r'"redirectToNextHop"'), _ELSEWHERE),
)
_RELAYS = tuple(f"dhcpRelay{what}V{version}" for what in ("Address", "Overrides") for version in (4, 6))
_CHRONY = re.compile(r"^(?:server|pool|peer) (\S+)", re.M)
_RSYSLOG = re.compile(r'^\*\.\* action\(type="omfwd" target="([^"]*)"', re.M)
_DNS = re.compile(r"^dns=(.*)$", re.M)
_PEER = re.compile(r'"peer_addr":\s*"([^"]*)"')


def openings(text: str, device: str, declared: Planned | None) -> Iterator[Fault]:
    """Everything in an agent.conf that opens a way beside its tables, with its place in the text.

    Raises ValueError, KeyError or TypeError for text that is no such file.
    """
    switch = document_of(text, LAYOUTS[AGENT]).value["sw"]
    for key in switch:
        if (reason := _OPEN.get(key)) is not None:
            yield text.find(f'"{key}"'), f"{key} {reason}"
    for word, pattern, reason in _INSIDE:
        for found in pattern.finditer(text) if word in text else ():
            yield found.start(), f"{found[0]} {reason}"
    if declared is not None:
        yield from _unplanned(text, switch, device, declared)


def _unplanned(text: str, switch: Json, device: str, declared: Planned) -> Iterator[Fault]:
    """Ports in service where the plan has no cable, and addresses of nobody."""
    planned = declared.linked.get(device, frozenset())
    for row in switch["ports"]:
        if row["state"] == ENABLED and row["name"] not in planned:
            yield text.find(f'"{row["name"]}"'), f"{row['name']} is in service, and the plan has no cable there"
    for row in switch["interfaces"]:
        if row.get("routerID"):
            at = text.find(f'"intfID": {row["intfID"]},')
            yield (
                at,
                f"{row.get('name', 'it')} is in the virtual router {row['routerID']}, and all planned ones are in 0",
            )
        for address in row["ipAddresses"]:
            if what := declared.misplaced(device, f"fboss{row['vlanID']}", address):
                yield text.find(f'"{address}"'), what


def relays(text: str) -> Iterator[Server]:
    """Servers that hosts' requests go to."""
    switch = document_of(text, LAYOUTS[AGENT]).value["sw"]
    for row in (*switch["interfaces"], *switch["vlans"]):
        for key in _RELAYS:
            for server in _relayed(row.get(key)):
                yield Server(text.find(f'"{server}"'), LEASES, server)


def time_servers(text: str) -> Iterator[Server]:
    """Servers that chrony asks."""
    return (Server(found.start(), TIME, found[1]) for found in _CHRONY.finditer(text))


def log_servers(text: str) -> Iterator[Server]:
    """Servers that rsyslog tells everything."""
    return (Server(found.start(), LOGS, found[1]) for found in _RSYSLOG.finditer(text))


def name_servers(text: str) -> Iterator[Server]:
    """Servers that NetworkManager asks through a port."""
    for found in _DNS.finditer(text):
        yield from (Server(found.start(), NAMES, each) for each in found[1].split(";") if each)


def _relayed(relay: object) -> Iterator[str]:
    """The servers that a relay names: one, or one for each of some hosts."""
    if isinstance(relay, Mapping):
        yield from map(str, relay.values())
    elif relay:
        yield str(relay)


def session_openings(text: str, device: str, declared: Planned | None) -> Iterator[Fault]:
    """BGP sessions of a bgpcpp.conf with addresses that are on no planned link."""
    for found in _PEER.finditer(text) if declared is not None else ():
        if declared is not None and (what := declared.unmet(device, found[1])):
            yield found.start(), what
