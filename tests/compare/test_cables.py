"""The fewest hands on cables: published phases, hand-made moves, and an independent matching over random cabling."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compare.variants import overlaid
from tests.plans import plan_of

from clusterwright.compare.cables import fabric_changes
from clusterwright.compare.plans import compare_plans
from clusterwright.compare.work_order import work_order, work_order_csv
from clusterwright.plan.model import Cable, Interface

NONE: dict[str, str] = {}


def _cable(lower: int, upper: int, medium: str = "dac") -> Cable:
    """A cable between numbered ports, four to a device."""
    a = Interface(f"leaf-{lower // 4}", f"{lower % 4}", "backend", "up", 200, None, None, 0)
    b = Interface(f"spine-{upper // 4}", f"{upper % 4}", "backend", "down", 200, None, None, 0)
    return Cable("backend", 1, a, b, 200, medium, 3.0)


def _cables(pairs: list[tuple[int, int]]) -> list[Cable]:
    return [_cable(lower, upper) for lower, upper in pairs]


def test_the_second_phase_of_rsc_moves_no_backend_cable() -> None:
    changes = compare_plans(plan_of("rsc-phase1"), plan_of("rsc"))
    backend = next(fabric for fabric in changes.cables if fabric.fabric == "backend")
    assert (backend.kept, backend.moved, backend.replaced, backend.removed) == (12_160, (), (), ())
    assert [sum(1 for cable in backend.added if cable.tier == tier) for tier in (0, 1)] == [9_920, 9_920]
    assert not any(fabric.removed or fabric.replaced for fabric in changes.cables)
    assert not changes.devices.removed


def test_back_to_the_first_phase_removes_what_the_second_added() -> None:
    backend = next(f for f in compare_plans(plan_of("rsc"), plan_of("rsc-phase1")).cables if f.fabric == "backend")
    assert (backend.kept, len(backend.removed), backend.added, backend.moved) == (12_160, 19_840, (), ())


@pytest.mark.parametrize(
    ("old", "new", "moved", "removed", "added"),
    [
        ([(0, 0)], [(0, 1)], ["upper"], 0, 0),
        ([(0, 0)], [(1, 0)], ["lower"], 0, 0),
        ([(0, 0)], [(1, 1)], ["both"], 0, 0),  # the same two devices
        ([(0, 0)], [(4, 4)], [], 1, 1),
        ([(0, 0), (1, 1)], [(0, 1), (1, 0)], ["upper", "upper"], 0, 0),  # a swap
        # Lower ends alone would keep one cable and lay two anew; both are re-plugged.
        ([(0, 0), (4, 4)], [(8, 0), (0, 4)], ["lower", "lower"], 0, 0),
    ],
)
def test_small_changes(
    old: list[tuple[int, int]], new: list[tuple[int, int]], moved: list[str], removed: int, added: int
) -> None:
    changes = fabric_changes("backend", _cables(old), _cables(new), NONE)
    assert [move.ends for move in changes.moved] == moved
    assert (len(changes.removed), len(changes.added)) == (removed, added)


def test_another_medium_between_the_same_ports_is_another_cable() -> None:
    changes = fabric_changes("backend", [_cable(0, 0)], [_cable(0, 0, "aoc")], NONE)
    assert (changes.kept, len(changes.replaced), changes.moved, changes.removed) == (0, 1, (), ())


def test_a_renamed_device_keeps_its_cables() -> None:
    renamed = {"leaf-0": "leaf-00", "spine-0": "spine-00"}
    old = _cable(0, 0)
    new = Cable(
        "backend",
        1,
        Interface("leaf-00", "0", "backend", "up", 200, None, None, 0),
        Interface("spine-00", "0", "backend", "down", 200, None, None, 0),
        200,
        "dac",
        3.0,
    )
    changes = fabric_changes("backend", [old], [new], renamed)
    assert changes.kept == 1
    assert not changes


_PORTS = st.permutations(range(16))
_COUNT = st.integers(0, 16)


@settings(max_examples=300, deadline=None)
@given(_PORTS, _COUNT, _PORTS, _COUNT)
def test_as_many_cables_are_saved_as_any_matching_saves(old: list[int], most: int, new: list[int], other: int) -> None:
    before = _cables(list(enumerate(old))[:most])
    after = _cables(list(enumerate(new))[-other:] if other else [])
    changes = fabric_changes("backend", before, after, NONE)

    same = {(c.a, c.b) for c in before} & {(c.a, c.b) for c in after}
    graph = networkx.Graph()
    for i, one in enumerate(before):
        for j, two in enumerate(after):
            if (one.a, one.b) not in same and (two.a, two.b) not in same and (one.a == two.a or one.b == two.b):
                graph.add_edge(("old", i), ("new", j))
    best = len(networkx.max_weight_matching(graph, maxcardinality=True))

    one_end = [move for move in changes.moved if move.ends != "both"]
    assert changes.kept == len(same)
    assert len(one_end) == best
    for move in one_end:
        assert (move.before.a == move.after.a) == (move.ends == "upper")
        assert (move.before.b == move.after.b) == (move.ends == "lower")
    used = [*(move.before for move in changes.moved), *changes.removed]
    made = [*(move.after for move in changes.moved), *changes.added]
    assert len(used) == len(set(used)) == len(before) - len(same)
    assert len(made) == len(set(made)) == len(after) - len(same)


def test_the_work_order_walks_the_racks(tmp_path: Path) -> None:
    before = overlaid(tmp_path, "lab-ib", "nodes:\n  - {name: compute, count: 8}\n")
    after = plan_of("lab-ib")
    changes = compare_plans(before, after)
    rows = list(csv.DictReader(io.StringIO(work_order_csv(work_order(before, after, changes.cables)))))
    order = ["remove", "replace", "move", "add"]
    assert [order.index(row["action"]) for row in rows] == sorted(order.index(row["action"]) for row in rows)
    assert [int(row["step"]) for row in rows] == list(range(1, len(rows) + 1))
    moves = sum(len(fabric.moved) for fabric in changes.cables)
    assert sum(row["action"] == "move" for row in rows) == moves > 0
    added = [row["rack"] for row in rows if row["action"] == "add" and row["device"].startswith("gpu-")]
    assert added == sorted(added)
    assert len(added) == sum(1 for f in changes.cables for cable in f.added if cable.a.device.startswith("gpu-"))
    first = next(row for row in rows if row["action"] == "move")
    assert first["instruction"].startswith(f"move the end at {first['device']} {first['port']} to {first['to_device']}")
