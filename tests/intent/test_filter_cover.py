"""Which entries of a filter decide about some packet: as each with each would say, and quick for thousands."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest

from clusterwright.intent import filter_cover
from clusterwright.intent.filter_cover import Box, needed

MANY, SECONDS = 8_000, 20.0


def brute(rules: list[list[Box]]) -> tuple[bool, ...]:
    """Point by point, for boxes of a few points."""
    seen: set[tuple[int, ...]] = set()
    found = []
    for rule in rules:
        own = {(x, y) for (a, b), (c, d) in rule for x in range(a, b + 1) for y in range(c, d + 1)}
        found.append(bool(own - seen))
        seen |= own
    return tuple(found)


@pytest.mark.parametrize("few", [0, 512])
@pytest.mark.parametrize("seed", range(30))
def test_an_entry_is_needed_where_it_holds_a_point_that_none_before_does(
    seed: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filter_cover, "_FEW_BOXES", few)
    chosen = random.Random(seed)
    rules: list[list[Box]] = [[] for _ in range(20)]
    for rule in rules * 2:
        low, other = chosen.randrange(8), chosen.randrange(8)
        rule.append(((low, chosen.randrange(low, 9)), (other, chosen.randrange(other, 9))))
    assert needed(rules) == brute(rules)
    assert needed([]) == ()


def test_thousands_of_entries_are_compared_in_seconds() -> None:
    chosen = random.Random(1)
    rules: list[list[Box]] = []
    for _ in range(MANY):
        first, port = chosen.randrange(1 << 60) << 64, chosen.randrange(60_000)
        rules.append([((first, first + (1 << 64) - 1), (0, 9), (port, port))])
    start = time.process_time()
    assert all(needed(rules))
    assert time.process_time() - start < SECONDS


def test_a_small_cluster_is_linted_without_what_takes_long_to_import() -> None:
    code = (
        "import sys; from clusterwright import data_files, lint;"
        "lint([data_files.folder('inventory') / 'lab-ib.yaml']); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
