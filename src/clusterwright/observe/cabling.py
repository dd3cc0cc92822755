"""The fewest moves from the observed cables to the planned cables.

Ends of cables are integers; a port takes one cable, so planned and observed cables are matchings. Their differences
form chains and rings of alternating wrong and missing cables (the symmetric difference of two matchings: Berge, 1957).
A ring of k wrong cables takes k moves, one for each: fewer cannot do, since a wrong cable stays wrong while neither of
its ends is moved. The same holds for chains, but for one cable too many or too few.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Move:
    """A cable to move: it stays at ``keep``, leaves ``source`` and goes to ``target``.

    ``ring`` is the number of moves of its ring: 2 for a pair of exchanged cables, 0 for a chain.
    """

    keep: int
    source: int
    target: int
    ring: int


@dataclass(frozen=True, slots=True)
class Repair:
    """Moves, planned cables to add, and cables to take out, as edges; in the order of their smallest end."""

    moves: tuple[Move, ...]
    missing: tuple[Edge, ...]
    unexpected: tuple[Edge, ...]


def repair(
    planned: Mapping[int, int],
    observed: Mapping[int, int],
    optional: Collection[int],
    stays: Callable[[int], bool],
) -> Repair:
    """Compare two matchings, each given in both directions (``planned[a] == b`` and ``planned[b] == a``).

    ``optional`` holds the ends of planned cables that may be absent. Where there is a choice, the cable keeps the end
    for which ``stays`` is true.
    """
    absent: dict[int, int] = {}
    for end, peer in planned.items():
        if observed.get(end) == peer:
            continue
        if end not in optional or end in observed or peer in observed:
            absent[end] = peer
    wrong = {end: peer for end, peer in observed.items() if planned.get(end) != peer}
    moves: list[Move] = []
    missing: list[Edge] = []
    unexpected: list[Edge] = []
    seen: set[int] = set()
    ends = sorted(absent.keys() | wrong.keys())
    for start in ends:  # chains first: only one edge ends at their first end
        if start not in seen and (start in absent) != (start in wrong):
            _mend_chain(
                _follow(start, start in wrong, absent, wrong, seen),
                wrong,
                optional,
                stays=stays,
                moves=moves,
                missing=missing,
                unexpected=unexpected,
            )
    for start in ends:
        if start not in seen:
            _mend_ring(_follow(start, True, absent, wrong, seen), stays, moves)
    return Repair(
        moves=tuple(sorted(moves, key=lambda move: move.keep)),
        missing=tuple(sorted(missing)),
        unexpected=tuple(sorted(unexpected)),
    )


def _follow(
    start: int, is_wrong: bool, absent: Mapping[int, int], wrong: Mapping[int, int], seen: set[int]
) -> list[int]:
    """The ends of a chain or ring from ``start``, along wrong and absent cables in turn."""
    path = [start]
    seen.add(start)
    while True:
        cables = wrong if is_wrong else absent
        next_end = cables.get(path[-1])
        if next_end is None or next_end in seen:
            return path
        path.append(next_end)
        seen.add(next_end)
        is_wrong = not is_wrong


def _mend_ring(path: Sequence[int], stays: Callable[[int], bool], moves: list[Move]) -> None:
    """``path`` starts with a wrong cable and returns by a missing one: either all even ends stay or all odd ones."""
    even, odd = path[0::2], path[1::2]
    size = len(even)
    keeps_odd = sum(map(stays, odd)) > sum(map(stays, even))
    for index in range(size):
        if keeps_odd:
            move = Move(keep=odd[index], source=even[index], target=even[(index + 1) % size], ring=size)
        else:
            move = Move(keep=even[index], source=odd[index], target=odd[index - 1], ring=size)
        moves.append(move)


def _mend_chain(
    path: list[int],
    wrong: Mapping[int, int],
    optional: Collection[int],
    *,
    stays: Callable[[int], bool],
    moves: list[Move],
    missing: list[Edge],
    unexpected: list[Edge],
) -> None:
    starts_wrong = wrong.get(path[0]) == path[1]
    ends_wrong = (len(path) % 2 == 0) == starts_wrong
    if starts_wrong != ends_wrong:
        # As many wrong as missing cables: all move towards the end where a cable is missing.
        path = path if starts_wrong else path[::-1]
        moves.extend(_towards_end(path, range(0, len(path) - 1, 2)))
        return
    # One cable remains: cables before it move towards the start of the chain (missing) or the end (unexpected).
    candidates = range(0, len(path) - 1, 2)
    best = min(candidates, key=lambda index: (_rank(path, index, starts_wrong, optional, stays), path[index]))
    edge = (min(path[best : best + 2]), max(path[best : best + 2]))
    if starts_wrong:
        moves.extend(_towards_end(path, range(0, best, 2)))
        moves.extend(_towards_start(path, range(best + 2, len(path) - 1, 2)))
        unexpected.append(edge)
    else:
        moves.extend(_towards_start(path, range(1, best, 2)))
        moves.extend(_towards_end(path, range(best + 1, len(path) - 2, 2)))
        if edge[0] not in optional:
            missing.append(edge)


def _rank(
    path: list[int], index: int, starts_wrong: bool, optional: Collection[int], stays: Callable[[int], bool]
) -> tuple[bool, int]:
    """Cost of leaving the edge at ``index`` unmoved, to be minimised: a required cable, then the ends that move."""
    kept_ends = path[1:index:2] + path[index + 2 : -1 : 2]
    is_required = not starts_wrong and path[index] not in optional
    return is_required, -sum(map(stays, kept_ends))


def _towards_end(path: Sequence[int], indices: range) -> list[Move]:
    return [Move(keep=path[index + 1], source=path[index], target=path[index + 2], ring=0) for index in indices]


def _towards_start(path: Sequence[int], indices: range) -> list[Move]:
    return [Move(keep=path[index], source=path[index + 1], target=path[index - 1], ring=0) for index in indices]
