"""Routes of an EOS switch to other destinations, and sources of further routes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.facts.reader import Fault, RouteCheck

_STATIC = re.compile(r"\nip(?:v6)? route (?:vrf (?P<vrf>\S+) )?(?P<to>\S+) (?P<via>.+)$", re.M)
_LEAK = re.compile(
    r"^ *(?:neighbor \S+ default-originate.*|leak routes .*|route-target import .*|vpn-import .*|redistribute .*)$",
    re.M,
)
_LEAKS = ("default-originate", "leak routes ", "route-target import ", "vpn-import ", "redistribute ")


def routes(text: str, check_route: RouteCheck) -> Iterator[Fault]:
    """Static routes except discarding ones, and every source of routes from outside."""
    for match in _STATIC.finditer(f"\n{text}"):
        words = match["via"].split()
        hop = next(filter(_is_address, words), "")
        if words[0] != "Null0" and (fault := check_route(match["to"], hop)):
            yield match.start(), fault
        if "egress-vrf" in match["via"]:
            vrf = match["vrf"] or "default"
            yield match.start(), f"a static route of VRF {vrf} leaves through another VRF: the two are no longer apart"
    if any(word in text for word in _LEAKS):
        for match in _LEAK.finditer(text):
            yield match.start(), f'"{match[0].strip()}" brings routes from outside their VRF or protocol'


def _is_address(word: str) -> bool:
    return "." in word or ":" in word
