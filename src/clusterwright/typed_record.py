"""Records read from JSON: each field has the type of its annotation, or the file is damaged."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")
_PLAIN_TYPES = (str, int, bool, type(None))


def checked(record: Record) -> Record:
    """``record``, a dataclass of plain values, tuples and mappings. Raises TypeError for a field of another type."""
    hints = get_type_hints(type(record))
    for field in fields(record):  # type: ignore[arg-type]
        value = getattr(record, field.name)
        if not _conforms(value, hints[field.name]):
            raise TypeError(f"{field.name} is {type(value).__name__}")
    return record


def _conforms(value: Any, wanted: Any) -> bool:
    """Whether ``value`` has the annotated type ``wanted``; True for an annotation that no JSON value has."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        return any(_conforms(value, argument) for argument in arguments)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return isinstance(value, tuple) and all(_conforms(item, arguments[0]) for item in value)
    if origin is Mapping:
        return isinstance(value, Mapping) and _has_item_types(value, *arguments)
    if is_dataclass(wanted) and isinstance(value, wanted):  # type: ignore[arg-type]
        return checked(value) is value
    if isinstance(value, bool) and wanted in (int, float):  # Python counts True among the integers
        return False
    if wanted is float:
        return isinstance(value, int | float)
    if wanted in _PLAIN_TYPES:
        return isinstance(value, wanted)
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return isinstance(value, wanted)
    return True


def _has_item_types(mapping: Mapping[Any, Any], key_type: Any, item_type: Any) -> bool:
    keys_conform = all(_conforms(key, key_type) for key in mapping)
    return keys_conform and all(_conforms(item, item_type) for item in mapping.values())
