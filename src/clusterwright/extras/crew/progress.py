"""How far a crew is: of each rack and each pull, how many cables are seen, missing, wrong, or not to be judged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from clusterwright.extras.crew.pulls import bundles
from clusterwright.extras.crew.route import in_floor_order, laid_routes
from clusterwright.lists.as_csv import natural_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.extras.crew.pulls import CableBundle
    from clusterwright.extras.crew.route import LaidRoute
    from clusterwright.lists.records import Inventory


class CableProgress(NamedTuple):
    """``of`` a ``rack``, all cables that end in it, or of a ``pull``, as ``pulls.csv`` has it.

    ``unknown`` are cables of which nobody was asked, or two readings fit.
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


def crew_progress(inventory: Inventory, states: Mapping[tuple[str, str], str]) -> Iterator[CableProgress]:
    """Racks, then pulls, in walking order. ``states`` are words of CableProgress by a cable's lower device and port;
    a cable without one is no work of these technicians."""
    planned = [route for route in laid_routes(inventory) if (route.lower.device, route.lower.port) in states]
    routes = in_floor_order(planned)
    racks: dict[str, Counter[str]] = {}
    for route in routes:
        for rack in dict.fromkeys((route.lower.rack, route.upper.rack)):
            racks.setdefault(rack, Counter())[_state(route, states)] += 1
    for rack in sorted(racks, key=natural_key):
        yield CableProgress("rack", rack, *(None,) * 7, *_counts(racks[rack]))
    by_state = {
        word: {bundle._replace(cables=0): bundle.cables for bundle in bundles(_in_state(routes, states, word))}
        for word in CableProgress._fields[-4:]
    }
    for pull in bundles(routes):
        counted = Counter(
            {word: count_by_state.get(pull._replace(cables=0), 0) for word, count_by_state in by_state.items()}
        )
        yield CableProgress("pull", *_columns(pull), *_counts(counted))


def _state(route: LaidRoute, states: Mapping[tuple[str, str], str]) -> str:
    return states[route.lower.device, route.lower.port]


def _in_state(routes: Iterable[LaidRoute], states: Mapping[tuple[str, str], str], word: str) -> Iterator[LaidRoute]:
    return (route for route in routes if _state(route, states) == word)


def _columns(pull: CableBundle) -> tuple[str, str, str, str, str, str, int, float]:
    return (
        pull.from_rack, pull.to_rack, pull.pathway, pull.fabric, pull.colour, pull.medium, pull.speed_gbps,
        pull.length_m,
    )  # fmt: skip


def _counts(count_by_state: Counter[str]) -> tuple[int, ...]:
    words = CableProgress._fields[-4:]
    return (sum(count_by_state.values()), *(count_by_state[word] for word in words))
