"""The steps of an acceptance plan as data; how they are printed is not decided here.

Rounds say which nodes are paired when: everybody with everybody else, nobody twice in a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Command:
    """A command, and its machine; ``where`` may stand for several (``every node``)."""

    where: str
    line: str


@dataclass(frozen=True, slots=True)
class Threshold:
    """A figure that must hold: at most or at least ``value`` of ``unit``, and how it was computed."""

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
    """The operator's choices: how long counters are watched, and the demanded shares of the computed ceilings.

    ``bandwidth`` is the share of a pair's payload rate. A lane that is lost or a speed step halves a link, so that any
    share above one half tells a degraded link from a good one; the rest allows for start-up and
    acknowledgements. ``collective`` is the share of a ring's ceiling: the published aim is 90 per cent and more of the
    expected AllGather bandwidth (Building Meta's GenAI Infrastructure, 2024).
    """

    minutes: int = 60
    bandwidth: float = 0.97
    collective: float = 0.9
