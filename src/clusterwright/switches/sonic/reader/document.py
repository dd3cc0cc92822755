"""A config_db.json as its tables: each reader takes its own from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

# What FRR runs, which `show runningconfiguration all` prints beside the tables (sonic-utilities, show/main.py).
_TEXT_OF_FRR = "bgpraw"
# Tables whose rows may name several ports, and a range of queues or priority groups (buffermgr.cpp, qosorch.cpp).
_RANGES = ("BUFFER_PG", "BUFFER_QUEUE", "QUEUE")


@lru_cache(maxsize=128)
def tables_of(text: str) -> Mapping[str, Any]:
    """What the file holds, parsed once for all readers, none of which changes it.

    Raises ValueError for what is no object of tables with rows.
    """
    tables = json.loads(text)
    if isinstance(tables, dict) and isinstance(tables.get(_TEXT_OF_FRR), str):
        del tables[_TEXT_OF_FRR]
    if not isinstance(tables, dict) or not all(isinstance(rows, dict) for rows in tables.values()):
        raise ValueError("it is no object of tables")
    for table, rows in tables.items():
        for key, row in rows.items():
            if not isinstance(row, dict):
                raise ValueError(f"{table} {key} is no row of fields")
    for name in _RANGES:
        if name in tables:
            tables[name] = _one_by_one(tables[name])
    return tables


def _one_by_one(rows: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row for each port and queue. One that another row contradicts keeps its name, which no reader knows."""
    single: dict[str, Any] = {}
    for key, row in rows.items():
        keys = list(_keys_of(key))
        if any(single.get(each, rows.get(each, row)) != row for each in keys):
            single[key] = row
        else:
            single.update(dict.fromkeys(keys, row))
    return single


def _keys_of(key: str) -> Iterator[str]:
    """The rows that a key like ``Ethernet0,Ethernet4|3-4`` stands for."""
    ports, _, numbers = key.partition("|")
    first, _, last = numbers.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal():
        yield key
        return
    for port in ports.split(","):
        for number in range(int(first), int(last or first) + 1):
            yield f"{port}|{number}"


def place_of(text: str, *keys: str) -> int:
    """Where the last of ``keys`` stands, each below the one before it; one that is not found is passed over."""
    place = 0
    for key in keys:
        place = max(place, text.find(f'"{key}"', place))
    return place
