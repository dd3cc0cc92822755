"""Comparison of two specs' promises: parts of their declarations, by value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from clusterwright.proofs.declaration import Declaration


def is_changed(part: str, earlier: Declaration, later: Declaration) -> bool:
    """Whether two declarations differ in the property ``part``."""
    return not _are_equal(getattr(earlier, part), getattr(later, part))


def _are_equal(first: object, second: object) -> bool:
    """Whether two values are equal; records are compared by field, even those with identity comparison."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(_are_equal(value, second[key]) for key, value in first.items())
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(_are_equal, first, second))
    if is_dataclass(first):
        return all(_are_equal(getattr(first, field.name), getattr(second, field.name)) for field in fields(first))
    return first == second
