"""The tables of a config_db.json."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

from clusterwright.switches.sonic.reader.arguments import unfit, without

# FRR's configuration, printed by `show runningconfiguration all` beside the tables (sonic-utilities, show/main.py).
_TEXT_OF_FRR = "bgpraw"
_QUEUES = re.compile(r"(?P<first>[0-9]{1,2})(?:-(?P<last>[0-9]{1,2}))?")
_NO_TABLES = "it is no object of tables"
# Tables whose rows may name several ports, and a range of queues or priority groups (buffermgr.cpp, qosorch.cpp).
_RANGES = ("BUFFER_PG", "BUFFER_QUEUE", "QUEUE")
# Tables whose rows may name several ports alone (qosorch.cpp, handlePortQosMapTable); PFC_WD takes one (pfcwdorch.cpp).
_PORT_LISTS = ("PORT_QOS_MAP",)


class _Document(NamedTuple):
    """A parsed file: its ``tables`` in any form, and the ``readable`` ones, without the ``unfit`` places.

    ``doubled`` are keys that stand twice in one object.
    """

    tables: Mapping[str, Any]
    readable: Mapping[str, Any]
    unfit: list[tuple[str, ...]]
    doubled: list[str]


def tables_of(text: str) -> Mapping[str, Any]:
    """The file's content in forms known to readers, parsed once for all of them; none changes it.

    Raises ValueError for anything but an object of tables.
    """
    return _read(text).readable


def unfit_places(text: str) -> list[tuple[str, ...]]:
    """The keys of rows and fields in unknown forms, left out by ``tables_of``."""
    return _read(text).unfit


def doubled_keys(text: str) -> list[str]:
    """Keys that stand twice in one object, also by two spellings of an address.

    Python's parser, which SONiC loads the file with, keeps the last of equal keys. Of two spellings it keeps both, and
    the order in which programs apply them is that of the database.
    """
    return _read(text).doubled


def all_tables_of(text: str) -> Mapping[str, Any]:
    """The file's content in any form. Raises ValueError for anything but an object of tables."""
    tables = _read(text).tables
    if not all(isinstance(rows, dict) for rows in tables.values()):
        raise ValueError(_NO_TABLES)
    return tables


@lru_cache(maxsize=128)
def _read(text: str) -> _Document:
    doubled: list[str] = []
    tables = json.loads(text, object_pairs_hook=partial(_object, doubled))
    if isinstance(tables, dict) and isinstance(tables.get(_TEXT_OF_FRR), str):
        del tables[_TEXT_OF_FRR]
    if not isinstance(tables, dict):
        raise ValueError(_NO_TABLES)
    for name in _RANGES:
        if isinstance(tables.get(name), dict):
            tables[name] = _one_by_one(tables[name], _queues_of)
    for name in _PORT_LISTS:
        if isinstance(tables.get(name), dict):
            tables[name] = _one_by_one(tables[name], _ports_of)
    places = list(unfit(tables))
    readable = without(tables, places) if places else tables
    return _Document(tables=tables, readable=readable, unfit=places, doubled=doubled)


def _object(doubled: list[str], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a JSON file; its keys that stand twice are added to ``doubled``."""
    made = dict(pairs)
    if len(made) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        doubled.extend(key for key, count in counts.items() if count > 1)
    return made


def _one_by_one(rows: Mapping[str, Any], keys_of: Callable[[str], Iterable[str]]) -> Mapping[str, Any]:
    """A row for each port and queue. One contradicted by another row keeps its unknown name."""
    single: dict[str, Any] = {}
    for key, row in rows.items():
        keys = list(keys_of(key))
        if any(single.get(key, rows.get(key, row)) != row for key in keys):
            single[key] = row
        else:
            single.update(dict.fromkeys(keys, row))
    return single


def _queues_of(key: str) -> Iterator[str]:
    """The rows for a key like ``Ethernet0,Ethernet4|3-4``.

    A range has to rise: orchagent refuses ``3-3`` and ``4-3`` (sonic-net/sonic-swss, orch.cpp, parseIndexRange). These
    and numbers of another form keep their unknown name.
    """
    ports, _, numbers = key.partition("|")
    match = _QUEUES.fullmatch(numbers)
    if match is None:
        yield key
        return
    first = int(match["first"])
    last = int(match["last"] or first)
    if match["last"] and last <= first:
        yield key
        return
    for port in ports.split(","):
        for number in range(first, last + 1):
            yield f"{port}|{number}"


def _ports_of(key: str) -> list[str]:
    """The rows for a key like ``Ethernet0,Ethernet4``."""
    return key.split(",")


def place_of(text: str, *keys: str) -> int:
    """Place of the last of ``keys``, each below the one before it; a missing one is passed over."""
    place = 0
    for key in keys:
        place = max(place, text.find(f'"{key}"', place))
    return place
