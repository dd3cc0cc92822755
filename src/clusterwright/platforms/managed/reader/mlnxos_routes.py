"""Routes of an MLNX-OS switch's management port."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_network

from clusterwright.platforms.reader import Fault, RouteJudge

_MLNX = re.compile(r"^(?:ip (?:default-gateway|route (?P<to>\S+) /?(?P<mask>\S+))|ipv6 route (?P<six>\S+)) \S+", re.M)


def routes(text: str, judge: RouteJudge) -> Iterator[Fault]:
    """Default routes and static ones."""
    for found in _MLNX.finditer(text):
        to = found["six"] or (f"{found['to']}/{found['mask']}" if found["to"] else "default")
        if what := judge(to if found["six"] or to == "default" else str(ip_network(to))):
            yield found.start(), what
