"""CW232 to CW234: device names chosen by the site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from clusterwright.finding import MOST_TOLD, Position, Severity
from clusterwright.nearest_name import did_you_mean
from clusterwright.rules.rule import LintRule, Problem, Subject, rule
from clusterwright.spec.labels.device_names import NAME_RULE, fields_of, filled, is_host_name
from clusterwright.spec.text.document import Path

NOT_A_NAME = LintRule("CW233", Severity.ERROR)


@rule("CW232", Severity.ERROR)
def unfilled_pattern(subject: Subject) -> Iterator[Problem]:
    """Name patterns with fields unknown to the planned names, and patterns giving invalid host names."""
    naming = subject.skeleton.standing.naming
    if naming.is_planned_everywhere:
        return
    for index, group in enumerate(subject.spec.node_groups):
        nodes = (node for node in subject.skeleton.layout.nodes if node.node_group == index)
        node_numbers = (naming.node_numbers(node.planned_name) for node in nodes)
        yield from _pattern_problems(group.name_pattern, node_numbers, (*group.path, "name_pattern"))
    for fabric in subject.skeleton.fabrics:
        for depth, tier in enumerate(fabric.fabric.tiers):
            seats = (seat for seat in fabric.seats if seat.tier == depth)
            switch_numbers = (naming.switch_numbers(tier, seat.planned_name) for seat in seats)
            yield from _pattern_problems(tier.name_pattern, switch_numbers, (*tier.path, "name_pattern"))


def _pattern_problems(
    pattern: str | None, numbers_of_devices: Iterable[Mapping[str, int]], path: Path
) -> Iterator[Problem]:
    """The first device that cannot be named by ``pattern``."""
    if pattern is None:
        return
    for numbers in numbers_of_devices:
        unknown = [field for field in fields_of(pattern) if field not in numbers]
        if unknown:
            fields = ", ".join(f"{{{field}}}" for field in numbers)
            yield Problem(path, f"Names of these devices count no {unknown[0]}.", f"Use {fields}.")
            return
        name = filled(pattern, numbers)
        if not is_host_name(name):
            yield Problem(path, f'"{name}" is no host name.', f"Write a pattern whose names are {NAME_RULE}.")
            return


@rule("CW234", Severity.ERROR)
def name_of_no_device(subject: Subject) -> Iterator[Problem]:
    """Lines in the file of device names for unplanned devices."""
    names = subject.spec.device_names
    if names is None:
        return
    planned = {node.planned_name for node in subject.skeleton.layout.nodes}
    for fabric in subject.skeleton.fabrics:
        planned.update(seat.planned_name for seat in fabric.seats)
    unknown = (row for row in names.names.values() if row.planned not in planned)
    for row in islice(unknown, MOST_TOLD):
        advice = "Write a planned name, as `clusterwright inventory` lists them."
        hint = did_you_mean(row.planned, sorted(planned), advice)
        message = f'No device is planned as "{row.planned}".'
        yield Problem(("device_names",), message, hint, position=Position(names.file, row.line, 1))
