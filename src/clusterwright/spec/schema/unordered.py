"""Lists whose order means nothing: those that their schema calls so, by ``x-unordered``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clusterwright.spec.schema.check import published

if TYPE_CHECKING:
    from clusterwright.spec.text.document import Path

Item = str | int | float
_NUMBERS = re.compile(r"([0-9]+)")


def unordered(data: Any, schema_name: str) -> Iterator[tuple[Path, list[Item]]]:
    """The lists of plain values in ``data`` whose order means nothing in the published schema, and where they stand."""
    whole = published(schema_name)
    yield from _below(data, [whole], whole, ())


def rank(item: Item) -> tuple[tuple[bool, float, str], ...]:
    """Where people put ``item`` among others: numbers by their size, also those within a text."""
    if not isinstance(item, str):
        return ((False, item, ""),)
    parts = [part for part in _NUMBERS.split(item.casefold()) if part]
    ranked = [(False, int(part), "") if part[0] in "0123456789" else (True, 0, part) for part in parts]
    return (*ranked, (True, 0, item))


def _below(data: Any, schemas: list[Any], whole: Any, path: Path) -> Iterator[tuple[Path, list[Item]]]:
    forms = [form for schema in schemas for form in _forms(schema, whole)]
    if isinstance(data, dict):
        for key, value in data.items():
            known = [form["properties"][key] for form in forms if key in form.get("properties", {})]
            yield from _below(value, known, whole, (*path, key))
    elif isinstance(data, list):
        if any(form.get("x-unordered") for form in forms) and all(isinstance(each, Item) for each in data):
            yield path, data
        for index, value in enumerate(data):
            yield from _below(value, [form["items"] for form in forms if "items" in form], whole, (*path, index))


def _forms(schema: Any, whole: Any) -> Iterator[Mapping[str, Any]]:
    """``schema``, what it refers to in its own file, and what holds of a list of several or of one."""
    if not isinstance(schema, dict):
        return
    yield schema
    name = schema.get("$ref", "")
    further = [whole["$defs"][name.rpartition("/")[2]]] if name.startswith("#/$defs/") else []
    for form in (*further, schema.get("then"), schema.get("else")):
        yield from _forms(form, whole)
