"""Four times the pods are four times the work: no stage has a function whose work grows with the square of them.

Nothing is timed: lines that run are counted, and elements of arrays, which are the same on every machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.benchmarks.counting import Work, steeper, work

CHECKOUT = Path(__file__).parents[2]
SIZES = (4, 8, 16)
MOST = 1.5
"""How much more a pod may cost a function at the larger sizes: 1 where its work is linear, 2 where it is quadratic."""
LEAST = 1.4
"""How much more is done at the largest size than at the one before: what hardly grows has steps."""
MOST_IN_ALL = 1.15
"""How much more a pod may cost a stage in all, but for what is known."""
KNOWN = {
    "/rules/isolation/carried.py:_meet": "compares kinds of hosts in pairs, of which a large fabric has few",
    "/rules/isolation/carried.py:_meet.<locals>.<genexpr>": "the same",
    "/rules/isolation/carried.py:_parted": "the same",
    "/proofs/isolation/carried.py:_parted": "the same",
    "/proofs/isolation/carried.py:_meet": "the same",
    "/proofs/isolation/carried.py:_meet.<locals>.<genexpr>": "the same",
    "/proofs/ethernet/stand_ins.py:StandIns.like": "samples that are alike are judged once: few at larger sizes",
    "/proofs/ethernet/stand_ins.py:_Members.rows": "the same",
    "/rules/topology/redundancy.py:parting": "compares kinds of racks in pairs, and only where they are few",
}


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Work]]:
    """What each stage does at each size."""
    command = [sys.executable, "-m", "tests.benchmarks.growing"]
    folder = tmp_path_factory.mktemp("growing")
    running = [
        subprocess.Popen(
            [*command, str(size), str(folder)],
            cwd=CHECKOUT,
            env={"PYTHONPATH": str(CHECKOUT), "PYTHONHASHSEED": "0"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for size in SIZES
    ]
    told = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * len(SIZES)
    return [json.loads(each) for each in told]


def test_no_stage_costs_more_for_a_pod_of_many(counted: list[dict[str, Work]]) -> None:
    assert counted[0].keys() == counted[1].keys() == counted[2].keys()
    assert {"lint", "plan", "render", "ethernet-failures", "isolation"} <= counted[0].keys()
    grown = {
        f"{stage} {function}": times
        for stage in counted[0]
        for function, times in steeper([each[stage] for each in counted], SIZES, MOST, LEAST).items()
        if function not in KNOWN
    }
    assert grown == {}, "work that grows faster than the pods, and how many times as much a pod costs"
    in_all = {
        stage: times
        for stage in counted[0]
        for times in steeper([_in_all(each[stage]) for each in counted], SIZES, MOST_IN_ALL).values()
    }
    assert in_all == {}


def _in_all(stage: Work) -> Work:
    return {"": stage[""] - sum(stage.get(name, 0) for name in KNOWN)}


def test_what_is_known_to_grow_still_does(counted: list[dict[str, Work]]) -> None:
    grown = {name for stage in counted[0] for name in steeper([each[stage] for each in counted], SIZES, MOST, LEAST)}
    assert KNOWN.keys() <= grown


def searched(size: int) -> int:
    """Looks for each in all, in a loop that calls nothing."""
    found = 0
    for one in range(size):
        for other in range(size):
            if one == other:
                found += 1
    return found


def searched_at_once(size: int) -> int:
    return sum([one == other for one in range(size) for other in range(size)])


def searched_by_numpy(size: int) -> int:
    pairs = np.zeros((size, size))
    return int(pairs.sum())


def looked_up(size: int) -> int:
    known = dict.fromkeys(range(size))
    return len([one for one in range(size) if one in known]) + int(np.zeros((size, 3)).sum())


@pytest.mark.parametrize("search", [searched, searched_at_once, searched_by_numpy])
def test_a_search_of_all_for_each_is_seen_however_it_is_written(search: Callable[[int], int]) -> None:
    sizes = (40, 80, 160)
    found = [work(partial(search, size), root=str(Path(__file__).parent)) for size in sizes]
    assert search.__name__ in {name.partition(":")[2].partition(".")[0] for name in steeper(found, sizes, MOST, LEAST)}


def test_a_table_that_is_asked_for_each_is_not() -> None:
    sizes = (400, 800, 1600)
    found = [work(partial(looked_up, size), root=str(Path(__file__).parent)) for size in sizes]
    assert steeper(found, sizes, MOST_IN_ALL) == {}
