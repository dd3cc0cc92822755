"""Which permits say something that those before them do not: the others would decide about no packet.

Zones may overlap, and flows with them; so one packet may be allowed by several. A filter names it once.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, islice, product
from typing import TYPE_CHECKING, TypeVar

from clusterwright.intent.filter_entries import ANY, ICMP, TCP, UDP, Permit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from clusterwright.spec.isolation import Network

Interval = tuple[int, int]  # inclusive
Box = tuple[Interval, ...]
Part = TypeVar("Part")

MOST_PORTS = 64  # longer ranges would fill the table of a chip that knows single ports only
ALL_PORTS: Interval = (0, 65535)
ALL_ADDRESSES: Interval = (0, (1 << 128) - 1)
# What a packet is: TCP, UDP, an ICMP type, anything else.
_KINDS: dict[str, Interval] = {TCP: (0, 0), UDP: (1, 1), ICMP: (2, 257), ANY: (0, 258)}
_FIRST_TYPE = 2
_FEW_BOXES = 512
_BOTH: Interval = (0, 1)
_ONE: Interval = (0, 0)


def without_hidden(permits: tuple[Permit, ...]) -> tuple[Permit, ...]:
    """The same packets, permitted by no more entries than decide about some.

    A permit stands for an entry for each source, target, port range and type. One whose entries are needed in part
    comes back as a permit for each of those.
    """
    placed = iter(in_order([net for permit in permits for net in permit.sources]))
    shapes = tuple(
        (permit._replace(name="", sources=()), tuple(islice(placed, len(permit.sources)))) for permit in permits
    )
    visible: list[Permit] = []
    for permit, kept in zip(permits, _kept(shapes), strict=True):
        if kept is None:
            visible.append(permit)
        else:
            entries = _entries(permit)
            visible.extend(entries[at] for at in kept)
    return tuple(visible)


def in_order(networks: Sequence[Network]) -> tuple[Interval, ...]:
    """Networks by the order of their ends among all: equal for filters that differ in their own addresses alone."""
    edges = [(first, last + 1) for first, last in map(span, networks)]
    place = {edge: at for at, edge in enumerate(sorted({*chain.from_iterable(edges)}))}
    return tuple((place[first], place[after] - 1) for first, after in edges)


def with_single_ports(permit: Permit) -> Permit:
    """A permit as a chip without port ranges has it: port by port, and every port for a range of more than 64."""
    low, high = _single(permit.source_ports), _single(permit.target_ports)
    if low == permit.source_ports and high == permit.target_ports:
        return permit
    return permit._replace(source_ports=low, target_ports=high)


def _single(ports: tuple[Interval, ...]) -> tuple[Interval, ...]:
    if any(high - low >= MOST_PORTS for low, high in ports):
        return ()
    return tuple((port, port) for low, high in ports for port in range(low, high + 1))


def needed(rules: Iterable[Sequence[Box]]) -> tuple[bool, ...]:
    """For each rule, a union of boxes, whether it holds a point that no rule before it holds.

    A box is looked for among all before it at once, so that thousands take seconds; only what it meets is cut off.
    """
    own = tuple(tuple(rule) for rule in rules)
    boxes = [box for each in own for box in each]
    if len(boxes) <= _FEW_BOXES:
        return _needed_of_few(own)
    import numpy as np  # takes longer to import than few boxes take to compare

    places = [
        {end: at for at, end in enumerate(sorted({end for box in boxes for end in box[side]}))}
        for side in range(len(boxes[0]) if boxes else 0)
    ]
    ranked = np.array([[(at[low], at[high]) for at, (low, high) in zip(places, box, strict=True)] for box in boxes])
    counts = np.zeros(len(boxes), np.bool_)
    flags: list[bool] = []
    start = 0
    for each in own:
        end = start + len(each)
        left = [
            piece
            for at, box in enumerate(each, start)
            for piece in _beyond(box, ranked, counts, at=at, start=start, boxes=boxes)
        ]
        counts[start:end] = bool(left)
        flags.append(bool(left))
        start = end
    return tuple(flags)


def _needed_of_few(rules: Sequence[Sequence[Box]]) -> tuple[bool, ...]:
    """As ``needed``, each box compared with those before it one by one."""
    before: list[Box] = []
    flags: list[bool] = []
    for rule in rules:
        left: list[Box] = []
        for box in rule:
            pieces = [box]
            for other in before:
                for (low, high), (first, last) in zip(box, other, strict=True):
                    if high < first or last < low:
                        break
                else:
                    pieces = [rest for piece in pieces for rest in _minus(piece, other)]
                    if not pieces:
                        break
            left += pieces
        flags.append(bool(left))
        if left:
            before += rule
    return tuple(flags)


def _beyond(
    box: Box, ranked: NDArray[np.int64], counts: NDArray[np.bool_], *, at: int, start: int, boxes: Sequence[Box]
) -> list[Box]:
    """What of a box lies outside those before ``start`` that count; ``ranked`` are all boxes by the order of ends."""
    before, meets = ranked[:start], counts[:start].copy()
    for side, (low, high) in enumerate(ranked[at]):
        meets &= (before[:, side, 0] <= high) & (before[:, side, 1] >= low)
    left = [box]
    for other in meets.nonzero()[0].tolist():
        left = [piece for own in left for piece in _minus(own, boxes[other])]
        if not left:
            break
    return left


def span(network: Network) -> Interval:
    """The first and the last address of a network."""
    return int(network.network_address), int(network.broadcast_address)


def box_of(
    permit: Permit, source: Interval, target: Interval, *, low: Interval, high: Interval, kind: int | None
) -> Box:
    """The packets of one entry: addresses, what they are, ports, whether ACK or RST is set, whether whole."""
    kinds = _KINDS[permit.protocol] if kind is None else (_FIRST_TYPE + kind, _FIRST_TYPE + kind)
    whole = low != ALL_PORTS or high != ALL_PORTS or kind is not None or permit.established
    return (source, target, kinds, low, high, _ONE if permit.established else _BOTH, _ONE if whole else _BOTH)


def _entries(permit: Permit) -> list[Permit]:
    return [
        permit._replace(sources=source, targets=target, source_ports=low, target_ports=high, types=kind)
        for source, target, low, high, kind in product(
            _each(permit.sources),
            _each(permit.targets),
            _each(permit.source_ports),
            _each(permit.target_ports),
            _each(permit.types),
        )
    ]


def _each(part: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    """A tuple for each of some values; one empty tuple where there are none."""
    return [(value,) for value in part] or [()]


@lru_cache(maxsize=1024)
def _kept(shapes: tuple[tuple[Permit, tuple[Interval, ...]], ...]) -> tuple[tuple[int, ...] | None, ...]:
    """For each permit the numbers of its entries that are needed; None for all of them."""
    rules = [[[box] for box in _boxes(permit, sources)] for permit, sources in shapes]
    flags = iter(needed(rule for own in rules for rule in own))
    found: list[tuple[int, ...] | None] = []
    for own in rules:
        kept = tuple(at for at in range(len(own)) if next(flags))
        found.append(None if len(kept) == len(own) else kept)
    return tuple(found)


def _boxes(permit: Permit, sources: tuple[Interval, ...]) -> list[Box]:
    return [
        box_of(permit, source, target, low=low, high=high, kind=kind)
        for source, target, low, high, kind in product(
            sources or (ALL_ADDRESSES,),
            tuple(span(target) for target in permit.targets) or (ALL_ADDRESSES,),
            permit.source_ports or (ALL_PORTS,),
            permit.target_ports or (ALL_PORTS,),
            permit.types or (None,),
        )
    ]


def _minus(minuend: Box, other: Box) -> Iterable[Box]:
    """What of a box lies outside another, in boxes."""
    if any(a_high < b_low or b_high < a_low for (a_low, a_high), (b_low, b_high) in zip(minuend, other, strict=True)):
        return (minuend,)
    pieces: list[Box] = []
    left = list(minuend)
    for at, (low, high) in enumerate(other):
        first, last = left[at]
        if first < low:
            pieces.append((*left[:at], (first, low - 1), *left[at + 1 :]))
        if high < last:
            pieces.append((*left[:at], (high + 1, last), *left[at + 1 :]))
        left[at] = (max(first, low), min(last, high))
    return pieces
