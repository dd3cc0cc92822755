"""Bracket patterns: many names in one word, in order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from clusterwright.spec.hardware.cages import MAX_NAMES, expand

if TYPE_CHECKING:
    pass


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("eth0", ("eth0",)),
        ("[1-3]", ("1", "2", "3")),
        ("e[7-7]", ("e7",)),
        ("e[1-6:2]", ("e1", "e3", "e5")),
        ("L[09-11]x", ("L09x", "L10x", "L11x")),
        ("E[3-4]/[1-2]", ("E3/1", "E3/2", "E4/1", "E4/2")),
    ],
)
def test_patterns_expand_in_order(pattern: str, names: tuple[str, ...]) -> None:
    assert expand(pattern) == names


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("e[4-1]", "the range [4-1] runs backwards"),
        ("e[1-4:0]", "the range [1-4:0] has a step of 0"),
        ("e[1-4", '"e[1-4" is no range such as [1-16] or [1-15:2]'),
        ("e[a]", '"e[a]" is no range such as [1-16] or [1-15:2]'),
        ("[1-999999]/[1-999999]", f"it stands for more than {MAX_NAMES} names"),
    ],
)
def test_bad_patterns_say_what_is_wrong(pattern: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}$"):
        expand(pattern)
