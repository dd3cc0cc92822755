"""The algebra of packet sets, judged by z3: what it calls empty has no model, and its witnesses are models."""

from __future__ import annotations

import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.packets.boxes import (
    EVERYTHING,
    FIELDS,
    WHOLE,
    Box,
    Packet,
    PacketSet,
    are_disjoint,
    cut,
    meet,
    merged,
)
from clusterwright.packets.ranges import Ranges, ranges

# Few fields and small numbers, so that sets often touch; the others stay whole.
_DRAWN = (0, 3, 7, 8, 9, 11)
_TOPS = {0: 1, 3: 4, 7: 15, 8: 15, 9: 12, 11: 6}
_BITS = 129


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    made = list(WHOLE)
    for at in _DRAWN:
        if draw(st.booleans()):
            intervals = draw(st.lists(st.tuples(st.integers(0, _TOPS[at]), st.integers(0, 3)), min_size=1, max_size=3))
            made[at] = ranges((low, min(low + size, _TOPS[at])) for low, size in intervals)
    return tuple(made)


sets = st.lists(boxes(), max_size=4).map(lambda found: PacketSet(tuple(found)))
VARIABLES = [z3.BitVec(name, _BITS) for name in FIELDS]


def _field(variable: z3.BitVecRef, field: Ranges) -> z3.BoolRef:
    return z3.Or([z3.And(z3.UGE(variable, low), z3.ULE(variable, high)) for low, high in field.bounds])


def formula(found: PacketSet) -> z3.BoolRef:
    return z3.Or([z3.And([_field(v, f) for v, f in zip(VARIABLES, box, strict=True)]) for box in found.boxes])


SPACE = formula(PacketSet((WHOLE,)))


def has_model(wanted: z3.BoolRef) -> bool:
    solver = z3.Solver()
    solver.add(SPACE, wanted)
    return bool(solver.check() == z3.sat)


def equal(found: PacketSet, wanted: z3.BoolRef) -> bool:
    return not has_model(z3.Xor(formula(found), wanted))


@settings(max_examples=40, deadline=None)
@given(sets, sets)
def test_difference_intersection_and_union_are_what_z3_says(a: PacketSet, b: PacketSet) -> None:
    assert equal(a - b, z3.And(formula(a), z3.Not(formula(b))))
    assert equal(a & b, z3.And(formula(a), formula(b)))
    assert equal(a | b, z3.Or(formula(a), formula(b)))


@settings(max_examples=60, deadline=None)
@given(sets, sets)
def test_a_set_is_empty_when_z3_finds_no_packet_in_it(a: PacketSet, b: PacketSet) -> None:
    left = a - b
    assert bool(left) == has_model(z3.And(formula(a), z3.Not(formula(b))))
    if left:
        witness: Packet = left.witness()
        assert witness in a
        assert witness not in b


@settings(max_examples=60, deadline=None)
@given(sets)
def test_joined_boxes_hold_the_same_packets(a: PacketSet) -> None:
    assert equal(PacketSet(tuple(merged(a.boxes))), formula(a))


@given(boxes(), boxes())
def test_boxes_are_apart_when_they_have_no_packet_in_common(a: Box, b: Box) -> None:
    assert are_disjoint(a, b) == (meet(a, b) is None)


@given(boxes(), boxes())
def test_pieces_of_a_cut_box_are_disjoint(a: Box, b: Box) -> None:
    pieces = cut(a, b)
    for index, one in enumerate(pieces):
        assert meet(one, b) is None
        assert all(meet(one, other) is None for other in pieces[:index])


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), max_size=6), st.data())
def test_ranges_are_sets_of_integers(raw: list[tuple[int, int]], data: st.DataObject) -> None:
    other_raw = data.draw(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), max_size=6))
    a, b = (ranges((low, low + size) for low, size in each) for each in (raw, other_raw))
    one, two = ({n for low, high in each.bounds for n in range(low, high + 1)} for each in (a, b))
    for found, wanted in ((a & b, one & two), (a | b, one | two), (a - b, one - two)):
        assert {n for low, high in found.bounds for n in range(low, high + 1)} == wanted
        assert found == ranges(found.bounds)
    assert a.size() == len(one)


def test_no_packet_has_an_ipv4_address_of_more_than_32_bits() -> None:
    assert all(
        box[7].bounds[-1][1] < 1 << 32 and box[8].bounds[-1][1] < 1 << 32 for box in EVERYTHING.boxes if 0 in box[0]
    )
