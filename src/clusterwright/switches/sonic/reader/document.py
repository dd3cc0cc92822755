"""A config_db.json as its tables: each reader takes its own from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from clusterwright.switches.sonic.reader.arguments import unfit, without

# What FRR runs, which `show runningconfiguration all` prints beside the tables (sonic-utilities, show/main.py).
_TEXT_OF_FRR = "bgpraw"
_NO_TABLES = "it is no object of tables"
# Tables whose rows may name several ports, and a range of queues or priority groups (buffermgr.cpp, qosorch.cpp).
_RANGES = ("BUFFER_PG", "BUFFER_QUEUE", "QUEUE")


def tables_of(text: str) -> Mapping[str, Any]:
    """The file's content in forms known to readers, parsed once for all of them; none changes it.

    Raises ValueError for anything but an object of tables.
    """
    return _read(text)[1]


def unfit_places(text: str) -> list[tuple[str, ...]]:
    """The keys of rows and fields in unknown forms, left out by ``tables_of``."""
    return _read(text)[2]


def all_tables_of(text: str) -> Mapping[str, Any]:
    """The file's content in any form. Raises ValueError for anything but an object of tables."""
    tables = _read(text)[0]
    if not all(isinstance(rows, dict) for rows in tables.values()):
        raise ValueError(_NO_TABLES)
    return tables


@lru_cache(maxsize=128)
def _read(text: str) -> tuple[Mapping[str, Any], Mapping[str, Any], list[tuple[str, ...]]]:
    tables = json.loads(text)
    if isinstance(tables, dict) and isinstance(tables.get(_TEXT_OF_FRR), str):
        del tables[_TEXT_OF_FRR]
    if not isinstance(tables, dict):
        raise ValueError(_NO_TABLES)
    for name in _RANGES:
        if isinstance(tables.get(name), dict):
            tables[name] = _one_by_one(tables[name])
    places = list(unfit(tables))
    return tables, without(tables, places) if places else tables, places


def _one_by_one(rows: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row for each port and queue. One contradicted by another row keeps its unknown name."""
    single: dict[str, Any] = {}
    for key, row in rows.items():
        keys = list(_keys_of(key))
        if any(single.get(key, rows.get(key, row)) != row for key in keys):
            single[key] = row
        else:
            single.update(dict.fromkeys(keys, row))
    return single


def _keys_of(key: str) -> Iterator[str]:
    """The rows for a key like ``Ethernet0,Ethernet4|3-4``."""
    ports, _, numbers = key.partition("|")
    first, _, last = numbers.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal():
        yield key
        return
    for port in ports.split(","):
        for number in range(int(first), int(last or first) + 1):
            yield f"{port}|{number}"


def place_of(text: str, *keys: str) -> int:
    """Place of the last of ``keys``, each below the one before it; a missing one is passed over."""
    place = 0
    for key in keys:
        place = max(place, text.find(f'"{key}"', place))
    return place
