"""Other values accepted by the schema at a place of a spec."""

from __future__ import annotations

import copy
import string
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from jsonschema import Draft202012Validator

from clusterwright.spec.text.document import Document
from clusterwright.spec.text.document import Path as Place
from clusterwright.why.leaves import SchemaLeaf

_NEAR = (1, -1, 2, -2, 10, -10)


def other_values(leaf: SchemaLeaf, value: Any, elsewhere: Iterable[Any]) -> Iterator[Any]:
    """Values other than ``value`` accepted by the schema at ``leaf``; ``elsewhere`` are values at it in specs."""
    accepts = _validator(leaf)
    seen = [value]
    for candidate in _candidates(leaf.schema, value, list(elsewhere)):
        if not any(_same(candidate, earlier) for earlier in seen) and accepts(candidate):
            seen.append(candidate)
            yield candidate


def changed(document: Document, place: Place, value: Any, *, leaves_out: bool = False) -> Document:
    """``document`` with ``value`` at ``place``, or without its key with ``leaves_out``; positions stay."""
    data = here = copy.copy(document.data)
    for step in place[:-1]:
        here[step] = here = copy.copy(here[step])  # shared beside the path: no document is changed in place
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
            if "const" in one:
                yield one["const"]
            elif "minimum" in one:
                yield one["minimum"] + 7
    else:
        yield from _of_its_type(schema, value, elsewhere)


def _of_its_type(schema: Any, value: Any, elsewhere: list[Any]) -> Iterator[Any]:
    """Other values of the same type."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, list):
        yield from _lists(value)
    elif isinstance(value, dict):
        for left_out in value:
            yield {key: item for key, item in value.items() if key != left_out}
    elif isinstance(value, str):
        yield from elsewhere
        yield from _texts(value)
    elif isinstance(value, int | float):
        yield from _numbers(schema, value)


def _lists(value: list[Any]) -> Iterator[list[Any]]:
    """The list without each of its items in turn, then with one more text."""
    for index in range(len(value)):
        yield value[:index] + value[index + 1 :]
    if value and isinstance(value[-1], str):
        for text in _texts(value[-1]):
            yield [*value, text]


def _numbers(schema: Any, value: float) -> Iterator[Any]:
    if isinstance(value, int):
        yield from (value + step for step in _NEAR)
        yield value + schema.get("multipleOf", 1)
    if not isinstance(value, int) or schema.get("type") == "number":
        yield from (value * 1.5, value * 0.5, value / 1000)
    yield from (schema[key] for key in ("minimum", "maximum") if key in schema)


def _texts(value: str) -> Iterator[str]:
    """The text with one of its last characters replaced by the next of its kind, then with one character more."""
    for index in range(len(value) - 1, max(len(value) - 12, -1), -1):
        for letters in (string.digits, string.ascii_lowercase, string.ascii_uppercase):
            if value[index] in letters:
                following = letters[(letters.index(value[index]) + 1) % len(letters)]
                yield value[:index] + following + value[index + 1 :]
    yield value + "x"
    yield value + "1"


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _validator(leaf: SchemaLeaf) -> Any:
    plain = {
        key: value
        for key, value in leaf.schema.items()
        if key not in {"properties", "items", "required", "propertyNames", "additionalProperties"}
    }
    return Draft202012Validator(plain).is_valid
