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


@rule("CW704", Severity.ERROR)
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


@rule("CW705", Severity.WARNING)
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


@rule("CW706", Severity.ERROR)
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
