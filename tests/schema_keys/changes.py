"""Other values for a place of a spec, all of which the schema accepts there."""

from __future__ import annotations

import copy
import string
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from jsonschema import Draft202012Validator
from tests.schema_keys.schema_leaves import Leaf, Place

from clusterwright.spec.text.document import Document

_NEAR = (1, -1, 2, -2, 10, -10)


def other_values(leaf: Leaf, value: Any, elsewhere: Iterable[Any]) -> Iterator[Any]:
    """Values that differ from ``value`` and that the schema accepts at ``leaf``; ``elsewhere`` stand at it in specs."""
    accepts = _validator(leaf)
    seen = [value]
    for candidate in _candidates(leaf.schema, value, list(elsewhere)):
        if not any(_same(candidate, known) for known in seen) and accepts(candidate):
            seen.append(candidate)
            yield candidate


def changed(document: Document, place: Place, value: Any, *, leaves_out: bool = False) -> Document:
    """``document`` with ``value`` at ``place``, or without that key where it ``leaves_out``; positions stay."""
    data = here = copy.copy(document.data)
    for step in place[:-1]:
        here[step] = here = copy.copy(here[step])  # what lies beside the way is shared: nobody changes a document
    if leaves_out:
        del here[place[-1]]
    else:
        here[place[-1]] = value
    return replace(document, data=data)


def _candidates(schema: Any, value: Any, elsewhere: list[Any]) -> Iterator[Any]:
    if "enum" in schema:
        yield from schema["enum"]
    elif "oneOf" in schema:
        for one in schema["oneOf"]:
            yield from _candidates(one, value, elsewhere)
            yield from [one["const"]] if "const" in one else [one["minimum"] + 7] if "minimum" in one else ()
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, list):
        yield from (value[:at] + value[at + 1 :] for at in range(len(value)))
        if value and isinstance(value[-1], str):
            yield from ([*value, text] for text in _texts(value[-1]))
    elif isinstance(value, dict):
        yield from ({key: item for key, item in value.items() if key != left_out} for left_out in value)
    elif isinstance(value, str):
        yield from elsewhere
        yield from _texts(value)
    elif isinstance(value, int | float):
        yield from _numbers(schema, value)


def _numbers(schema: Any, value: float) -> Iterator[Any]:
    if isinstance(value, int):
        yield from (value + step for step in _NEAR)
        yield value + schema.get("multipleOf", 1)
    if not isinstance(value, int) or schema.get("type") == "number":
        yield from (value * 1.5, value * 0.5, value / 1000)
    yield from (schema[key] for key in ("minimum", "maximum") if key in schema)


def _texts(value: str) -> Iterator[str]:
    for at in range(len(value) - 1, max(len(value) - 12, -1), -1):
        letters = (
            string.digits
            if value[at].isdigit()
            else string.ascii_lowercase
            if value[at].islower()
            else string.ascii_uppercase
        )
        if value[at].isalnum():
            yield value[:at] + letters[(letters.index(value[at]) + 1) % len(letters)] + value[at + 1 :]
    yield from (value + more for more in ("x", "1"))


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _validator(leaf: Leaf) -> Any:
    plain = {
        key: value
        for key, value in leaf.schema.items()
        if key not in {"properties", "items", "required", "propertyNames", "additionalProperties"}
    }
    return Draft202012Validator(plain).is_valid
