"""All rules by code: every ``Rule`` that stands at the top level of a module of this package."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING

from clusterwright import rules
from clusterwright.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every rule, in the order of the codes. Raises ValueError when two rules share a code."""
    found: dict[str, Rule] = {}
    for module in sorted(iter_modules(rules.__path__), key=lambda module: module.name):
        for value in vars(import_module(f"{rules.__name__}.{module.name}")).values():
            if not isinstance(value, Rule):
                continue
            if found.setdefault(value.code, value) is not value:
                raise ValueError(f"two rules have the code {value.code}: {found[value.code].title}, {value.title}")
    return MappingProxyType(dict(sorted(found.items())))
