"""Changed values of the spec, each with its line in the present spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from clusterwright.spec.text.document import Document, Path, format_path

_NAMES = ("name", "role", "figure", "level", "device", "group", "port")
_LONGEST = 72


@dataclass(frozen=True, slots=True)
class SpecChange:
    """A changed value of the spec: ``before`` and ``after`` as text, "" for an absent key; ``place`` is file:line."""

    key: str
    before: str
    after: str
    place: str


def spec_changes(before: Document, after: Document) -> tuple[SpecChange, ...]:
    """Changed values in the order of ``after``; items of lists are matched by their names."""
    return tuple(_SpecComparison(before, after).values(_Side((), before.data), _Side((), after.data)))


@dataclass(frozen=True, slots=True)
class _Side:
    """A value with its path in one of the documents."""

    path: Path
    value: Any

    def item(self, key: int | str) -> _Side:
        """The item of a list or mapping."""
        return _Side((*self.path, key), self.value[key])


@dataclass(frozen=True, slots=True)
class _SpecComparison:
    before: Document
    after: Document

    def values(self, old: _Side, new: _Side) -> Iterator[SpecChange]:
        """Changes at and below two values of one key."""
        if old.value == new.value:
            return
        if isinstance(old.value, dict) and isinstance(new.value, dict):
            old_keys = {key: key for key in old.value}
            new_keys = {key: key for key in new.value}
            yield from self._items(old, new, old_keys, new_keys)
        elif _is_named(old.value) and _is_named(new.value):
            yield from self._items(old, new, _index_by_name(old.value), _index_by_name(new.value))
        else:
            key = format_path(new.path, self.after.data)
            yield self._change(key, _text(old.value), _text(new.value), new.path)

    def _items(
        self, old: _Side, new: _Side, old_keys: Mapping[Any, Any], new_keys: Mapping[Any, Any]
    ) -> Iterator[SpecChange]:
        """Changes of items; ``old_keys`` and ``new_keys`` are their keys in the two values, by name."""
        for name, key in new_keys.items():
            item = new.item(key)
            if name in old_keys:
                yield from self.values(old.item(old_keys[name]), item)
            else:
                yield self._change(format_path(item.path, self.after.data), "", _text(item.value), item.path)
        for name, key in old_keys.items():
            if name not in new_keys:
                item = old.item(key)
                yield self._change(format_path(item.path, self.before.data), _text(item.value), "", new.path)

    def _change(self, key: str, before: str, after: str, path: Path) -> SpecChange:
        """A change located at ``path`` of the present spec."""
        position = self.after.locate(path)
        place = f"{PurePath(position.file).name}:{position.line}"
        return SpecChange(key=key, before=before, after=after, place=place)


def _is_named(value: Any) -> bool:
    """Whether a value is a list with items of different names."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return False
    names = [_name(item) for item in value]
    return all(names) and len(set(names)) == len(names)


def _index_by_name(items: list[dict[str, Any]]) -> dict[str, int]:
    return {_name(item): index for index, item in enumerate(items)}


def _name(item: dict[str, Any]) -> str:
    return " ".join(f"{key}={item[key]}" for key in _NAMES if key in item)


def _text(value: Any) -> str:
    """A value on one line, cut to 72 characters."""
    if isinstance(value, dict):
        members = ", ".join(f"{key}: {_text(item)}" for key, item in value.items())
        text = f"{{{members}}}"
    elif isinstance(value, list):
        members = ", ".join(_text(item) for item in value)
        text = f"[{members}]"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    else:
        text = "null" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
