"""The steps of an acceptance plan as data, independent of their output format.

A round is a set of pairs without a common node; all rounds together hold every pair once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Round = tuple[tuple[str, str], ...]


def tournament(names: Sequence[str]) -> tuple[Round, ...]:
    """Rounds of pairs by the circle method: with n names, n - 1 rounds (n when odd: one rests in each round).

    Each NIC has a leaf port of its own, so the tests of a round share no switch port to a node.
    """
    if len(names) < 2:
        return ()
    seats: list[str | None] = [*names]
    if len(names) % 2:
        seats.append(None)
    rounds = []
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        pairs = zip(seats[:half], reversed(seats[half:]), strict=True)
        rounds.append(tuple((first, second) for first, second in pairs if first is not None and second is not None))
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return tuple(rounds)


@dataclass(frozen=True, slots=True)
class Command:
    """A command, and its machine or machines (``every node``)."""

    where: str
    line: str


@dataclass(frozen=True, slots=True)
class Threshold:
    """A required figure: at most or at least ``value`` of ``unit``, and its computation."""

    name: str
    relation: str
    value: float
    unit: str
    formula: str

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {self.value:,.6g} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Step:
    """One step: do, check, and mend before the next one. ``rounds`` are the pairs of a bandwidth matrix."""

    key: str
    title: str
    commands: tuple[Command, ...]
    must_hold: tuple[str, ...]
    otherwise: str
    thresholds: tuple[Threshold, ...] = ()
    rounds: tuple[Round, ...] = ()


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The ordered steps for one group on one fabric, with their assumptions."""

    cluster: str
    group: str
    fabric: str
    technology: str
    nodes: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class AcceptanceLimits:
    """The operator's choices: the watch period of counters, and the required shares of the computed ceilings.

    ``bandwidth`` is the share of a pair's payload rate. A lost lane or speed step halves a link, so any share above one
    half separates degraded links from good ones; the rest allows for start-up and acknowledgements. ``collective`` is
    the share of a ring's ceiling: the published aim is 90 per cent and more of the expected AllGather bandwidth
    (Building Meta's GenAI Infrastructure, 2024).
    """

    minutes: int = 60
    bandwidth: float = 0.97
    collective: float = 0.9
