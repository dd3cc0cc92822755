"""Cabling progress: counts of seen, missing, wrong and unknown cables by rack and by pull."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from clusterwright.extras.crew.pulls import bundles
from clusterwright.extras.crew.route import in_floor_order, laid_routes
from clusterwright.lists.as_csv import natural_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterwright.extras.crew.pulls import CableBundle
    from clusterwright.extras.crew.route import LaidRoute
    from clusterwright.lists.records import Inventory


class CableProgress(NamedTuple):
    """Counts of all cables with an end in a rack, or of a row of ``pulls.csv``: ``of`` is "rack" or "pull".

    ``unknown`` are cables without an observation, or with an ambiguous one.
    """

    of: str
    from_rack: str
    to_rack: str | None
    pathway: str | None
    fabric: str | None
    colour: str | None
    medium: str | None
    speed_gbps: int | None
    length_m: float | None
    cables: int
    seen: int
    missing: int
    wrong: int
    unknown: int


_STATES = ("seen", "missing", "wrong", "unknown")


def crew_progress(inventory: Inventory, states: Mapping[tuple[str, str], str]) -> Iterator[CableProgress]:
    """Racks, then pulls, in walking order.

    ``states`` are ``seen``, ``missing``, ``wrong`` or ``unknown`` by a cable's lower device and port; cables without a
    state are not counted.
    """
    planned = [route for route in laid_routes(inventory) if (route.lower.device, route.lower.port) in states]
    routes = in_floor_order(planned)
    racks: dict[str, Counter[str]] = {}
    for route in routes:
        for rack in dict.fromkeys((route.lower.rack, route.upper.rack)):
            racks.setdefault(rack, Counter())[_state(route, states)] += 1
    for rack in sorted(racks, key=natural_key):
        yield CableProgress("rack", rack, *(None,) * 7, *_counts(racks[rack]))
    counts_by_pull: defaultdict[CableBundle, Counter[str]] = defaultdict(Counter)
    for state in _STATES:
        routes_in_state = [route for route in routes if _state(route, states) == state]
        for bundle in bundles(routes_in_state):
            counts_by_pull[bundle._replace(cables=0)][state] = bundle.cables
    for pull in bundles(routes):
        yield CableProgress("pull", *_columns(pull), *_counts(counts_by_pull[pull._replace(cables=0)]))


def _state(route: LaidRoute, states: Mapping[tuple[str, str], str]) -> str:
    return states[route.lower.device, route.lower.port]


def _columns(pull: CableBundle) -> tuple[str, str, str, str, str, str, int, float]:
    return (
        pull.from_rack, pull.to_rack, pull.pathway, pull.fabric, pull.colour, pull.medium, pull.speed_gbps,
        pull.length_m,
    )  # fmt: skip


def _counts(count_by_state: Counter[str]) -> tuple[int, ...]:
    return (sum(count_by_state.values()), *(count_by_state[state] for state in _STATES))
