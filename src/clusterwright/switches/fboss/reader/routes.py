"""Routes of an FBOSS switch to other destinations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from clusterwright.facts.reader import Fault, RouteCheck
from clusterwright.switches.fboss.reader.configuration import AGENT, LAYOUTS
from clusterwright.switches.fboss.reader.document import FileShape, document_of

_ROUTES = re.compile(r'"staticRoutes(?!ToNull")\w*":\s*')
_HAS_ROUTES = re.compile(r'(?:^|")staticRoutes(?!ToNull")')  # a part begins behind its first quote


@lru_cache(maxsize=256)
def _has_routes(shape: FileShape) -> bool:
    """Whether any file of a shape may have some: words hold no quotes."""
    return any(_HAS_ROUTES.search(part) for part in (shape.around, *shape.forms))


def routes(text: str, check_route: RouteCheck) -> Iterator[Fault]:
    """The agent's static routes, but those to nowhere; only their part of the file is parsed."""
    if not _has_routes(document_of(text, LAYOUTS[AGENT]).shape):
        return
    for key in _ROUTES.finditer(text):
        rows = json.JSONDecoder().raw_decode(text, key.end())[0]
        for row in rows:
            for hop in row.get("nexthops", []) or [""]:
                if fault := check_route(row["prefix"], hop):
                    yield text.find(f'"{row["prefix"]}"', key.start()), fault
