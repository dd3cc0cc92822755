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
_NESTED = frozenset({"properties", "items", "required", "propertyNames", "additionalProperties"})


def other_values(leaf: SchemaLeaf, value: Any, elsewhere: Iterable[Any]) -> Iterator[Any]:
    """Values other than ``value`` accepted by the schema at ``leaf``; ``elsewhere`` are values at it in specs."""
    accepts = _validator(leaf)
    values = [value]
    for candidate in _candidates(leaf.schema, value, list(elsewhere)):
        is_new = not any(_is_same(candidate, earlier) for earlier in values)
        if is_new and accepts(candidate):
            values.append(candidate)
            yield candidate


def changed(document: Document, place: Place, value: Any, *, leaves_out: bool = False) -> Document:
    """``document`` with ``value`` at ``place``, or without its key with ``leaves_out``; positions stay."""
    data = section = copy.copy(document.data)
    for step in place[:-1]:
        section[step] = section = copy.copy(section[step])  # shared beside the path: no document is changed in place
    if leaves_out:
        del section[place[-1]]
    else:
        section[place[-1]] = value
    return replace(document, data=data)


def _candidates(schema: Any, value: Any, elsewhere: list[Any]) -> Iterator[Any]:
    if "enum" in schema:
        yield from schema["enum"]
    elif "oneOf" in schema:
        for alternative in schema["oneOf"]:
            yield from _candidates(alternative, value, elsewhere)
            if "const" in alternative:
                yield alternative["const"]
            elif "minimum" in alternative:
                yield alternative["minimum"] + 7
    else:
        yield from _of_its_type(schema, value, elsewhere)


def _of_its_type(schema: Any, value: Any, elsewhere: list[Any]) -> Iterator[Any]:
    """Other values of the same type."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, list):
        yield from _lists(value)
    elif isinstance(value, dict):
        for omitted_key in value:
            yield {key: item for key, item in value.items() if key != omitted_key}
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
        following = _following(value[index])
        if following:
            yield value[:index] + following + value[index + 1 :]
    yield value + "x"
    yield value + "1"


def _following(character: str) -> str:
    """Next digit, or next ASCII letter of the same case; "" for other characters."""
    for characters in (string.digits, string.ascii_lowercase, string.ascii_uppercase):
        if character in characters:
            return characters[(characters.index(character) + 1) % len(characters)]
    return ""


def _is_same(first: Any, second: Any) -> bool:
    return type(first) is type(second) and first == second


def _validator(leaf: SchemaLeaf) -> Any:
    schema = {key: value for key, value in leaf.schema.items() if key not in _NESTED}
    return Draft202012Validator(schema).is_valid
