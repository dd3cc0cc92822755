"""CW219, CW224, CW229, CW246, CW248: the bandwidth of every unit of a fabric, and the share lost in directors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.finding import Severity
from clusterwright.plan.bandwidth import narrowest_planned, promised_at_each_switch
from clusterwright.plan.chips import chip_ports
from clusterwright.plan.figures import promised_shares
from clusterwright.plan.ports import Allocation
from clusterwright.plan.skeleton import FabricSkeleton, joins
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.attachment import tier_order
from clusterwright.spec.fabric import Fabric, Uplinks

_ROUNDING = 1e-9


@rule("CW224", Severity.ERROR)
def unequal_units(subject: Subject) -> Iterator[Problem]:
    """InfiniBand units and Ethernet switches with less uplink bandwidth than promised for their adapters."""
    yield from _narrow_switches(subject)
    shares = promised_shares(subject.spec)
    for fabric in subject.skeleton.fabrics:
        if fabric.fabric.technology != "infiniband":
            continue
        taps = _taps(subject, fabric)
        most_to_one = 1 / shares[fabric.fabric.name] if fabric.fabric.name in shares else None
        levels = tier_order(subject.spec, fabric.fabric).levels
        for depth, tier in enumerate(fabric.fabric.tiers):
            units = _units(fabric, taps, depth) if levels[depth] else _leaves(fabric, taps, depth)
            if tier.up is None or not units:
                continue
            least, most = min(units, key=_ratio), max(units, key=_ratio)
            has = f"{most.name} has {most.uplinks:,} uplinks for {most.adapters:,} adapters"
            if most_to_one is not None and _ratio(most) > most_to_one + _ROUNDING:
                message = f"{has}, {_ratio(most):.4g} to 1, and the spec promises {most_to_one:.4g} to 1."
            elif most_to_one is None and _ratio(most) > 1 and _ratio(most) != _ratio(least):
                message = f"{has}, {least.name} {least.uplinks:,} for {least.adapters:,}."
            else:
                continue
            hint = f"Fill the units alike, or give each {tier.role} more uplinks"
            hint += ", or promise no more than the narrowest has." if most_to_one is not None else "."
            yield Problem((*tier.up.path, "links"), message, hint)


def _narrow_switches(subject: Subject) -> Iterator[Problem]:
    """Ethernet switches with less bandwidth for NICs than promised for the whole tier."""
    promised = promised_at_each_switch(subject.spec)
    for skeleton in subject.skeleton.fabrics:
        fabric = skeleton.fabric
        promised_tiers = [tier for tier in fabric.tiers if (fabric.name, tier.role) in promised]
        if fabric.technology == "infiniband" or not promised_tiers:
            continue
        narrowest = narrowest_planned(skeleton)
        for tier in promised_tiers:
            most_to_one = promised[fabric.name, tier.role]
            load = narrowest.get(tier.role)
            if tier.up is None or load is None or load.ratio <= most_to_one + _ROUNDING:
                continue
            yield Problem(
                (*tier.up.path, "links"),
                f"{load.switch} has {load.uplinks_gbps:,.0f} Gb/s of uplinks for {load.nics_gbps:,.0f} Gb/s of NICs,"
                f" {load.ratio:.4g} to 1, and the spec promises {most_to_one:.4g} to 1.",
                f"Fill the switches alike, or give each {tier.role} more uplinks, or expect"
                f" narrowest.{fabric.name}.{tier.role} with its reason.",
            )


@rule("CW229", Severity.ERROR)
def slower_uplinks(subject: Subject) -> Iterator[Problem]:
    """InfiniBand tiers with uplinks slower than an adapter of their fabric.

    CW219, CW224 and the proofs count links as equal, since the rendered text names no speed.
    """
    for fabric in subject.skeleton.fabrics:
        fastest = max((node.speed_gbps for node in fabric.nodes), default=0)
        if fabric.fabric.technology != "infiniband":
            continue
        for tier in fabric.fabric.tiers:
            if tier.up is None or tier.up.speed_gbps >= fastest:
                continue
            message = (
                f"Uplinks of {tier.role} run at {tier.up.speed_gbps}G, and adapters at {fastest}G. Rendered"
                " files state no link speeds, so `verify` would prove bandwidth from the number of links alone."
            )
            hint = f"Give {tier.role} uplinks of {fastest}G or more."
            yield Problem((*tier.up.path, "speed_gbps"), message, hint)


@rule("CW219", Severity.ERROR)
def uneven_promise(subject: Subject) -> Iterator[Problem]:
    """InfiniBand tiers with less bandwidth between units than promised for their adapters."""
    shares = promised_shares(subject.spec)
    for fabric in subject.skeleton.fabrics:
        share = shares.get(fabric.fabric.name)
        if fabric.fabric.technology != "infiniband" or share is None:
            continue
        reported: set[int] = set()
        for unit, links, wanted in _short_cuts(fabric, _taps(subject, fabric), share):
            depth = fabric.seats[unit.members[0]].tier
            tier = fabric.fabric.tiers[depth]
            if tier.up is not None and depth not in reported:
                reported.add(depth)
                yield Problem(
                    (*tier.up.path, "links"),
                    f"Between {unit.name} and the others only {links:,} uplinks of {tier.role} pair up, and {wanted:,}"
                    f" adapters need {share:.2%} of their bandwidth: the uplinks do not spread evenly.",
                    "Make each unit's uplinks a multiple of the switches above, or add a `tolerance` to the promise.",
                )


def _short_cuts(
    fabric: FabricSkeleton, taps: Sequence[tuple[int, int]], share: float
) -> Iterator[tuple[_Unit, int, int]]:
    """Insufficient cuts between units below the same switches: a unit, the usable links, and the adapters to serve.

    Units of several tiers may have the same switches above.
    """
    units: list[_Unit] = []
    for depth in range(len(fabric.fabric.tiers)):
        units += _units(fabric, taps, depth)
    unit_of: dict[int, int] = {}
    for number, unit in enumerate(units):
        unit_of.update(dict.fromkeys(unit.members, number))
    domains: dict[tuple[int, ...], list[_BundleLinks]] = {}
    for bundle in fabric.bundles:
        below = tuple(dict.fromkeys(unit_of[lower] for lower in bundle.lowers if lower in unit_of))
        pairs = ((unit_of[lower], upper) for lower, upper in joins(fabric, bundle) if lower in unit_of)
        domains.setdefault(below, []).append(_BundleLinks.of(Counter(pairs)))
    for numbers, bundles in domains.items():
        adapters = sum(units[number].adapters for number in numbers)
        uplinks = sum(units[number].uplinks for number in numbers)
        for near in _sides(numbers):
            wanted = sum(units[number].adapters for number in near)
            room = sum(units[number].uplinks for number in near)
            wanted, room = min(wanted, adapters - wanted), min(room, uplinks - room)
            met = sum(links.met(near) for links in bundles)
            if met + _ROUNDING < wanted * share <= room + _ROUNDING:  # with less room no spread could suffice (CW224)
                yield units[near[0]], met, wanted


def _sides(groups: Sequence[int]) -> Iterator[Sequence[int]]:
    """One side of each cut: every unit by itself, the first half, every other one."""
    if len(groups) > 1:
        yield from ([group] for group in groups)
        yield groups[: len(groups) // 2]
        yield groups[::2]


@dataclass(frozen=True, slots=True)
class _BundleLinks:
    """The links of a bundle to each switch above: by unit, and of all units together."""

    of_unit: Mapping[int, Mapping[int, int]]
    of_all: Mapping[int, int]

    @classmethod
    def of(cls, links: Mapping[tuple[int, int], int]) -> _BundleLinks:
        """The links of pairs of a unit and a switch above."""
        of_unit: dict[int, dict[int, int]] = {}
        of_all = Counter[int]()
        for (unit, upper), count in links.items():
            of_unit.setdefault(unit, {})[upper] = count
            of_all[upper] += count
        return cls(of_unit, of_all)

    def met(self, near: Sequence[int]) -> int:
        """The number of links of some units with a link of the others at the same switch above."""
        links_by_upper = Counter[int]()
        for unit in near:
            for upper, count in self.of_unit.get(unit, {}).items():
                links_by_upper[upper] += count
        return sum(min(count, self.of_all[upper] - count) for upper, count in links_by_upper.items())


@dataclass(frozen=True, slots=True)
class _Unit:
    """A switch with adapters, or the switches of a tier on its hosts' paths up: their uplinks and adapters."""

    name: str
    members: tuple[int, ...]
    uplinks: int
    adapters: int


