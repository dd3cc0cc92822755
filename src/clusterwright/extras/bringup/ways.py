"""Paths between the switches of a fabric: the cables that a test may take, and the share of each of several tests.

It is unknown beforehand which of the equal paths a test takes: a hash of its packets decides on Ethernet, the
forwarding tables on InfiniBand. So a way is every cable that some shortest path may take: tests that share none cannot
meet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, product
from math import comb

from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import Plan

UP, DOWN = "up", "down"
# A healthy unit is to fail for collisions alone in one run of twenty at most.
RISK = 0.05


@dataclass(frozen=True, slots=True)
class Stretch:
    """Equal cables that a test takes one of: from (UP) or to (DOWN) some switches of one tier."""

    switches: frozenset[str]
    direction: str


@dataclass(frozen=True, slots=True)
class Way:
    """The stretches between two switches, none under one switch; ``slowest_gbps`` is the slowest cable of them."""

    stretches: tuple[Stretch, ...]
    slowest_gbps: int | None

    @property
    def hops(self) -> frozenset[tuple[str, str]]:
        """Switches with the direction in which a test may leave or enter them."""
        hops: set[tuple[str, str]] = set()
        for stretch in self.stretches:
            hops.update((switch, stretch.direction) for switch in stretch.switches)
        return frozenset(hops)


class CabledPaths:
    """The cables in service between the switches of one fabric."""

    def __init__(self, plan: Plan, fabric: str) -> None:
        self._fabric = fabric
        self._above: dict[str, list[tuple[str, int]]] = {}
        for cable in plan.cables:
            if cable.fabric == fabric and cable.in_service and cable.a.side == "up":
                self._above.setdefault(cable.a.device, []).append((cable.b.device, cable.speed_gbps))
        self._known: dict[tuple[str, str], Way] = {}

    def way(self, one: str, other: str) -> Way:
        """The shortest ways from a switch to another. Raises ClusterwrightError where there is none."""
        if (one, other) not in self._known:
            self._known[one, other] = self._find(one, other)
        return self._known[one, other]

    def cables(self, stretch: Stretch) -> list[int]:
        """The speeds in Gb/s of a stretch's cables."""
        cables = chain.from_iterable(self._above.get(switch, ()) for switch in stretch.switches)
        return [speed for _, speed in cables]

    def _find(self, one: str, other: str) -> Way:
        near, far = self._climb(one), self._climb(other)
        meeting: list[tuple[int, int, int]] = []
        for up, down in product(range(len(near)), range(len(far))):
            if near[up] & far[down]:
                meeting.append((up + down, up, down))
        if not meeting:
            raise ClusterwrightError(f"Nothing of {self._fabric} leads from {one} to {other}: they cannot be tested.")
        _, up, down = min(meeting)
        stretches = (*(Stretch(switch, UP) for switch in near[:up]), *(Stretch(switch, DOWN) for switch in far[:down]))
        speeds = chain.from_iterable(self.cables(stretch) for stretch in stretches)
        return Way(stretches, slowest_gbps=min(speeds, default=None))

    def _climb(self, switch: str) -> list[frozenset[str]]:
        levels = [frozenset({switch})]
        while levels[-1]:
            cables = chain.from_iterable(self._above.get(switch, ()) for switch in levels[-1])
            levels.append(frozenset(upper for upper, _ in cables))
        return levels[:-1]


@dataclass(frozen=True, slots=True)
class Share:
    """Each flow's share of the busiest cable, as a part of its NIC's rate; ``why`` explains it, "" for all of it."""

    part: float
    why: str


def share_of(ways: CabledPaths, flows: Iterable[Way], nic_gbps: int, connections: int, *, evenly: bool) -> Share:
    """The part of its rate that each flow keeps when all run at once.

    A stretch of U cables that F flows cross leaves at most U × speed / (F × NIC). Where every one of a flow's
    ``connections`` keeps to one cable, as hashes and forwarding tables have it, the busiest cable has the number k that
    a binomial distribution of F × connections over U exceeds on some cable of all stretches with a probability of RISK;
    it leaves speed / (k × NIC / connections). ``evenly`` leaves that out: adaptive routing moves packets.
    """
    count: dict[Stretch, int] = {}
    for way in flows:
        for stretch in way.stretches:
            count[stretch] = count.get(stretch, 0) + 1
    worst = Share(1.0, "")
    links = sum(len(ways.cables(stretch)) for stretch in count)
    for stretch, crossing in count.items():
        speeds = ways.cables(stretch)
        even = sum(speeds) / (crossing * nic_gbps)
        parts = [(even, f"{crossing} flows share {len(speeds)} cables")]
        if not evenly:
            most = busiest(crossing * connections, len(speeds), links)
            what = f"{crossing} flows" if connections == 1 else f"{crossing} × {connections} connections"
            busy = min(speeds) * connections / (most * nic_gbps)
            parts.append((busy, f"of {what} over {len(speeds)} cables up to {most} meet on one"))
        part, why = min(parts)
        if part < worst.part:
            worst = Share(part, why)
    return worst


def busiest(balls: int, bins: int, everywhere: int) -> int:
    """The most of ``balls`` that fall into one of ``bins``, exceeded in ``everywhere`` bins with a risk of RISK."""
    chance = 1 / bins
    exact = [comb(balls, k) * chance**k * (1 - chance) ** (balls - k) for k in range(balls + 1)]
    beyond = 0.0
    for most in range(balls, 0, -1):
        beyond += exact[most]
        if beyond * everywhere > RISK:
            return most
    return 1
