"""From data that a JSON Schema accepts to a type of the spec: the fields of the type say how it is read.

A field takes the value under the key of its name, or of its ``Key``, as its annotation says: dataclasses, tuples and
mappings by what they hold, whatever has a ``By`` by its own function, all else as it is written. ``path`` is the place
of the thing itself. A value that is left out is the schema's default, so that a default stands in the schema alone.

cattrs and msgspec were compared: they take 0.07 s and more to load, and neither tells a hook where a value stands,
which every finding needs, nor goes on with a stand-in after one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from clusterwright.spec.schema.check import default_at
from clusterwright.spec.text.document import Path

T = TypeVar("T")
Data = Mapping[str, Any]
Read = Callable[[Any, Any, Path], Any]
"""What is typing, the value as written, and where it stands -> the value of the field."""


@dataclass(frozen=True, slots=True, init=False)
class Key:
    """The keys that lead to a field's value where they are not its name; none: the same mapping holds its parts too."""

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)


@dataclass(frozen=True, slots=True)
class By:
    """How a value is read that its type alone does not tell."""

    read: Read


Text = Annotated[str, By(lambda _, value, __: str(value))]  # may be written as a number


def one_or_several(kind: type[Any]) -> By:
    """How a section is read that is one ``kind`` or a list of them: each has the place at which it stands."""

    def read(typing: Structuring, value: Any, path: Path) -> tuple[Any, ...]:
        if not isinstance(value, list):
            return (typing.typed(kind, value, path),)
        return tuple(typing.typed(kind, item, (*path, index)) for index, item in enumerate(value))

    return By(read)


class Structuring:
    """Reads data that the schema ``schema_name`` accepts.

    A type with a class method ``read``, of the same parameters as ``typed`` after its own, is read by that.
    """

    def __init__(self, schema_name: str) -> None:
        self.schema_name = schema_name

    def typed(self, kind: type[T], data: Any, path: Path) -> T:
        """The value at ``path`` as a ``kind``."""
        reader: Callable[[Structuring, Any, Path], T] | None = getattr(kind, "read", None)
        return reader(self, data, path) if reader is not None else self.fields(kind, data, path)

    def fields(self, kind: type[T], data: Data, path: Path, **given: Any) -> T:
        """A ``kind`` from the mapping at ``path``, field by field but for those ``given``."""
        here = tuple(part for part in path if isinstance(part, str))
        for field in _fields(cast("Any", kind)):
            if field.name == "path":
                given["path"] = path
            elif field.name not in given:
                value = _below(data, field.keys)
                default = default_at(self.schema_name, (*here, *field.keys), MISSING) if field.keys else MISSING
                if isinstance(default, dict) and isinstance(value, dict):
                    value = {**default, **value}
                value = default if value is MISSING else value
                if value is not MISSING:
                    given[field.name] = field.read(self, value, (*path, *field.keys))
                elif not field.has_default:
                    given[field.name] = field.silent(self, (*path, *field.keys))
        return kind(**given)


@cache
def keys_of(kind: Any) -> Mapping[tuple[str | int, ...], str]:
    """The fields of a type by the keys of the spec that lead to their values."""
    return {field.keys: field.name for field in _fields(kind)}


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    keys: tuple[str, ...]
    read: Read
    silent: Callable[[Structuring, Path], Any]
    has_default: bool


@cache
def _fields(kind: Any) -> tuple[_Field, ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_field(field, hints[field.name]) for field in fields(kind))


def _field(dataclass_field: Field[Any], hint: Any) -> _Field:
    marks = hint.__metadata__ if get_origin(hint) is Annotated else ()
    keys = next((mark.keys for mark in marks if isinstance(mark, Key)), (dataclass_field.name,))
    has_default = dataclass_field.default is not MISSING or dataclass_field.default_factory is not MISSING
    return _Field(
        name=dataclass_field.name, keys=keys, read=_reader(hint), silent=_silence(hint), has_default=has_default
    )


@cache
def _reader(hint: Any) -> Read:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        reader = next((mark.read for mark in inner[1:] if isinstance(mark, By)), None)
        return reader or _reader(inner[0])
    if origin in (Union, UnionType) and NoneType in inner:
        (present,) = (_reader(argument) for argument in inner if argument is not NoneType)
        return lambda typing, value, path: None if value is None else present(typing, value, path)
    if origin is tuple:
        item = _reader(inner[0])
        return lambda typing, value, path: tuple(
            item(typing, element, (*path, index)) for index, element in enumerate(value)
        )
    if origin is frozenset:
        return lambda _, value, __: frozenset(value)
    if origin is Mapping:
        entry = _reader(inner[1])
        return lambda typing, value, path: {key: entry(typing, element, (*path, key)) for key, element in value.items()}
    if is_dataclass(hint):
        return lambda typing, value, path: typing.typed(cast("type[Any]", hint), value, path)
    return lambda _, value, __: value


@cache
def _silence(hint: Any) -> Callable[[Structuring, Path], Any]:
    """The value of a field that neither the data nor the schema sets."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _silence(inner[0])
    if origin in (Union, UnionType) and NoneType in inner:
        return lambda _, __: None
    if origin in (tuple, Mapping):
        return lambda _, __: () if origin is tuple else {}
    if is_dataclass(hint):
        return lambda typing, path: typing.typed(cast("type[Any]", hint), {}, path)
    return _refuse


def _refuse(_: Structuring, path: Path) -> Any:
    raise KeyError(path)


def _below(data: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        data = data.get(key, MISSING) if isinstance(data, Mapping) else MISSING
    return data
