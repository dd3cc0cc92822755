"""Paths between the switches of a fabric: the possible cables of a test, and the bandwidth of simultaneous tests.

The path of a test among equal ones is unknown: a hash of its packets decides on Ethernet, the forwarding tables on
InfiniBand. So a path here holds the cables of all shortest paths: tests without a common cable cannot collide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, product
from math import comb

from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import Plan

UP, DOWN = "up", "down"
# A healthy unit may fail for collisions alone in at most one run of twenty.
RISK = 0.05


@dataclass(frozen=True, slots=True)
class Stretch:
    """Equal cables, one of them on a test's path: from (UP) or to (DOWN) switches of one tier."""

    switches: frozenset[str]
    direction: str


@dataclass(frozen=True, slots=True)
class SwitchPath:
    """The stretches between two switches, none for a single switch; ``slowest_gbps`` is their slowest cable."""

    stretches: tuple[Stretch, ...]
    slowest_gbps: int | None

    @property
    def hops(self) -> frozenset[tuple[str, str]]:
        """Switches with the possible directions of a test at them."""
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
        self._path_by_ends: dict[tuple[str, str], SwitchPath] = {}

    def path(self, source: str, target: str) -> SwitchPath:
        """The shortest paths from a switch to another. Raises ClusterwrightError for unconnected switches."""
        if (source, target) not in self._path_by_ends:
            self._path_by_ends[source, target] = self._find_path(source, target)
        return self._path_by_ends[source, target]

    def cables(self, stretch: Stretch) -> list[int]:
        """The speeds in Gb/s of a stretch's cables."""
        cables = chain.from_iterable(self._above.get(switch, ()) for switch in stretch.switches)
        return [speed for _, speed in cables]

    def _find_path(self, source: str, target: str) -> SwitchPath:
        near, far = self._climb(source), self._climb(target)
        meeting: list[tuple[int, int, int]] = []
        for up, down in product(range(len(near)), range(len(far))):
            if near[up] & far[down]:
                meeting.append((up + down, up, down))
        if not meeting:
            raise ClusterwrightError(
                f"Nothing of {self._fabric} leads from {source} to {target}: they cannot be tested."
            )
        _, up, down = min(meeting)
        stretches = (*(Stretch(switch, UP) for switch in near[:up]), *(Stretch(switch, DOWN) for switch in far[:down]))
        speeds = chain.from_iterable(self.cables(stretch) for stretch in stretches)
        return SwitchPath(stretches, slowest_gbps=min(speeds, default=None))

    def _climb(self, switch: str) -> list[frozenset[str]]:
        levels = [frozenset({switch})]
        while levels[-1]:
            cables = chain.from_iterable(self._above.get(switch, ()) for switch in levels[-1])
            levels.append(frozenset(upper for upper, _ in cables))
        return levels[:-1]


@dataclass(frozen=True, slots=True)
class Share:
    """Each flow's share of the busiest cable, as a part of its NIC's rate; ``why`` is "" for the full rate."""

    part: float
    why: str


def share_of(
    paths: CabledPaths, flows: Iterable[SwitchPath], nic_gbps: int, connections: int, *, evenly: bool
) -> Share:
    """The share of the full rate for each of simultaneous flows.

    With F flows over a stretch of U cables, the share is at most U × speed / (F × NIC). If each of a flow's
    ``connections`` stays on one cable, as with hashes and forwarding tables, the busiest cable carries k connections
    and the share is speed / (k × NIC / connections): a binomial distribution of F × connections over U exceeds k on
    some cable of all stretches with a probability of RISK. ``evenly`` (adaptive routing) uses the first bound only.
    """
    count: dict[Stretch, int] = {}
    for path in flows:
        for stretch in path.stretches:
            count[stretch] = count.get(stretch, 0) + 1
    worst = Share(1.0, "")
    links = sum(len(paths.cables(stretch)) for stretch in count)
    for stretch, crossing in count.items():
        speeds = paths.cables(stretch)
        even = sum(speeds) / (crossing * nic_gbps)
        parts = [(even, f"{crossing} flows share {len(speeds)} cables")]
        if not evenly:
            most = busiest(crossing * connections, len(speeds), links)
            load = f"{crossing} flows" if connections == 1 else f"{crossing} × {connections} connections"
            busy = min(speeds) * connections / (most * nic_gbps)
            parts.append((busy, f"of {load} over {len(speeds)} cables up to {most} meet on one"))
        part, why = min(parts)
        if part < worst.part:
            worst = Share(part, why)
    return worst


def busiest(balls: int, bins: int, everywhere: int) -> int:
    """The most of ``balls`` in one of ``bins``, exceeded in any of ``everywhere`` bins with a probability of RISK."""
    chance = 1 / bins
    exact = [comb(balls, k) * chance**k * (1 - chance) ** (balls - k) for k in range(balls + 1)]
    beyond = 0.0
    for most in range(balls, 0, -1):
        beyond += exact[most]
        if beyond * everywhere > RISK:
            return most
    return 1
