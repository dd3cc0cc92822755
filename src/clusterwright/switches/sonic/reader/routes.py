"""Routes of a SONiC switch to other destinations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.facts.reader import Fault, RouteCheck
from clusterwright.switches.sonic.reader.document import tables_of


def routes(text: str, check_route: RouteCheck) -> Iterator[Fault]:
    """Static routes, but those to nowhere; a gateway makes a default route, unless one to nowhere comes before it."""
    document: Mapping[str, Any] = tables_of(text)
    routes = document.get("STATIC_ROUTE", {})
    discards = {key for key, fields in routes.items() if fields.get("blackhole") == "true"}
    for key, fields in routes.items():
        if key in discards:
            continue
        prefix = key.rpartition("|")[2]
        faults = [check_route(prefix, hop) for hop in fields.get("nexthop", "").split(",")]
        for fault in dict.fromkeys(filter(None, faults)):
            yield text.find(f'"{key}"'), fault
    for key, fields in document.get("MGMT_INTERFACE", {}).items():
        anywhere = "::/0" if ":" in fields.get("gwaddr", "") else "0.0.0.0/0"
        if "gwaddr" in fields and f"mgmt|{anywhere}" not in discards:
            yield text.find(f'"{key}"'), "gwaddr makes a default route of the management VRF: it leads everywhere"
