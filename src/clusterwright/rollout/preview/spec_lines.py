"""Which values of the spec changed, each with the line where it stands now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from clusterwright.spec.text.document import Document, Path, format_path

_NAMES = ("name", "role", "figure", "level", "device", "group", "port")
_LONGEST = 72


@dataclass(frozen=True, slots=True)
class SpecChange:
    """A value of the spec: ``before`` and ``after`` as text, "" where the key is absent; ``place`` is file:line."""

    key: str
    before: str
    after: str
    place: str


def spec_changes(before: Document, after: Document) -> tuple[SpecChange, ...]:
    """The values that differ, in the order of the second document; items of lists are the same when their names are."""
    return tuple(_differences(before, after, (), now=(), old=before.data, new=after.data))


def _differences(one: Document, other: Document, was: Path, *, now: Path, old: Any, new: Any) -> Iterator[SpecChange]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*new, *(key for key in old if key not in new)]:
            yield from _item(one, other, (*was, key), now=(*now, key), had=key in old, has=key in new)
    elif _is_named(old) and _is_named(new):
        olds = {_name(item): at for at, item in enumerate(old)}
        news = {_name(item): at for at, item in enumerate(new)}
        for name in [*news, *(name for name in olds if name not in news)]:
            before, after = (*was, olds.get(name, 0)), (*now, news.get(name, 0))
            yield from _item(one, other, before, now=after, had=name in olds, has=name in news)
    else:
        yield _change(other, format_path(now, other.data), _text(old), _text(new), now)


def _item(one: Document, other: Document, was: Path, *, now: Path, had: bool, has: bool) -> Iterator[SpecChange]:
    if had and has:
        yield from _differences(one, other, was, now=now, old=_at(one.data, was), new=_at(other.data, now))
    elif has:
        yield _change(other, format_path(now, other.data), "", _text(_at(other.data, now)), now)
    else:
        yield _change(other, format_path(was, one.data), _text(_at(one.data, was)), "", now[:-1])


def _change(document: Document, key: str, before: str, after: str, path: Path) -> SpecChange:
    position = document.locate(path)
    return SpecChange(key=key, before=before, after=after, place=f"{PurePath(position.file).name}:{position.line}")


def _is_named(value: Any) -> bool:
    """Whether a list's items can be told apart by name."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return False
    names = [_name(item) for item in value]
    return all(names) and len(set(names)) == len(names)


def _name(item: dict[str, Any]) -> str:
    return " ".join(f"{key}={item[key]}" for key in _NAMES if key in item)


def _at(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def _text(value: Any) -> str:
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{key}: {_text(item)}" for key, item in value.items()) + "}"
    elif isinstance(value, list):
        text = "[" + ", ".join(_text(item) for item in value) + "]"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    else:
        text = "null" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
