"""Leaves of a JSON Schema: every place for a value in a document, derived from the schema alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright import data_files
from clusterwright.spec.text.document import Path as Place

Schema = Mapping[str, Any]
ITEM = "[]"  # any item of a list
ENTRY = "{}"  # any entry of a mapping with free keys


@dataclass(frozen=True, eq=False)
class SchemaLeaf:
    """A place: ``path`` from the top with ITEM and ENTRY in it, schema of its values, and whether it is required."""

    path: tuple[str, ...]
    schema: Schema
    required: bool

    @property
    def name(self) -> str:
        """The path in the notation of documentation: ``nodes[].count``."""
        return ".".join(self.path).replace(".[]", "[]").replace(".{}", "{}")

    @property
    def is_object(self) -> bool:
        """Whether the place has a section with keys of its own, each of them a leaf."""
        return "properties" in self.schema

    def places(self, data: Any) -> list[Place]:
        """Places of a value at this leaf in ``data``."""
        reached: list[tuple[Place, Any]] = [((), data)]
        for step in self.path:
            children: list[tuple[Place, Any]] = []
            for path, section in reached:
                children += [((*path, key), value) for key, value in _children(section, step)]
            reached = children
        return [path for path, _ in reached]


def leaves(name: str) -> tuple[SchemaLeaf, ...]:
    """Leaves of the published schema ``name``, in its order, including lists and mappings of free keys themselves."""
    folder = data_files.folder("inventory") / "schema"
    schema, strings = (
        json.loads((folder / f"{schema_name}.schema.json").read_text()) for schema_name in (name, "strings")
    )
    named = {f"#/$defs/{key}": value for key, value in schema["$defs"].items()}
    named |= {f"strings.schema.json#/$defs/{key}": value for key, value in strings["$defs"].items()}
    return tuple(_walk(schema, named, (), required=True))


def _walk(schema: Schema, named: Schema, path: tuple[str, ...], *, required: bool) -> Iterator[SchemaLeaf]:
    schema = resolved(schema, named)
    if "properties" in schema.get("else", {}):  # one section or a list of them, a spec or an overlay
        schema = {**schema, **schema["else"]}
    if path and "properties" in schema:
        yield SchemaLeaf(path, schema, required)
    if "properties" in schema:
        musts = frozenset(schema.get("required", ()))
        for key, value in schema["properties"].items():
            yield from _walk(value, named, (*path, key), required=key in musts)
        return
    yield SchemaLeaf(path, schema, required)
    if schema.get("type") == "array":
        yield from _walk(schema["items"], named, (*path, ITEM), required=False)
    elif isinstance(schema.get("additionalProperties"), Mapping):
        yield from _walk(schema["additionalProperties"], named, (*path, ENTRY), required=False)


def resolved(schema: Schema, named: Schema) -> Schema:
    """``schema`` with the target of its reference merged below it."""
    while "$ref" in schema:
        target = named[schema["$ref"]]
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    if "items" in schema.get("then", {}) and "properties" not in schema:
        items = resolved(schema["then"]["items"], named)
        schema = {**schema, "then": {**schema["then"], "items": items}, "else": resolved(schema["else"], named)}
    if "oneOf" in schema and "properties" not in schema:
        schema = {**schema, "oneOf": [resolved(alternative, named) for alternative in schema["oneOf"]]}
    return schema


def _children(section: Any, step: str) -> Iterator[tuple[str | int, Any]]:
    if step == ITEM:
        if isinstance(section, list):
            yield from enumerate(section)
    elif isinstance(section, dict):
        if step == ENTRY:
            yield from section.items()
        elif step in section:
            yield step, section[step]
