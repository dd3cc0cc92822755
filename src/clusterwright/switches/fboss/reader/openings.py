"""Settings of FBOSS's agent.conf and bgpcpp.conf outside their tables that take packets around them.

Names are those of facebook/fboss (switch_config.thrift, bgp_config.thrift).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from clusterwright.facts.reader import LEASES, LOGS, NAMES, TIME, Fault, Planned, Server
from clusterwright.switches.fboss.reader.agent import ENABLED
from clusterwright.switches.fboss.reader.configuration import AGENT, LAYOUTS
from clusterwright.switches.fboss.reader.document import FileInParts, FileShape, Json, document_of

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
_RELAYS = ("dhcpRelayAddressV4", "dhcpRelayAddressV6", "dhcpRelayOverridesV4", "dhcpRelayOverridesV6")
_CHRONY = re.compile(r"^(?:server|pool|peer) (\S+)", re.M)
_RSYSLOG = re.compile(r'^\*\.\* action\(type="omfwd" target="([^"]*)"', re.M)
_DNS = re.compile(r"^dns=(.*)$", re.M)
_OWN_ADDRESS = re.compile(r"^address\d+=([^/,\n]+)", re.M)
_PEER = re.compile(r'"peer_addr":\s*"([^"]*)"')


class _Interface(NamedTuple):
    """An interface with its addresses to be checked, possibly blanks."""

    number: object
    name: str
    router: object
    vlan: object
    addresses: tuple[str, ...]


class _SharedSettings(NamedTuple):
    """Settings common to all files of a shape with possible openings.

    Fields of the switch, whether words of ``_INSIDE`` occur, ports in service, interfaces and the servers of relays.
    """

    fields: tuple[str, ...]
    is_inside: bool
    ports: tuple[str, ...]
    interfaces: tuple[_Interface, ...]
    servers: tuple[str, ...]


@lru_cache(maxsize=256)
def _shared_settings(shape: FileShape) -> _SharedSettings:
    """Raises ValueError, KeyError or TypeError for any other file."""
    switch = shape.outline["sw"]
    open_fields = [key for key in switch if key in _OPEN]
    texts = (shape.around, *shape.forms)
    servers: list[str] = []
    for row in (*switch["interfaces"], *switch["vlans"]):
        for key in _RELAYS:
            servers += _relayed(row.get(key))
    return _SharedSettings(
        fields=tuple(key for key in open_fields if switch[key]),
        is_inside=any(_has_word(texts, word) for word, _, _ in _INSIDE),
        ports=tuple(row["name"] for row in switch["ports"] if row["state"] == ENABLED),
        interfaces=tuple(map(_interface, switch["interfaces"])),
        servers=tuple(dict.fromkeys(servers)),
    )


def _has_word(texts: Iterable[str], word: str) -> bool:
    return any(word in text for text in texts)


def _interface(row: Json) -> _Interface:
    return _Interface(
        number=row.get("intfID"),
        name=row.get("name", "it"),
        router=row.get("routerID"),
        vlan=row["vlanID"],
        addresses=tuple(row["ipAddresses"]),
    )


def openings(text: str, device: str, declared: Planned | None) -> Iterator[Fault]:
    """Everything in an agent.conf with a path around its tables, with its place in the text.

    Raises ValueError, KeyError or TypeError for any other text.
    """
    document = document_of(text, LAYOUTS[AGENT])
    values = _shared_settings(document.shape)
    for key in values.fields:
        yield text.find(f'"{key}"'), f"{key} {_OPEN[key]}"
    if values.is_inside:
        for word, pattern, reason in _INSIDE:
            if word in text:
                for match in pattern.finditer(text):
                    yield match.start(), f"{match[0]} {reason}"
    if declared is not None:
        yield from _unplanned(text, document, values, device, declared)


def _unplanned(
    text: str, document: FileInParts, values: _SharedSettings, device: str, declared: Planned
) -> Iterator[Fault]:
    """Ports in service without a planned cable, and unplanned addresses."""
    planned = declared.linked.get(device, frozenset())
    for name in values.ports:
        if name not in planned:
            yield text.find(f'"{name}"'), f"{name} is in service, and the plan has no cable there"
    for row in values.interfaces:
        if row.router:
            offset = text.find(f'"intfID": {row.number},')
            yield offset, f"{row.name} is in the virtual router {row.router}, and all planned ones are in 0"
        for blank in row.addresses:
            address = document.words[blank]
            if fault := declared.misplaced(device, f"fboss{row.vlan}", address):
                yield text.find(f'"{address}"'), fault


def relays(text: str) -> Iterator[Server]:
    """Servers for hosts' requests."""
    document = document_of(text, LAYOUTS[AGENT])
    for server in map(document.words.__getitem__, _shared_settings(document.shape).servers):
        yield Server(text.find(f'"{server}"'), LEASES, server)


def time_servers(text: str) -> Iterator[Server]:
    """Servers of chrony."""
    return (Server(match.start(), TIME, match[1]) for match in _CHRONY.finditer(text))


def log_servers(text: str) -> Iterator[Server]:
    """Servers of rsyslog."""
    return (Server(match.start(), LOGS, match[1]) for match in _RSYSLOG.finditer(text))


def name_servers(text: str) -> Iterator[Server]:
    """Servers of NetworkManager through a port."""
    for match in _DNS.finditer(text):
        yield from (Server(match.start(), NAMES, word) for word in match[1].split(";") if word)


def host_addresses(text: str) -> Iterator[str]:
    """NetworkManager's addresses on a port."""
    return (address[1] for address in _OWN_ADDRESS.finditer(text))


def _relayed(relay: object) -> Iterator[str]:
    """The servers in a relay: one, or one for each of some hosts."""
    if isinstance(relay, Mapping):
        yield from map(str, relay.values())
    elif relay:
        yield str(relay)


def session_openings(text: str, device: str, declared: Planned | None) -> Iterator[Fault]:
    """BGP sessions of a bgpcpp.conf with addresses outside planned links."""
    if declared is not None:
        for match in _PEER.finditer(text):
            if fault := declared.unmet(device, match[1]):
                yield match.start(), fault
