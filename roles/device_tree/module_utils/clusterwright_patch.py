"""What differs between two files of tables, as a JSON patch (RFC 6902) of the configuration that runs."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, Mapping, Sequence, Tuple

BETWEEN = " > "
Place = Tuple[str, ...]
Operation = Dict[str, Any]


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[Place, Operation]]:
    """Each table, row or field that differs, with the operation that makes it as it is after."""
    for table in sorted(set(before) | set(after)):
        old, new = before.get(table) or {}, after.get(table) or {}  # a table without rows is none
        if bool(old) != bool(new):
            yield (table,), _operation((table,), old or None, new or None)
        for row in sorted(set(old) | set(new)) if old and new else ():
            was, will = old.get(row), new.get(row)
            if was is None or will is None:
                yield (table, row), _operation((table, row), was, will)
                continue
            for field in sorted(set(was) | set(will)):
                if was.get(field) != will.get(field):
                    yield (table, row, field), _operation((table, row, field), was.get(field), will.get(field))


def patch_of(before: bytes, after: bytes, step: Mapping[str, Any]) -> tuple[list[Operation], list[str]]:
    """The operations of the patch, and the places that they name; no operation where the step allows no patch of one.

    ``step`` has ``places``, expressions for what may be patched, and ``known`` with further ``places`` for files in
    which the value at the keys ``field`` matches ``value``.
    """
    was, will = json.loads(before), json.loads(after)
    allowed: list[str] = list(step["places"])
    known = step.get("known")
    if known and re.fullmatch(known["value"], str(_at(will, known["field"]))):
        allowed += known["places"]
    operations, places = [], []
    for place, operation in differences(was, will):
        operations.append(operation)
        # A table as a whole stands for its rows.
        rows = [*was.get(place[0], ()), *will.get(place[0], ())] if len(place) == 1 else ()
        places += [BETWEEN.join((place[0], row)) for row in rows] or [BETWEEN.join(place)]
    if all(any(re.fullmatch(each, place) for each in allowed) for place in places):
        return operations, places
    return [], places


def _at(document: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        document = document.get(key, {}) if isinstance(document, dict) else {}
    return document


def _operation(place: Place, was: Any, will: Any) -> Operation:
    path = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in place)
    if will is None:
        return {"op": "remove", "path": path}
    return {"op": "add" if was is None else "replace", "path": path, "value": will}