def _ratio(unit: _Unit) -> float:
    return unit.adapters / unit.uplinks


def _taps(subject: Subject, fabric: FabricSkeleton) -> list[tuple[int, int]]:
    """Node and switch of each adapter, except for hosts on free ports, such as the fabric's managers."""
    filling = {attach.nodes for attach in fabric.fabric.attach if attach.to is not None}
    groups = [subject.spec.node_groups[node.node_group].name for node in subject.skeleton.layout.nodes]
    taps: list[tuple[int, int]] = []
    for node in fabric.nodes:
        if groups[node.node] not in filling:
            taps += [(node.node, seat) for seat in node.seats]
    return taps


def _leaves(fabric: FabricSkeleton, taps: Sequence[tuple[int, int]], depth: int) -> list[_Unit]:
    """The switches of a lowest tier with adapters, one by one."""
    up = fabric.fabric.tiers[depth].up
    if up is None:
        return []
    adapters = Counter(seat for _, seat in taps if fabric.seats[seat].tier == depth)
    leaves: list[_Unit] = []
    for leaf in sorted(adapters):
        name = fabric.seats[leaf].name
        leaves.append(_Unit(name=name, members=(leaf,), uplinks=up.links, adapters=adapters[leaf]))
    return leaves


class _Joined:
    """Switches in disjoint sets, each with one representative."""

    def __init__(self, switches: Sequence[int]) -> None:
        self._first = dict(zip(switches, switches, strict=True))

    def first_of(self, switch: int) -> int:
        """The representative of this switch's set."""
        first = self._first
        while first[switch] != switch:
            first[switch] = switch = first[first[switch]]
        return switch

    def join(self, switch: int, other: int) -> None:
        """Join two sets, with the representative of the second."""
        self._first[self.first_of(switch)] = self.first_of(other)


