"""The fewest moves from the cables that are there to the cables that were planned.

Ends of cables are integers; a port takes one cable, so planned and observed cables are matchings. What differs between
the two falls into chains and rings in which a wrong cable and a missing cable take turns (the symmetric difference of
two matchings: Berge, 1957). A ring of k wrong cables takes k moves, one for each: fewer cannot do, since a wrong cable
stays wrong while neither of its ends is moved. The same holds for chains, but for one cable too many or too few.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Move:
    """The cable that ends at ``keep`` leaves ``source`` and goes to ``target``. ``ring`` counts the moves of its ring.

    A ring of 2 is a pair of exchanged cables; 0 stands for a chain.
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
    wanted = {
        end: other
        for end, other in planned.items()
        if observed.get(end) != other and (end not in optional or end in observed or other in observed)
    }
    wrong = {end: other for end, other in observed.items() if planned.get(end) != other}
    moves: list[Move] = []
    missing: list[Edge] = []
    unexpected: list[Edge] = []
    seen: set[int] = set()
    ends = sorted(wanted.keys() | wrong.keys())
    for start in ends:  # chains first: they start where only one edge ends
        if start not in seen and (start in wanted) != (start in wrong):
            _mend_chain(
                _follow(start, start in wrong, wanted, wrong, seen),
                wrong,
                optional,
                stays=stays,
                moves=moves,
                missing=missing,
                unexpected=unexpected,
            )
    for start in ends:
        if start not in seen:
            _mend_ring(_follow(start, True, wanted, wrong, seen), stays, moves)
    return Repair(
        tuple(sorted(moves, key=lambda move: move.keep)),
        tuple(sorted(missing)),
        tuple(sorted(unexpected)),
    )


def _follow(
    start: int, on_wrong: bool, wanted: Mapping[int, int], wrong: Mapping[int, int], seen: set[int]
) -> list[int]:
    """The ends of a chain or ring from ``start``, wrong and missing cables in turn."""
    path = [start]
    seen.add(start)
    while True:
        following = (wrong if on_wrong else wanted).get(path[-1])
        if following is None or following in seen:
            return path
        path.append(following)
        seen.add(following)
        on_wrong = not on_wrong


def _mend_ring(path: Sequence[int], stays: Callable[[int], bool], moves: list[Move]) -> None:
    """``path`` starts with a wrong cable and returns by a missing one: either all even ends stay or all odd ones."""
    even, odd = path[0::2], path[1::2]
    size = len(even)
    if sum(map(stays, odd)) > sum(map(stays, even)):
        moves.extend(Move(keep=odd[at], source=even[at], target=even[(at + 1) % size], ring=size) for at in range(size))
    else:
        moves.extend(Move(keep=even[at], source=odd[at], target=odd[at - 1], ring=size) for at in range(size))


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
    # One cable stands alone: cables before it move towards the start of the chain (missing) or the end (unexpected).
    alone = range(0, len(path) - 1, 2)
    best = min(alone, key=lambda at: (_rank(path, at, starts_wrong, optional, stays), path[at]))
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
    path: Sequence[int], at: int, starts_wrong: bool, optional: Collection[int], stays: Callable[[int], bool]
) -> tuple[bool, int]:
    """How bad a choice it is to leave the edge at ``at`` alone: is it needed, and how few ends stay then."""
    if starts_wrong:
        kept = [path[i + 1] for i in range(0, at, 2)] + [path[i] for i in range(at + 2, len(path) - 1, 2)]
        return False, -sum(map(stays, kept))
    kept = [path[i] for i in range(1, at, 2)] + [path[i + 1] for i in range(at + 1, len(path) - 2, 2)]
    return path[at] not in optional, -sum(map(stays, kept))


def _towards_end(path: Sequence[int], wrong_at: range) -> list[Move]:
    return [Move(keep=path[at + 1], source=path[at], target=path[at + 2], ring=0) for at in wrong_at]


def _towards_start(path: Sequence[int], wrong_at: range) -> list[Move]:
    return [Move(keep=path[at], source=path[at + 1], target=path[at - 1], ring=0) for at in wrong_at]
