"""Which nodes are paired in which round: everybody with everybody else, nobody twice in a round."""

from __future__ import annotations

from collections.abc import Sequence

Round = tuple[tuple[str, str], ...]


def tournament(names: Sequence[str]) -> tuple[Round, ...]:
    """Rounds of pairs by the circle method: with n names, n - 1 rounds (n when odd: one rests in each round).

    A NIC has one port of a leaf to itself, so within a round no switch port towards a node is shared.
    """
    if len(names) < 2:
        return ()
    seats: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    rounds = []
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        pairs = zip(seats[:half], reversed(seats[half:]), strict=True)
        rounds.append(tuple((one, other) for one, other in pairs if one is not None and other is not None))
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return tuple(rounds)
