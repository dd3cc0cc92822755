"""The strings of a document by their kind in ``strings.schema.json``, for rules about all paths, or all URLs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
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


def strings_of_kind(data: Any, schema_name: str, kinds: Collection[str]) -> Iterator[KindedString]:
    """The strings in ``data`` of ``kinds`` in the published schema, in the order of the file.

    All alternatives of a schema count, whichever of them the data matches.
    """
    schema = published(schema_name)
    seen: set[KindedString] = set()
    for item in _strings(data, schema, (), schema["$defs"]):
        if item.kind in kinds and item not in seen:
            seen.add(item)
            yield item


def _strings(data: Any, schema: Any, path: Path, definitions: Mapping[str, Any]) -> Iterator[KindedString]:
    if not isinstance(schema, Mapping):
        return
    reference = str(schema.get("$ref", ""))
    if reference.startswith(_STRINGS) and isinstance(data, str):
        yield KindedString(path, reference.removeprefix(_STRINGS), data)
    elif reference.startswith(_LOCAL):
        yield from _strings(data, definitions[reference.removeprefix(_LOCAL)], path, definitions)
    for word in _ALTERNATIVES:
        for alternative in schema.get(word, ()):
            yield from _strings(data, alternative, path, definitions)
    for word in _BRANCHES:
        yield from _strings(data, schema.get(word), path, definitions)
    yield from _strings_below(data, schema, path, definitions)


def _strings_below(
    data: Any, schema: Mapping[str, Any], path: Path, definitions: Mapping[str, Any]
) -> Iterator[KindedString]:
    """The strings in the values of a mapping or the items of a list."""
    if isinstance(data, Mapping):
        properties = schema.get("properties", {})
        for key, value in data.items():
            below = properties.get(key, schema.get("additionalProperties"))
            yield from _strings(value, below, (*path, key), definitions)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _strings(value, schema.get("items"), (*path, index), definitions)
