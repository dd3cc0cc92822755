"""Lists without a meaningful order, marked by ``x-unordered`` in their schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from clusterwright.spec.schema.check import published

if TYPE_CHECKING:
    from clusterwright.spec.text.document import Path

Item = str | int | float
_NUMBERS = re.compile(r"([0-9]+)")


def unordered(data: Any, schema_name: str) -> Iterator[tuple[Path, list[Item]]]:
    """The lists of plain values in ``data`` without a meaningful order in the published schema, with their places."""
    yield from _below(data, _top(schema_name), ())


def rank(item: Item) -> tuple[tuple[bool, float, str], ...]:
    """Sort key of ``item`` in a natural order: numbers by their size, also those within a text."""
    if not isinstance(item, str):
        return ((False, item, ""),)
    parts = [part for part in _NUMBERS.split(item.casefold()) if part]
    return (*map(_rank_of_part, parts), (True, 0, item))


def _rank_of_part(part: str) -> tuple[bool, float, str]:
    return (False, int(part), "") if part[0] in "0123456789" else (True, 0, part)


class _Listing:
    """Parts of the schema ``whole`` for the values at one place; those below are looked up once."""

    def __init__(self, schemas: list[Any], whole: Any) -> None:
        self._whole = whole
        self._forms = list(chain.from_iterable(_forms(schema, whole) for schema in schemas))
        self._places: dict[str, _Listing] = {}
        self.is_unordered = any(form.get("x-unordered") for form in self._forms)

    @cached_property
    def items(self) -> _Listing:
        return _Listing([form["items"] for form in self._forms if "items" in form], self._whole)

    def value(self, key: str) -> _Listing:
        if key in self._places:
            return self._places[key]
        schemas = [form["properties"][key] for form in self._forms if key in form.get("properties", {})]
        place = _Listing(schemas, self._whole)
        if schemas:  # unknown keys are not cached
            self._places[key] = place
        return place

    def __bool__(self) -> bool:
        """True if the schema covers this place."""
        return bool(self._forms)


def _top(schema_name: str) -> _Listing:
    whole = published(schema_name)
    return _Listing([whole], whole)


def _below(data: Any, place: _Listing, path: Path) -> Iterator[tuple[Path, list[Item]]]:
    if not place:
        return
    if isinstance(data, dict):
        for key, value in data.items():
            if isinstance(value, dict | list):
                yield from _below(value, place.value(key), (*path, key))
    elif isinstance(data, list):
        if place.is_unordered and all(isinstance(item, Item) for item in data):
            yield path, data
        for index, value in enumerate(data):
            if isinstance(value, dict | list):
                yield from _below(value, place.items, (*path, index))


def _forms(schema: Any, whole: Any) -> Iterator[Mapping[str, Any]]:
    """``schema``, the targets of its references in its file, and its alternatives."""
    if not isinstance(schema, dict):
        return
    yield schema
    name = schema.get("$ref", "")
    further = [whole["$defs"][name.rpartition("/")[2]]] if name.startswith("#/$defs/") else []
    for form in (*further, schema.get("then"), schema.get("else")):
        yield from _forms(form, whole)
