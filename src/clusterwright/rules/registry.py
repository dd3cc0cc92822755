"""All rules by code: every ``LintRule`` at the top level of a module of this package, its families and of plugins."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import MappingProxyType
from typing import TYPE_CHECKING

from clusterwright import rules
from clusterwright.rules.own_rules import installed_rules
from clusterwright.rules.rule import LintRule

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def all_rules() -> Mapping[str, LintRule]:
    """Every rule, in the order of the codes.

    Raises ValueError for two rules of ours with one code, ClusterwrightError for an unusable plugin.
    """
    rule_by_code: dict[str, LintRule] = {}
    for module in walk_packages(rules.__path__, f"{rules.__name__}."):
        for value in vars(import_module(module.name)).values():
            if not isinstance(value, LintRule):
                continue
            if rule_by_code.setdefault(value.code, value) is not value:
                raise ValueError(f"two rules have the code {value.code}, one of them in {module.name}")
    return MappingProxyType(dict(sorted({**rule_by_code, **installed_rules()}.items())))
