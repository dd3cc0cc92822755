"""The moves that are advised lead from any cabling to the planned one, and are as few as can be."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import EXAMPLES

from clusterwright.observe.cabling import Repair, repair

Cables = set[frozenset[int]]


def _both_ways(cables: Cables) -> dict[int, int]:
    found: dict[int, int] = {}
    for cable in cables:
        one, other = sorted(cable)
        found[one], found[other] = other, one
    return found


def _applied(observed: Cables, advice: Repair) -> Cables:
    """All cables to move are unplugged first, as in a ring every port is taken."""
    cables = set(observed)
    for move in advice.moves:
        assert frozenset({move.keep, move.source}) in cables, "only a cable that is there can be moved"
        cables.remove(frozenset({move.keep, move.source}))
    for edge in advice.unexpected:
        cables.remove(frozenset(edge))
    for end in [frozenset({move.keep, move.target}) for move in advice.moves] + [frozenset(e) for e in advice.missing]:
        assert not end & {port for cable in cables for port in cable}, "a port takes one cable"
        cables.add(end)
    return cables


@st.composite
def _cablings(draw: st.DrawFn) -> tuple[Cables, Cables, set[int]]:
    """Planned cables, observed ones after swaps, removals, additions and moves to free ports, and optional ends."""
    count = draw(st.integers(1, 12))
    planned: Cables = {frozenset({2 * at, 2 * at + 1}) for at in range(count)}
    cables = [sorted(cable) for cable in sorted(planned, key=sorted)]
    free = list(range(100, 110))
    for _ in range(draw(st.integers(0, 8))):
        if not cables:
            break
        one, other = (draw(st.integers(0, len(cables) - 1)) for _ in range(2))
        what = draw(st.sampled_from(["swap", "remove", "move", "add"]))
        side = draw(st.integers(0, 1))
        if what == "swap" and one != other:
            cables[one][side], cables[other][1] = cables[other][1], cables[one][side]
        elif what == "remove":
            cables.pop(one)
        elif what == "move" and free:
            cables[one][side] = free.pop()
        elif what == "add" and len(free) > 1:
            cables.append([free.pop(), free.pop()])
    optional = {end for at in draw(st.sets(st.integers(0, count - 1), max_size=3)) for end in (2 * at, 2 * at + 1)}
    return planned, {frozenset(cable) for cable in cables}, optional


@settings(max_examples=10 * EXAMPLES)
@given(_cablings())
def test_the_moves_lead_to_the_plan(cabling: tuple[Cables, Cables, set[int]]) -> None:
    planned, observed, optional = cabling
    advice = repair(_both_ways(planned), _both_ways(observed), optional, lambda end: end % 2 == 0)
    result = _applied(observed, advice)
    assert result <= planned
    assert all(cable <= optional for cable in planned - result), "only what is optional may be left out"
    touched = [cable for cable in observed if cable not in planned]
    assert len(advice.moves) + len(advice.unexpected) == len(touched), "each wrong cable is touched once, no other is"
    assert {frozenset({m.keep, m.source}) for m in advice.moves} | set(map(frozenset, advice.unexpected)) == set(
        touched
    )


@settings(max_examples=10 * EXAMPLES)
@given(_cablings())
def test_no_cable_is_added_while_one_is_taken_out_of_the_same_chain(cabling: tuple[Cables, Cables, set[int]]) -> None:
    planned, observed, _ = cabling
    advice = repair(_both_ways(planned), _both_ways(observed), (), lambda end: end % 2 == 0)
    groups = _components(planned ^ observed)
    for group in groups:
        alone = [edge for edge in (*advice.missing, *advice.unexpected) if set(edge) <= group]
        assert len(alone) <= 1


def _components(cables: Cables) -> list[set[int]]:
    groups: list[set[int]] = []
    for cable in cables:
        joined = [group for group in groups if group & cable]
        groups = [group for group in groups if not group & cable]
        groups.append(set(cable).union(*joined))
    return groups


def test_a_cable_in_a_drained_port_goes_back_and_the_drained_cable_is_not_missed() -> None:
    planned = _both_ways({frozenset({0, 1}), frozenset({2, 3})})
    observed = _both_ways({frozenset({0, 3})})
    advice = repair(planned, observed, {2, 3}, lambda end: end % 2 == 0)
    assert [(move.keep, move.source, move.target) for move in advice.moves] == [(0, 3, 1)]
    assert advice.missing == advice.unexpected == ()
