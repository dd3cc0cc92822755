"""Leave out permits without effect: those covered by the permits before them.

Zones may overlap, and flows with them; so one packet may be allowed by several. A filter names it once.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, islice, product
from typing import TYPE_CHECKING, TypeVar

from clusterwright.intent.filter_entries import ANY, ICMP, TCP, UDP, Permit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from clusterwright.spec.isolation import Network

Interval = tuple[int, int]  # inclusive
Box = tuple[Interval, ...]
Part = TypeVar("Part")

MOST_PORTS = 64  # longer ranges would fill the table of a chip that knows single ports only
ALL_PORTS: Interval = (0, 65535)
ALL_ADDRESSES: Interval = (0, (1 << 128) - 1)
# Kinds of packets as numbers: TCP, UDP, each ICMP type, any other.
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
    intervals = iter(in_order(list(chain.from_iterable(permit.sources for permit in permits))))
    shapes = []
    for permit in permits:
        sources = tuple(islice(intervals, len(permit.sources)))
        shapes.append((permit._replace(name="", sources=()), sources))
    visible: list[Permit] = []
    for permit, needed_entries in zip(permits, _needed_entries(tuple(shapes)), strict=True):
        if needed_entries is None:
            visible.append(permit)
        else:
            entries = _entries(permit)
            visible.extend(entries[number] for number in needed_entries)
    return tuple(visible)


def in_order(networks: Sequence[Network]) -> tuple[Interval, ...]:
    """Networks by the order of their ends among all: equal for filters with nothing but other addresses."""
    edges = [(first, last + 1) for first, last in map(span, networks)]
    position_of = {edge: position for position, edge in enumerate(sorted({*chain.from_iterable(edges)}))}
    return tuple((position_of[first], position_of[after] - 1) for first, after in edges)


def with_single_ports(permit: Permit) -> Permit:
    """A permit as a chip without port ranges has it: port by port, and every port for a range of more than 64."""
    low, high = _single(permit.source_ports), _single(permit.target_ports)
    if low == permit.source_ports and high == permit.target_ports:
        return permit
    return permit._replace(source_ports=low, target_ports=high)


def _single(ports: tuple[Interval, ...]) -> tuple[Interval, ...]:
    if any(high - low >= MOST_PORTS for low, high in ports):
        return ()
    single: list[Interval] = []
    for low, high in ports:
        single.extend((port, port) for port in range(low, high + 1))
    return tuple(single)


def needed(rules: Iterable[Sequence[Box]]) -> tuple[bool, ...]:
    """Mark the rules, unions of boxes, with at least one point outside all rules before them.

    A box is compared with all boxes before it at once, so thousands take seconds; only overlapping ones are subtracted.
    """
    boxes_by_rule = tuple(tuple(rule) for rule in rules)
    boxes = list(chain.from_iterable(boxes_by_rule))
    if len(boxes) <= _FEW_BOXES:
        return _needed_of_few(boxes_by_rule)
    import numpy as np  # takes longer to import than few boxes take to compare

    ranks = []
    for side in zip(*boxes, strict=True):
        ends = sorted(set(chain.from_iterable(side)))
        ranks.append({end: rank for rank, end in enumerate(ends)})
    ranked = np.array([_ranked(box, ranks) for box in boxes])
    counts = np.zeros(len(boxes), np.bool_)
    flags: list[bool] = []
    start = 0
    for rule_boxes in boxes_by_rule:
        end = start + len(rule_boxes)
        uncovered: list[Box] = []
        for index, box in enumerate(rule_boxes, start):
            uncovered.extend(_beyond(box, ranked, counts, index=index, start=start, boxes=boxes))
        counts[start:end] = bool(uncovered)
        flags.append(bool(uncovered))
        start = end
    return tuple(flags)


def _ranked(box: Box, ranks: Sequence[Mapping[int, int]]) -> list[Interval]:
    """A box by the ranks of its ends on each side."""
    return [(rank[low], rank[high]) for rank, (low, high) in zip(ranks, box, strict=True)]


def _needed_of_few(rules: Sequence[Sequence[Box]]) -> tuple[bool, ...]:
    """As ``needed``, each box compared with those before it one by one."""
    before: list[Box] = []
    flags: list[bool] = []
    for rule in rules:
        uncovered: list[Box] = []
        for box in rule:
            pieces = [box]
            for other in before:
                if _are_disjoint(box, other):
                    continue
                pieces = _without(pieces, other)
                if not pieces:
                    break
            uncovered += pieces
        flags.append(bool(uncovered))
        if uncovered:
            before += rule
    return tuple(flags)


def _beyond(
    box: Box, ranked: NDArray[np.int64], counts: NDArray[np.bool_], *, index: int, start: int, boxes: Sequence[Box]
) -> list[Box]:
    """The parts of a box outside the counting boxes before ``start``; ``ranked`` are all boxes by the order of ends."""
    before, meets = ranked[:start], counts[:start].copy()
    for side, (low, high) in enumerate(ranked[index]):
        meets &= (before[:, side, 0] <= high) & (before[:, side, 1] >= low)
    remaining = [box]
    for other in meets.nonzero()[0].tolist():
        remaining = _without(remaining, boxes[other])
        if not remaining:
            break
    return remaining


def span(network: Network) -> Interval:
    """The first and the last address of a network."""
    return int(network.network_address), int(network.broadcast_address)


def box_of(
    permit: Permit, source: Interval, target: Interval, *, low: Interval, high: Interval, kind: int | None
) -> Box:
    """The packets of one entry: addresses, protocol, ports, ACK or RST, fragments."""
    kinds = _KINDS[permit.protocol] if kind is None else (_FIRST_TYPE + kind, _FIRST_TYPE + kind)
    flags = _ONE if permit.established else _BOTH
    # A later fragment has no ports, type or flags to match.
    reads_header = low != ALL_PORTS or high != ALL_PORTS or kind is not None or permit.established
    fragments = _ONE if reads_header else _BOTH
    return (source, target, kinds, low, high, flags, fragments)


def _entries(permit: Permit) -> list[Permit]:
    """A permit for each combination of source, target, ports and type."""
    combinations = product(
        _singles(permit.sources),
        _singles(permit.targets),
        _singles(permit.source_ports),
        _singles(permit.target_ports),
        _singles(permit.types),
    )
    entries = []
    for source, target, low, high, kind in combinations:
        entry = permit._replace(sources=source, targets=target, source_ports=low, target_ports=high, types=kind)
        entries.append(entry)
    return entries


def _singles(part: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    """One tuple for each value; one empty tuple without values."""
    return [(value,) for value in part] or [()]


@lru_cache(maxsize=1024)
def _needed_entries(shapes: tuple[tuple[Permit, tuple[Interval, ...]], ...]) -> tuple[tuple[int, ...] | None, ...]:
    """For each permit the numbers of its needed entries; None for all of them."""
    boxes_by_permit = [_boxes(permit, sources) for permit, sources in shapes]
    flags = iter(needed([box] for box in chain.from_iterable(boxes_by_permit)))
    needed_by_permit: list[tuple[int, ...] | None] = []
    for boxes in boxes_by_permit:
        numbers = tuple(number for number in range(len(boxes)) if next(flags))
        needed_by_permit.append(None if len(numbers) == len(boxes) else numbers)
    return tuple(needed_by_permit)


def _boxes(permit: Permit, sources: tuple[Interval, ...]) -> list[Box]:
    """The packets of each entry of a permit, in the order of ``_entries``."""
    combinations = product(
        sources or (ALL_ADDRESSES,),
        tuple(map(span, permit.targets)) or (ALL_ADDRESSES,),
        permit.source_ports or (ALL_PORTS,),
        permit.target_ports or (ALL_PORTS,),
        permit.types or (None,),
    )
    boxes = []
    for source, target, low, high, kind in combinations:
        boxes.append(box_of(permit, source, target, low=low, high=high, kind=kind))
    return boxes


def _without(pieces: Sequence[Box], other: Box) -> list[Box]:
    """The parts of pieces outside another box."""
    outside: list[Box] = []
    for piece in pieces:
        outside.extend(_minus(piece, other))
    return outside


def _are_disjoint(one: Box, other: Box) -> bool:
    for (low, high), (other_low, other_high) in zip(one, other, strict=True):
        if high < other_low or other_high < low:
            return True
    return False


def _minus(minuend: Box, other: Box) -> Iterable[Box]:
    """The difference of two boxes, in boxes."""
    if _are_disjoint(minuend, other):
        return (minuend,)
    pieces: list[Box] = []
    core = list(minuend)
    for side, (low, high) in enumerate(other):
        first, last = core[side]
        if first < low:
            pieces.append((*core[:side], (first, low - 1), *core[side + 1 :]))
        if high < last:
            pieces.append((*core[:side], (high + 1, last), *core[side + 1 :]))
        core[side] = (max(first, low), min(last, high))
    return pieces
