"""Distribution of uplinks over upper switches: allocated ones stay, the others as evenly as possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, groupby, repeat
from operator import itemgetter

from clusterwright.plan.seats import Bundle, Seat, SeatLink
from clusterwright.spec.allocated.facts import Cables, StandingCable
from clusterwright.spec.fabric import Fabric

ADJACENT = "adjacent"
_link = partial(tuple.__new__, SeatLink)  # its own constructor takes twice as long, of tens of thousands


def spread_over(uppers: int, start: int, links: int, spread: str) -> Sequence[int]:
    """The upper switch, as an index below ``uppers``, of each of ``links`` links, in turn from ``start`` on.

    Adjacent links are the same ones, those to one switch side by side.
    """
    turns = [(start + link) % uppers for link in range(links)]
    if spread != ADJACENT:
        return turns
    order = {upper: place for place, upper in reversed(list(enumerate(turns)))}
    return sorted(turns, key=lambda upper: order[upper])


def standing_links(
    fabric: Fabric, seats: Sequence[Seat], bundles: Iterable[Bundle], cables: Cables
) -> Mapping[int, tuple[SeatLink, ...]]:
    """The uplinks of every lower switch in partly allocated bundles, by its seat."""
    if not cables:
        return {}
    names = {seat.name: number for number, seat in enumerate(seats)}
    cables_by_seat: dict[int, list[StandingCable]] = {}
    for device, together in groupby(cables.values(), key=itemgetter(0)):
        lower = names.get(device)
        if lower is not None:
            cables_by_seat.setdefault(lower, []).extend(together)
    links: dict[int, tuple[SeatLink, ...]] = {}
    for bundle in bundles:
        if any(lower in cables_by_seat for lower in bundle.lowers):
            links |= _bundle(fabric, seats, bundle, names, cables_by_seat)
    return links


def _bundle(
    fabric: Fabric,
    seats: Sequence[Seat],
    bundle: Bundle,
    names: Mapping[str, int],
    cables_by_seat: Mapping[int, Sequence[StandingCable]],
) -> dict[int, tuple[SeatLink, ...]]:
    uppers = frozenset(bundle.uppers)
    kept: dict[int, list[SeatLink]] = {}
    loose: dict[int, list[StandingCable]] = {}  # of which only the lower end stands
    for lower in bundle.lowers:
        mine = cables_by_seat.get(lower, ())[: _links(fabric, seats, lower)]
        ends = [names.get(cable.upper, -1) for cable in mine]
        if uppers.issuperset(ends):
            kept[lower], loose[lower] = list(map(_link, zip(ends, mine, repeat(False), strict=False))), []
            continue
        kept[lower] = [SeatLink(upper, cable) for upper, cable in zip(ends, mine, strict=True) if upper in uppers]
        loose[lower] = [cable for upper, cable in zip(ends, mine, strict=True) if upper not in uppers]
    has_new_upper = any(seats[upper].standing is None for upper in uppers)
    keeps_all_links = all(len(links) == _links(fabric, seats, lower) for lower, links in kept.items())
    if keeps_all_links and not has_new_upper:  # most bundles
        return {lower: tuple(links) for lower, links in kept.items()}
    total = Counter(link.upper for link in chain.from_iterable(kept.values()))
    _give_to_new(fabric, seats, bundle, kept=kept, loose=loose, total=total)
    links_by_seat = {}
    for lower in bundle.lowers:
        count = Counter(link.upper for link in kept[lower])
        fresh = []
        for _ in range(_links(fabric, seats, lower) - len(kept[lower])):
            upper = min(bundle.uppers, key=lambda candidate: (count[candidate], total[candidate]))
            count[upper] += 1
            total[upper] += 1
            fresh.append(upper)
        up = fabric.tiers[seats[lower].tier].up
        if up is not None and up.spread == ADJACENT:
            fresh.sort()
        replugged: list[SeatLink] = []
        for upper, cable in zip(fresh, loose[lower], strict=False):
            replugged.append(SeatLink(upper, cable, is_replugged=True))
        links_by_seat[lower] = (*kept[lower], *replugged, *map(SeatLink, fresh[len(replugged) :]))
    return links_by_seat


def _give_to_new(
    fabric: Fabric,
    seats: Sequence[Seat],
    bundle: Bundle,
    *,
    kept: dict[int, list[SeatLink]],
    loose: dict[int, list[StandingCable]],
    total: Counter[int],
) -> None:
    """Take the share of new upper switches from every lower switch, from its largest upper first."""
    new = frozenset(upper for upper in bundle.uppers if seats[upper].standing is None)
    if not new or len(new) == len(bundle.uppers):
        return
    start = 0
    for lower in bundle.lowers:
        links = _links(fabric, seats, lower)
        share = sum(bundle.uppers[turn] in new for turn in spread_over(len(bundle.uppers), start, links, ""))
        start += links
        while links - len(kept[lower]) < share:
            mine = Counter(link.upper for link in kept[lower])
            most = max(mine, key=lambda upper: (mine[upper], total[upper], upper))
            last = max(index for index, link in enumerate(kept[lower]) if link.upper == most)
            released = kept[lower].pop(last).standing
            if released is not None:
                loose[lower].append(released)
            total[most] -= 1


def _links(fabric: Fabric, seats: Sequence[Seat], lower: int) -> int:
    up = fabric.tiers[seats[lower].tier].up
    return up.links if up is not None else 0
