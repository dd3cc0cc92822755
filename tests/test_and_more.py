"""A list in a sentence names the first and counts the others."""

from __future__ import annotations

import pytest

from clusterwright.and_more import and_more


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, ""), (1, "n0"), (2, "n0, n1"), (3, "n0, n1 and 1 more"), (1_234, "n0, n1 and 1,232 more")],
)
def test_the_first_are_named_and_the_others_counted(count: int, said: str) -> None:
    assert and_more([f"n{index}" for index in range(count)], 2) == said


def test_sentences_are_parted_by_what_is_asked_for() -> None:
    assert and_more(["a is down", "b, c are up", "d"], 2, "; ") == "a is down; b, c are up and 1 more"
