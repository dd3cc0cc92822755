"""From data valid by a JSON Schema to a type of the spec, directed by the annotations of the type's fields.

A field takes the value under the key of its name, or of its ``Key``, by its annotation: dataclasses, tuples and
mappings by their item types, an annotation with ``By`` by its function, all else unchanged. ``path`` is the place of
the object itself. A missing value is the schema's default, so defaults are in the schema only.

cattrs and msgspec were compared: they take 0.07 s and more to load, and neither passes a value's place to a hook,
needed for every finding, nor continues with a stand-in after one.
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
"""(reader, value in the document, its place) -> the value of the field."""


@dataclass(frozen=True, slots=True, init=False)
class Key:
    """The keys of a field's value if they differ from its name; none: the same mapping holds its parts too."""

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)


@dataclass(frozen=True, slots=True)
class By:
    """The function to read a value, for types without a general rule."""

    read: Read


Text = Annotated[str, By(lambda _, value, __: str(value))]  # may be written as a number


def one_or_several(kind: type[Any]) -> By:
    """A reader for a section with one ``kind`` or a list of them, each with its place."""

    def read(typing: Structuring, value: Any, path: Path) -> tuple[Any, ...]:
        if not isinstance(value, list):
            return (typing.typed(kind, value, path),)
        return tuple(typing.typed(kind, item, (*path, index)) for index, item in enumerate(value))

    return By(read)


class Structuring:
    """Reads data that the schema ``schema_name`` accepts.

    A type with a class method ``read``, with the parameters of ``typed`` after its own, is read by that.
    """

    def __init__(self, schema_name: str) -> None:
        self.schema_name = schema_name

    def typed(self, kind: type[T], data: Any, path: Path) -> T:
        """The value at ``path`` as a ``kind``."""
        reader: Callable[[Structuring, Any, Path], T] | None = getattr(kind, "read", None)
        return reader(self, data, path) if reader is not None else self.fields(kind, data, path)

    def fields(self, kind: type[T], data: Data, path: Path, **given: Any) -> T:
        """A ``kind`` from the mapping at ``path``, field by field except those ``given``."""
        schema_path = tuple(part for part in path if isinstance(part, str))
        for field in _fields(cast("Any", kind)):
            if field.name == "path":
                given["path"] = path
            elif field.name not in given:
                value = self._value(field, data, schema_path)
                if value is not MISSING:
                    given[field.name] = field.read(self, value, (*path, *field.keys))
                elif not field.has_default:
                    given[field.name] = field.silent(self, (*path, *field.keys))
        return kind(**given)

    def _value(self, field: _Field, data: Data, schema_path: tuple[str, ...]) -> Any:
        """The value of a field in ``data``, completed by the schema's default; MISSING without both."""
        value = _below(data, field.keys)
        if not field.keys:
            return value
        default = default_at(self.schema_name, (*schema_path, *field.keys), MISSING)
        if isinstance(default, dict) and isinstance(value, dict):
            return {**default, **value}
        return default if value is MISSING else value


@cache
def keys_of(kind: Any) -> Mapping[tuple[str | int, ...], str]:
    """The fields of a type by the keys of their values in the spec."""
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
        return _tuple_reader(_reader(inner[0]))
    if origin is frozenset:
        return lambda _, value, __: frozenset(value)
    if origin is Mapping:
        return _mapping_reader(_reader(inner[1]))
    if is_dataclass(hint):
        return lambda typing, value, path: typing.typed(cast("type[Any]", hint), value, path)
    return lambda _, value, __: value


def _tuple_reader(read_item: Read) -> Read:
    def read(typing: Any, value: Any, path: Path) -> tuple[Any, ...]:
        return tuple(read_item(typing, item, (*path, index)) for index, item in enumerate(value))

    return read


def _mapping_reader(read_item: Read) -> Read:
    def read(typing: Any, value: Any, path: Path) -> dict[Any, Any]:
        return {key: read_item(typing, item, (*path, key)) for key, item in value.items()}

    return read


@cache
def _silence(hint: Any) -> Callable[[Structuring, Path], Any]:
    """The value of a field set neither in the data nor by the schema."""
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
