"""CW7xx: power, space and cabling: racks on the floor plan, and cables as long as required by it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import ceil

from clusterwright.and_more import and_more
from clusterwright.finding import Severity
from clusterwright.plan.model import Cable
from clusterwright.plan.racks.lengths import at_most_m, rack_places, reach_m
from clusterwright.plan.seats import nic_speeds
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.topology.standing_levels import served_groups
from clusterwright.spec.attachment import attached_tier
from clusterwright.spec.fabric import Fabric, Side, Tier
from clusterwright.spec.model import RACK, ClusterSpec, NodeGroup
from clusterwright.spec.text.document import Path


@rule("CW704", Severity.ERROR)
def impossible_place(subject: Subject) -> Iterator[Problem]:
    """Unknown or repeated racks in the rows of the floor plan."""
    floor = subject.spec.site.floor
    if floor is None:
        return
    racks = {device.rack for device in subject.plan.devices}
    rows: set[str] = set()
    first: dict[str, str] = {}
    for row in floor.rows:
        if row.name in rows:
            yield Problem((*row.path, "name"), f"A row before it is called {row.name} too.", "Give each its own name.")
        rows.add(row.name)
        try:
            words = list(row.places())
        except ValueError as error:
            yield Problem((*row.path, "racks"), f"{error}.", "Write ranges from the lower number to the higher.")
            continue
        for name, index in words:
            if name not in racks:
                hint = "Write the name that the inventory has, or remove it."
                yield Problem((*row.path, "racks", index), f'The plan has no rack "{name}".', hint)
            elif name in first:
                hint = "Keep one of the entries."
                message = f"{name} is in row {first[name]} already."
                yield Problem((*row.path, "racks", index), message, hint)
            first.setdefault(name, row.name)


@rule("CW705", Severity.WARNING)
def rack_without_place(subject: Subject) -> Iterator[Problem]:
    """Planned racks missing in the floor plan."""
    floor = subject.spec.site.floor
    if floor is None:
        return
    places = rack_places(floor)
    unplaced = sorted({device.rack for device in subject.plan.devices if device.rack} - places.keys())
    if unplaced:
        verb = "has" if len(unplaced) == 1 else "have"
        message = f"{and_more(unplaced, 5)} {verb} no place on the floor."
        yield Problem((*floor.path, "rows"), message, "Add them to their rows.")


@rule("CW706", Severity.ERROR)
def copper_too_long_on_the_floor(subject: Subject) -> Iterator[Problem]:
    """Direct-attach cables longer, as measured on the floor plan, than copper reaches at their speed."""
    if not any(_may_be_too_long(subject, fabric) for fabric in subject.skeleton.fabrics):
        return
    longest: dict[Path, Cable] = {}
    for cable in subject.plan.cables:
        if cable.medium != "dac" or cable.length_m <= reach_m(cable.speed_gbps):
            continue
        side = _side_of(subject, cable)
        if side.length_m > reach_m(cable.speed_gbps):
            continue  # CW702 reports it for the tier
        if side.path not in longest or cable.length_m > longest[side.path].length_m:
            longest[side.path] = cable
    for path, cable in longest.items():
        yield Problem(
            path,
            f"The route from {cable.a.device} to {cable.b.device} needs {cable.length_m:g} m of direct-attach copper,"
            f" which reaches {reach_m(cable.speed_gbps):g} m at {cable.speed_gbps}G.",
            "Use aoc, mmf or smf for the tier, or move the racks closer together.",
        )


def _side_of(subject: Subject, cable: Cable) -> Side:
    """The side of a tier with the medium and length of a cable."""
    fabric = next(fabric for fabric in subject.spec.fabrics if fabric.name == cable.fabric)
    if cable.a.side == "up":
        up = fabric.tiers[subject.plan.by_name[cable.a.device].tier].up
        if up is not None:
            return up.side
    return fabric.tiers[cable.tier].down


def _may_be_too_long(subject: Subject, skeleton: FabricSkeleton) -> bool:
    """True if copper at its greatest length may exceed its reach at the fastest of the fabric's links."""
    copper = list(_copper_sides(skeleton))
    if copper:
        subject.require_plan()
    return any(at_most_m(subject.spec, side.length_m) > reach_m(speed_gbps) for side, speed_gbps in copper)


def _copper_sides(skeleton: FabricSkeleton) -> Iterator[tuple[Side, int]]:
    """The sides of tiers with copper, each with a speed of its links in Gb/s."""
    tiers = skeleton.fabric.tiers
    if any(tier.down.medium == "dac" for tier in tiers):
        attached_speeds = {(skeleton.seats[seat].tier, speed_gbps) for seat, speed_gbps in skeleton.attached_at}
        for index, speed_gbps in attached_speeds:
            if tiers[index].down.medium == "dac":
                yield tiers[index].down, speed_gbps
    for tier in tiers:
        if tier.up is not None and tier.up.side.medium == "dac":
            yield tier.up.side, tier.up.speed_gbps


