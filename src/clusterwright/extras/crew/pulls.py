"""Cables pulled together: the bundles between two racks, and the load of each tray."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from clusterwright.lists.as_csv import natural_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterwright.extras.crew.route import LaidRoute


class CableBundle(NamedTuple):
    """Equal cables between two racks. ``length_from`` is the source of the length: ``positions`` or the ``tier``."""

    from_rack: str
    to_rack: str
    pathway: str
    fabric: str
    colour: str
    medium: str
    speed_gbps: int
    length_m: float
    length_from: str
    cables: int


class TrayLoad(NamedTuple):
    """Cables of one fabric, medium and length in a tray; ``bundles`` counts their pairs of racks."""

    pathway: str
    fabric: str
    colour: str
    medium: str
    length_m: float
    bundles: int
    cables: int


def bundles(routes: Iterable[LaidRoute]) -> list[CableBundle]:
    """The bundles by pair of racks, in walking order. Both racks are the same for cables within a rack."""
    counted = Counter(
        (
            route.lower.rack, route.upper.rack, " > ".join(route.trays), route.fabric, route.colour, route.medium,
            route.speed_gbps, route.length_m, "positions" if route.is_measured else "tier",
        )
        for route in routes
    )  # fmt: skip
    natural_keys: dict[str, object] = {}
    for lower_rack, upper_rack, *_ in counted:
        natural_keys[lower_rack] = natural_key(lower_rack)
        natural_keys[upper_rack] = natural_key(upper_rack)
    in_order = sorted(counted, key=lambda bundle: (natural_keys[bundle[0]], natural_keys[bundle[1]]))
    return [CableBundle(*bundle, counted[bundle]) for bundle in in_order]


def tray_loads(pulled: Iterable[CableBundle]) -> Iterator[TrayLoad]:
    """Each tray with its cables, in the order of their names."""
    loads: dict[tuple[str, str, str, str, float], list[CableBundle]] = defaultdict(list)
    for bundle in pulled:
        if bundle.pathway:
            for tray in bundle.pathway.split(" > "):
                loads[tray, bundle.fabric, bundle.colour, bundle.medium, bundle.length_m].append(bundle)
    for key in sorted(loads):
        tray_bundles = loads[key]
        pairs = {(bundle.from_rack, bundle.to_rack) for bundle in tray_bundles}
        yield TrayLoad(*key, len(pairs), sum(bundle.cables for bundle in tray_bundles))
