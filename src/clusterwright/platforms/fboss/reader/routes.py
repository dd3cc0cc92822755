"""Routes of an FBOSS switch that lead elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from clusterwright.platforms.reader import Fault, RouteJudge

_ROUTES = re.compile(r'"staticRoutes(?!ToNull")\w*":\s*')


def routes(text: str, judge: RouteJudge) -> Iterator[Fault]:
    """The agent's static routes, but those to nowhere; only their part of the file is parsed."""
    if text.count('"staticRoutes') == text.count('"staticRoutesToNull'):
        return
    for key in _ROUTES.finditer(text):
        rows = json.JSONDecoder().raw_decode(text, key.end())[0]
        for row in rows:
            for hop in row.get("nexthops", []) or [""]:
                if what := judge(row["prefix"], hop):
                    yield text.find(f'"{row["prefix"]}"', key.start()), what