@rule("CW701", Severity.ERROR)
def overfull_rack(subject: Subject) -> Iterator[Problem]:
    """Racks with more units of nodes and rack switches than their height."""
    spec = subject.spec
    switch_units = _switch_units(subject)
    for group in spec.node_groups:
        level = next((level for level in group.levels if level.name == RACK), None)
        if level is None or group.inside is not None:
            continue
        nodes = min(group.nodes_per(RACK), group.count)
        units_inside = _units_inside(spec, group)
        taken = switch_units[group.name] + sum(units_inside.values())
        units = nodes * ceil(group.model.units) + taken
        if units > spec.site.rack_units:
            room = max(0, spec.site.rack_units - taken) // max(1, ceil(group.model.units))
            others = "".join(f", {height} units of {name}" for name, height in units_inside.items())
            yield Problem(
                (*level.path, "of"),
                f"{nodes} {group.model.name} of {group.model.units:g} units{others} and {switch_units[group.name]} "
                f"units of rack switches take {units} units; the racks have {spec.site.rack_units}.",
                f"Put no more than {room} into a rack, or choose higher racks.",
            )


def _switch_units(subject: Subject) -> Mapping[str, int]:
    """By node group, the height of the switches in each of its racks."""
    units_by_group: dict[str, int] = defaultdict(int)
    for skeleton in subject.skeleton.fabrics:
        units = 0
        for tier, planes in zip(skeleton.fabric.tiers, skeleton.planes, strict=True):
            if tier.per == RACK and tier.stands in (None, RACK):
                units += ceil(tier.model.units) * tier.count * planes
        for group in served_groups(subject.spec, skeleton.fabric):
            units_by_group[group.name] += units
    return units_by_group


def _units_inside(spec: ClusterSpec, group: NodeGroup) -> dict[str, int]:
    """The height of the devices inside each rack of a group, by node group."""
    units: dict[str, int] = {}
    for other in spec.node_groups:
        inside = other.inside
        if inside is not None and inside.nodes == group.name and inside.level == RACK:
            units[other.name] = inside.count * ceil(other.model.units)
    return units


@rule("CW702", Severity.ERROR)
def copper_too_long(subject: Subject) -> Iterator[Problem]:
    """Direct-attach cables longer than copper reaches at their speed."""
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            if tier.up:
                yield from _too_long(tier.up.side, tier.up.speed_gbps, f"uplinks of {tier.role}")
        fastest = _fastest_nics(subject.spec, fabric)
        for tier in fabric.tiers:
            if tier.role in fastest:
                yield from _too_long(tier.down, fastest[tier.role], f"NICs below {tier.role}")


def _fastest_nics(spec: ClusterSpec, fabric: Fabric) -> Mapping[str, int]:
    """By role of a tier, the highest speed of the NICs cabled to it in Gb/s."""
    fastest: dict[str, int] = {}
    for attach in fabric.attach:
        for group in spec.node_groups:
            if not attach.is_management and attach.nodes != group.name:
                continue
            speeds = nic_speeds(group, attach)
            tier = attached_tier(fabric, attach, group) if speeds else None
            if tier is not None:
                fastest[tier.role] = max(fastest.get(tier.role, 0), *speeds)
    return fastest


def _too_long(side: Side, speed_gbps: int, links: str) -> Iterator[Problem]:
    reach = reach_m(speed_gbps)
    if side.medium == "dac" and side.length_m > reach:
        yield Problem(
            (*side.path, "length_m"),
            f"Direct-attach copper of {side.length_m:g} m for the {links}: at {speed_gbps}G it reaches {reach:g} m.",
            "Use aoc, mmf or smf, or shorter cables.",
        )


@rule("CW703", Severity.WARNING)
def cable_described_twice(subject: Subject) -> Iterator[Problem]:
    """Media and lengths stated differently by a tier's `up` and the `down` of the tier above."""
    spec = subject.spec
    for skeleton in subject.skeleton.fabrics:
        fabric = skeleton.fabric
        host_tiers: list[Tier | None] = []
        for attach in fabric.attach:
            group = spec.node_group(attach.nodes or "")
            if group is not None:
                host_tiers.append(attached_tier(fabric, attach, group))
        for lower, upper in skeleton.joined_tiers():
            if lower.up is None or upper in host_tiers or fabric.attach[0].is_management:
                continue
            for key, unit in (("medium", ""), ("length_m", " m")):
                yield from _described_twice(spec, lower, upper, key=key, unit=unit)


def _described_twice(spec: ClusterSpec, lower: Tier, upper: Tier, *, key: str, unit: str) -> Iterator[Problem]:
    if lower.up is None:
        return
    up, down = lower.up.side, upper.down
    up_value, down_value = getattr(up, key), getattr(down, key)
    stated = spec.document.values
    if up_value == down_value or (*up.path, key) not in stated or (*down.path, key) not in stated:
        return
    yield Problem(
        (*down.path, key),
        f"{upper.role} states {_plain(down_value)}{unit} for its cables from below, "
        f"{lower.role} states {_plain(up_value)}{unit} for the same cables.",
        f"The cable list follows {lower.role}: write {_plain(up_value)} here, or leave it out.",
    )


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"
