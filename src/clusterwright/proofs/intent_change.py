"""Comparison of two specs' promises: parts of their declarations, by value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from clusterwright.proofs.declaration import Declaration


def is_changed(part: str, was: Declaration, wanted: Declaration) -> bool:
    """Whether two declarations differ in the property ``part``."""
    return not _are_equal(getattr(was, part), getattr(wanted, part))


def _are_equal(one: object, other: object) -> bool:
    """Whether two values are equal; records are compared by field, even those with identity comparison."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_are_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    if is_dataclass(one):
        return all(_are_equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return one == other
