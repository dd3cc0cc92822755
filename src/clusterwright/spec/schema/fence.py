"""A fence around doubtful values: a spec whose other values can all be read.

Whoever judges a spec reads it; what he may not read, he cannot judge. So nobody has to say which rule relies on what:
reading a value in doubt raises FencedError, which names the finding that put it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from clusterwright.spec.structuring import keys_of

if TYPE_CHECKING:
    from clusterwright.finding import Finding
    from clusterwright.spec.model import ClusterSpec
    from clusterwright.spec.text.document import Path

T = TypeVar("T")

# What stays readable of a thing that is in doubt as a whole: by these it is found, not judged.
_ALWAYS = frozenset({"document", "name", "path"})


class FencedError(Exception):
    """A value was read that ``finding`` leaves in doubt."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        super().__init__(f"{finding.position}: {finding.code} leaves {finding.path or 'the spec'} in doubt")


def fence(spec: ClusterSpec, doubts: Mapping[Path, Finding]) -> ClusterSpec:
    """``spec``, with an error for each read of a value at or around a path of ``doubts``.

    Reading one raises FencedError with the finding that the path leads to. ``spec`` itself is not changed.
    """
    return _fenced(spec, (), list(doubts.items())) if doubts else spec


def _fenced(thing: T, place: Path, doubts: list[tuple[Path, Finding]]) -> T:
    """``thing``, at ``place``, with its share of ``doubts``, all at or below ``place``."""
    closed: dict[str, Finding] = {}
    inner: dict[int, list[tuple[Path, Finding]]] = {}
    children = dict(_children(thing))
    for path, finding in doubts:
        child = _holder(thing, place, children.values(), path)
        if child is not None:
            inner.setdefault(id(child), []).append((path, finding))
            continue
        name = _field(thing, path[len(place)]) if len(path) > len(place) else None
        names = [name] if name is not None else [name for name in _names(thing) if name not in _ALWAYS]
        closed |= {name: closed.get(name, finding) for name in names}
    changed = {
        key: _fenced(child, child.path, inner[id(child)]) for key, child in children.items() if id(child) in inner
    }
    return _rebuilt(thing, changed, closed)


def _holder(thing: Any, place: Path, children: Iterable[Any], path: Path) -> Any:
    """The child of ``thing``, at ``place``, around ``path``; None for a field of its own.

    A child of the same place holds those keys that are none of the thing's.
    """
    below = next((child for child in children if path[: len(child.path)] == child.path != place), None)
    if below is not None and (path != below.path or isinstance(path[-1], int)):
        return below
    if len(path) <= len(place) or _field(thing, path[len(place)]) is not None:
        return None
    return next((child for child in children if child.path == place and _field(child, path[len(place)])), None)


def _children(thing: Any) -> Iterable[tuple[tuple[str, int | None], Any]]:
    """Children of ``thing`` with a place: each by the field, and the index where the field is a tuple."""
    for name in _names(thing):
        value = getattr(thing, name)
        if _knows_its_place(value):
            yield (name, None), value
        elif isinstance(value, tuple):
            yield from (((name, index), item) for index, item in enumerate(value) if _knows_its_place(item))


def _knows_its_place(value: Any) -> bool:
    return is_dataclass(value) and isinstance(getattr(value, "path", None), tuple)


def _field(thing: Any, key: str | int) -> str | None:
    """The field that holds the value of the spec's ``key``; None when the thing has none of its own for it."""
    return keys_of(cast("Any", type(thing))).get((key,))


def _names(thing: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(thing))


def _rebuilt(thing: T, changed: Mapping[tuple[str, int | None], Any], closed: Mapping[str, Finding]) -> T:
    kind: Any = type(thing)
    new: T = object.__new__(_fenced_type(kind))
    for name in _names(thing):
        value = getattr(thing, name)
        if isinstance(value, tuple):
            value = tuple(changed.get((name, index), item) for index, item in enumerate(value))
        object.__setattr__(new, name, changed.get((name, None), value))
    object.__setattr__(new, "_closed", dict(closed))
    return new


@cache
def _fenced_type(kind: Any) -> Any:
    """``kind`` with a fence: what ``_closed`` names cannot be read."""

    def read(self: Any, name: str) -> Any:
        closed = object.__getattribute__(self, "_closed")
        if name in closed:
            raise FencedError(closed[name])
        return object.__getattribute__(self, name)

    return type(kind.__name__, (kind,), {"__getattribute__": read})
