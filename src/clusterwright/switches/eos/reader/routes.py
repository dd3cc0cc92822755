"""Routes of an EOS switch that lead elsewhere, and what brings some in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.facts.reader import Fault, RouteJudge

_STATIC = re.compile(r"\nip(?:v6)? route (?:vrf (?P<vrf>\S+) )?(?P<to>\S+) (?P<via>.+)$", re.M)
_LEAK = re.compile(
    r"^ *(?:neighbor \S+ default-originate.*|leak routes .*|route-target import .*|vpn-import .*|redistribute .*)$",
    re.M,
)
_LEAKS = ("default-originate", "leak routes ", "route-target import ", "vpn-import ", "redistribute ")


def routes(text: str, judge: RouteJudge) -> Iterator[Fault]:
    """Static routes but those to nowhere, and everything that brings routes from outside."""
    for found in _STATIC.finditer(f"\n{text}"):
        hop = next((word for word in found["via"].split() if "." in word or ":" in word), "")
        if found["via"].split()[0] != "Null0" and (what := judge(found["to"], hop)):
            yield found.start(), what
        if "egress-vrf" in found["via"]:
            own = found["vrf"] or "default"
            yield found.start(), f"a static route of VRF {own} leaves through another VRF: the two are no longer apart"
    if any(word in text for word in _LEAKS):
        for found in _LEAK.finditer(text):
            yield found.start(), f'"{found[0].strip()}" brings routes from outside their VRF or protocol'