def _units(fabric: FabricSkeleton, taps: Sequence[tuple[int, int]], depth: int) -> list[_Unit]:
    """The units of a tier: its switches with adapters below, those joined by a host or a switch below together.

    Planes joined only above are units of their own, unless a host has adapters in two of them.
    """
    up = fabric.fabric.tiers[depth].up
    if up is None:
        return []
    switches = [number for number, seat in enumerate(fabric.seats) if seat.tier == depth]
    joined = _Joined(switches)
    above = dict(zip(switches, switches, strict=True))  # by seat of a lower tier: a switch that it hangs below
    for bundle in sorted(fabric.bundles, key=lambda bundle: -bundle.tier):
        if bundle.tier <= depth:
            for lower, upper in joins(fabric, bundle):
                if upper in above:
                    joined.join(above[upper], above.setdefault(lower, above[upper]))
    below = [(node, above[seat]) for node, seat in taps if seat in above]
    home: dict[int, int] = {}
    for node, number in below:
        joined.join(number, home.setdefault(node, number))
    adapters = Counter(joined.first_of(number) for _, number in below)
    members: dict[int, list[int]] = {}
    for number in switches:
        members.setdefault(joined.first_of(number), []).append(number)
    with_adapters = [unit for unit in members if adapters[unit]]
    return [_unit(fabric, members[unit], up, adapters[unit]) for unit in with_adapters]


def _unit(fabric: FabricSkeleton, members: Sequence[int], up: Uplinks, adapters: int) -> _Unit:
    name = fabric.seats[members[0]].name
    if len(members) > 1:
        name += " with its neighbours"
    return _Unit(name=name, members=tuple(members), uplinks=up.links * len(members), adapters=adapters)


@rule("CW246", Severity.WARNING)
def straddling_uplinks(subject: Subject) -> Iterator[Problem]:
    """Tiers below InfiniBand directors with uplinks to different numbers of leaf chips."""
    with_directors = {fabric.name for fabric in subject.spec.fabrics if _has_directors(fabric)}
    if not with_directors:
        return
    for fabric, allocations in subject.allocations:
        if fabric.fabric.name not in with_directors:
            continue
        spreads = _spreads(fabric, allocations)
        for depth, tier in enumerate(fabric.fabric.tiers):
            spread_by_seat = {seat: spread for seat, spread in spreads.items() if fabric.seats[seat].tier == depth}
            if tier.up is None or not spread_by_seat:
                continue
            usual = Counter(spread_by_seat.values()).most_common(1)[0][0]
            odd = [seat for seat, spread in spread_by_seat.items() if spread != usual]
            if odd:
                spread = spread_by_seat[odd[0]]
                yield Problem(
                    (*tier.up.path, "links"),
                    f"{fabric.seats[odd[0]].name} has uplinks to {len(spread)} chips above it ({_shown(spread)}), most"
                    f" {tier.role} switches to {len(usual)} ({_shown(usual)}).",
                    "Choose a number of uplinks of which a whole number of switches fills each chip.",
                )


def _has_directors(fabric: Fabric) -> bool:
    return fabric.technology == "infiniband" and any(tier.model.chips is not None for tier in fabric.tiers)


@rule("CW248", Severity.ERROR)
def director_below(subject: Subject) -> Iterator[Problem]:
    """Tiers of directors with switches above."""
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            if fabric.technology == "infiniband" and tier.up is not None and tier.model.chips is not None:
                message = f"{tier.role} is a {tier.model.name}, a director, and has switches above it."
                yield Problem((*tier.path, "model"), message, "Let the director be the highest tier.")


def _spreads(fabric: FabricSkeleton, allocations: Sequence[Allocation]) -> Mapping[int, tuple[int, ...]]:
    """For each switch below a director, the numbers of its uplinks on each chip, the largest first."""
    inside: dict[str, dict[str, int]] = {}
    for tier in fabric.fabric.tiers:
        if tier.model.chips is not None:
            places = chip_ports(tier.model, split=True) | chip_ports(tier.model, split=False)
            inside[tier.model.name] = {port: chip for port, (chip, _) in places.items()}
    given = Counter(fabric.attached)
    spreads: dict[int, Counter[tuple[int, int]]] = {}
    for bundle in fabric.bundles:
        chips = inside.get(fabric.fabric.tiers[bundle.tier].model.name)
        if chips is None:
            continue
        for lower, upper in joins(fabric, bundle):
            port = allocations[upper].down[given[upper]]
            given[upper] += 1
            spreads.setdefault(lower, Counter())[upper, chips[port]] += 1
    return {seat: tuple(sorted(chips.values(), reverse=True)) for seat, chips in spreads.items()}


def _shown(spread: Sequence[int]) -> str:
    return "+".join(map(str, spread))
