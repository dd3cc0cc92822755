"""CW704 to CW706: racks on the floor, and cables that are as long as that needs."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.and_more import and_more
from clusterwright.finding import Severity
from clusterwright.plan.racks.lengths import rack_places
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.topology.space import reach_m
from clusterwright.spec.fabric import Tier
from clusterwright.spec.text.document import Path


@rule(
    code="CW704",
    severity=Severity.ERROR,
    title="rack that cannot stand there",
    why="Lengths would be counted from a place where nothing stands, or from one of two.",
    mend="Name each rack of the plan once, in the row in which it stands.",
    docs="`site.floor.rows` lists racks by the names that the plan gives them (`clusterwright inventory` lists them),"
    " one by one or as ranges (`p00r00..03`). A name that no rack has, one that stands twice, a row's name that stands"
    " twice and a range that counts backwards are refused.",
)
def impossible_place(subject: Subject) -> Iterator[Problem]:
    """Words of the floor's rows that are no racks of the plan, or stand twice."""
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
        for name, at in words:
            if name not in racks:
                hint = "Write the name that the inventory has, or take it out."
                yield Problem((*row.path, "racks", at), f'The plan has no rack "{name}".', hint)
            elif name in first:
                hint = "Keep it where it stands."
                message = f"{name} stands in row {first[name]} already."
                yield Problem((*row.path, "racks", at), message, hint)
            first.setdefault(name, row.name)


@rule(
    code="CW705",
    severity=Severity.WARNING,
    title="rack without a place on the floor",
    why="Its cables to other racks are planned as long as the tier says, beside others that are measured.",
    mend="Add it to the row in which it stands.",
    docs="Where `site.floor` says where racks stand, the length of a cable between two of them is counted from that. A"
    " rack in no row has no place; its cables keep the `length_m` of their tier.",
)
def rack_without_place(subject: Subject) -> Iterator[Problem]:
    """Racks of the plan that the floor does not name."""
    floor = subject.spec.site.floor
    if floor is None:
        return
    known = rack_places(floor)
    left = sorted({each.rack for each in subject.plan.devices if each.rack} - known.keys())
    if left:
        who = "has no place" if len(left) == 1 else "have no place"
        yield Problem((*floor.path, "rows"), f"{and_more(left, 5)} {who} on the floor.", "Add them to their rows.")


@rule(
    code="CW706",
    severity=Severity.ERROR,
    title="copper too long for where the racks stand",
    why="Passive copper does not carry the signal that far; the link stays down.",
    mend="Use aoc, mmf or smf, or stand the racks closer together.",
    docs="A cable is as long as the way between its ends: within a rack by their units, between racks by `site.floor`."
    " The reach of passive copper is that of [CW702](CW702.md), which judges the lengths that tiers state.",
)
def copper_too_long_on_the_floor(subject: Subject) -> Iterator[Problem]:
    """Direct-attach cables whose measured way is longer than copper reaches at their speed."""
    spec = subject.spec
    worst: dict[Path, tuple[float, str]] = {}
    for cable in subject.plan.cables if any(_copper(tier) for each in spec.fabrics for tier in each.tiers) else ():
        if cable.medium != "dac" or cable.length_m <= reach_m(cable.speed_gbps):
            continue
        fabric = next(each for each in spec.fabrics if each.name == cable.fabric)
        lower = subject.plan.by_name[cable.a.device]
        up = fabric.tiers[lower.tier].up if cable.a.side == "up" else None
        side = fabric.tiers[cable.tier].down if up is None else up.side
        if side.length_m > reach_m(cable.speed_gbps):
            continue  # CW702 says it of the tier
        said = (
            f"The way from {cable.a.device} to {cable.b.device} needs {cable.length_m:g} m of direct-attach copper,"
            f" which reaches {reach_m(cable.speed_gbps):g} m at {cable.speed_gbps}G."
        )
        if cable.length_m > worst.get(side.path, (0.0, ""))[0]:
            worst[side.path] = (cable.length_m, said)
    for path, (_, message) in worst.items():
        yield Problem(path, message, "Use aoc, mmf or smf for the tier, or stand the racks closer together.")


def _copper(tier: Tier) -> bool:
    return tier.down.medium == "dac" or (tier.up is not None and tier.up.side.medium == "dac")
