"""What FBOSS's agent.conf and bgpcpp.conf say beside their tables that takes packets around them.

Names are those of facebook/fboss (switch_config.thrift, bgp_config.thrift).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.platforms.reader import LEASES, Fault, Planned, stranger

_ELSEWHERE = "takes packets past the tables of their ports"
_COPIES = "sends copies of packets elsewhere"
# Keys of FBOSS's switch, where files are written with four blanks before them; others are only looked for by name.
_SWITCH_KEY = re.compile(r'\n    "(\w+)": ')
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
_RELAY = re.compile(r'"dhcpRelay(?:Address|Overrides)V[46]": "([^"]+)"')
_LIVE = re.compile(r'\{"logicalID": \d+, "name": "([^"]+)",[^{}]*?"state": 2\b')
_PEER = re.compile(r'"peer_addr": "([^"]*)"')


def openings(text: str, device: str, declared: Planned | None) -> Iterator[Fault]:
    """Everything in an agent.conf that opens a way beside its tables, with its place in the text."""
    for found in _SWITCH_KEY.finditer(text):
        if (reason := _OPEN.get(found[1])) is not None:
            yield found.start(1), f"{found[1]} {reason}"
    for word, pattern, reason in _INSIDE:
        for found in pattern.finditer(text) if word in text else ():
            yield found.start(), f"{found[0]} {reason}"
    if declared is None:
        return
    planned = declared.linked.get(device, frozenset())
    start = max(0, text.find('\n    "ports": '))
    for found in _LIVE.finditer(text, start, max(start, text.find("\n    ]", start))):
        if found[1] not in planned:
            yield found.start(), f"{found[1]} is in service, and the plan has no cable there"
    for found in _RELAY.finditer(text) if "dhcpRelay" in text else ():
        if what := stranger(found[1], LEASES, declared):
            yield found.start(), what


def session_openings(text: str, device: str, declared: Planned | None) -> Iterator[Fault]:
    """BGP sessions of a bgpcpp.conf with addresses that are on no planned link."""
    for found in _PEER.finditer(text) if declared is not None else ():
        if declared is not None and (what := declared.unmet(device, found[1])):
            yield found.start(), what
