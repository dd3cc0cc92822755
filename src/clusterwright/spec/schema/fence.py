"""A fence around doubtful values: all other values of the spec can be read.

A rule can only check values that it reads, so rules need no list of the values they rely on: reading a value in doubt
raises FencedError with the finding about it.
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

# Fields that stay readable of an object in doubt: they identify it.
_ALWAYS = frozenset({"document", "name", "path"})


class FencedError(Exception):
    """A value left in doubt by ``finding`` was read."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        super().__init__(f"{finding.position}: {finding.code} leaves {finding.path or 'the spec'} in doubt")


def fence(spec: ClusterSpec, doubts: Mapping[Path, Finding]) -> ClusterSpec:
    """``spec``, with an error for each read of a value at or around a path of ``doubts``.

    Reading one raises FencedError with the finding of the path. ``spec`` itself is not changed.
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
        field_name = _field(thing, path[len(place)]) if len(path) > len(place) else None
        if field_name is not None:
            closed.setdefault(field_name, finding)
            continue
        for name in _names(thing):
            if name not in _ALWAYS:
                closed.setdefault(name, finding)
    changed = {}
    for key, child in children.items():
        if id(child) in inner:
            changed[key] = _fenced(child, child.path, inner[id(child)])
    return _rebuilt(thing, changed, closed)


def _holder(thing: Any, place: Path, children: Iterable[Any], path: Path) -> Any:
    """The child of ``thing``, at ``place``, around ``path``; None for a field of the thing itself.

    A child at the same place holds the keys without a field in the thing.
    """
    for child in children:
        if child.path != place and path[: len(child.path)] == child.path:
            if path != child.path or isinstance(path[-1], int):
                return child
            break
    if len(path) <= len(place) or _field(thing, path[len(place)]) is not None:
        return None
    for child in children:
        if child.path == place and _field(child, path[len(place)]):
            return child
    return None


def _children(thing: Any) -> Iterable[tuple[tuple[str, int | None], Any]]:
    """Children of ``thing`` with a place, each by its field, and the index in a field with a tuple."""
    for name in _names(thing):
        value = getattr(thing, name)
        if _has_place(value):
            yield (name, None), value
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if _has_place(item):
                    yield (name, index), item


def _has_place(value: Any) -> bool:
    return is_dataclass(value) and isinstance(getattr(value, "path", None), tuple)


def _field(thing: Any, key: str | int) -> str | None:
    """The field of the spec's ``key``; None if the thing has no field for it."""
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
    """``kind`` with a fence: fields named in ``_closed`` cannot be read."""

    def read(self: Any, name: str) -> Any:
        closed = object.__getattribute__(self, "_closed")
        if name in closed:
            raise FencedError(closed[name])
        return object.__getattribute__(self, name)

    return type(kind.__name__, (kind,), {"__getattribute__": read})
