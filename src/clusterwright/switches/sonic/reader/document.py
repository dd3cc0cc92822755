"""A config_db.json as its tables: each reader takes its own from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=128)
def tables_of(text: str) -> Mapping[str, Any]:
    """What the file holds, parsed once for all readers, none of which changes it. Raises ValueError for no JSON."""
    found: Mapping[str, Any] = json.loads(text)
    return found


def place_of(text: str, *keys: str) -> int:
    """Where the last of ``keys`` stands, each below the one before it; one that is not found is passed over."""
    place = 0
    for key in keys:
        place = max(place, text.find(f'"{key}"', place))
    return place
