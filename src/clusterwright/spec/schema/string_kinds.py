"""The strings of a document by their kind in ``strings.schema.json``, for rules about all paths, or all URLs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clusterwright.spec.schema.check import published
from clusterwright.spec.text.document import Path

_STRINGS = "strings.schema.json#/$defs/"
_LOCAL = "#/$defs/"
_ALTERNATIVES = ("allOf", "anyOf", "oneOf")
_BRANCHES = ("if", "then", "else")


class KindedString(NamedTuple):
    """A string of a document, with its place and kind."""

    path: Path
    kind: str
    value: str


def kinded_strings(data: Any, schema_name: str) -> tuple[KindedString, ...]:
    """The strings in ``data`` that the published schema gives a kind, each once, in the order of the file.

    All alternatives of a schema count, whichever of them the data matches.
    """
    schema = published(schema_name)
    return tuple(dict.fromkeys(_strings(data, schema, (), schema["$defs"])))


def _strings(data: Any, schema: Any, path: Path, definitions: Mapping[str, Any]) -> Iterator[KindedString]:
    if not isinstance(schema, dict):
        return
    reference = schema.get("$ref", "")
    if reference.startswith(_STRINGS) and isinstance(data, str):
        yield KindedString(path, reference.removeprefix(_STRINGS), data)
    for part in _schemas_of_same_value(schema, definitions):
        yield from _strings(data, part, path, definitions)
    if isinstance(data, dict):
        properties = schema.get("properties", {})
        other_keys = schema.get("additionalProperties")
        for key, value in data.items():
            yield from _strings(value, properties.get(key, other_keys), (*path, key), definitions)
    elif isinstance(data, list) and "items" in schema:
        for index, value in enumerate(data):
            yield from _strings(value, schema["items"], (*path, index), definitions)


def _schemas_of_same_value(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas that ``schema`` applies to the value itself, as against its members or items."""
    reference = schema.get("$ref", "")
    if reference.startswith(_LOCAL):
        yield definitions[reference.removeprefix(_LOCAL)]
    for word in _ALTERNATIVES:
        yield from schema.get(word, ())
    for word in _BRANCHES:
        if word in schema:
            yield schema[word]
