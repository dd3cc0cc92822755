"""Default routes of systemd-networkd's files, with their tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAIN_TABLE = "main"
_DESTINATION = re.compile(r"^Destination=(?:0\.0\.0\.0/0|::/0)$", re.M)
_TABLE = re.compile(r"^Table=(\S+)$", re.M)
_HOP = re.compile(r"^(?:Gateway|MultiPathRoute)=([^@\s]+)", re.M)


def default_routes(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Table and next hops of each default route; systemd.network(5) puts one without ``Table=`` into the main table."""
    for section in text.split("\n[Route]\n")[1:]:
        lines = section.split("\n[", 1)[0]
        if _DESTINATION.search(lines):
            table = _TABLE.search(lines)
            yield table[1] if table else MAIN_TABLE, frozenset(_HOP.findall(lines))
