"""Cache values shared by many devices of one plan, such as the text of a file for every node of a group.

A plan compares by value, far too slow for a key; it is remembered by identity, for as long as it lives.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from clusterwright.plan.model import Plan

Key = ParamSpec("Key")
Value = TypeVar("Value")


def per_plan(function: Callable[Concatenate[Plan, Key], Value]) -> Callable[Concatenate[Plan, Key], Value]:
    """A function of a plan and further hashable arguments, computed once for each combination of them."""
    results_by_plan: dict[int, dict[Any, Value]] = {}

    @wraps(function)
    def cached(plan: Plan, /, *args: Key.args, **kwargs: Key.kwargs) -> Value:
        results = results_by_plan.get(id(plan))
        if results is None:
            results = results_by_plan[id(plan)] = {}
            weakref.finalize(plan, results_by_plan.pop, id(plan), None)
        key = (args, *sorted(kwargs.items())) if kwargs else args
        try:
            return results[key]
        except KeyError:
            pass
        result = results[key] = function(plan, *args, **kwargs)
        return result

    return cached
