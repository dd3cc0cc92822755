"""CW260 to CW267: the allocation file of existing devices, compared with the spec and its plan."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import MOST_TOLD, Position, Severity, SpecError
from clusterwright.plan.allocation.disagreement import moves_unaided
from clusterwright.rules.rule import LintRule, Problem, Subject, rule
from clusterwright.spec.model import NodeGroup

NO_FACT = LintRule("CW260", Severity.ERROR)

GIVEN_TWICE = LintRule("CW261", Severity.ERROR)


@rule("CW262", Severity.ERROR)
def cannot_stand(subject: Subject) -> Iterator[Problem]:
    """Facts of the file contradicted by the plan."""
    hint = "Change the spec so that it can stay, or delete the line and run `clusterwright allocate`."
    yield from _disagreements(subject, hint, of_places=False)


@rule("CW263", Severity.WARNING)
def has_gone(subject: Subject) -> Iterator[Problem]:
    """Devices of the file missing in the plan."""
    comparison = subject.comparison
    if comparison is None or not subject.spec.allocated.is_own or not comparison.gone:
        return
    line, name = comparison.gone[0]
    others = len(comparison.gone) - 1
    message = f"The spec no longer has {name}"
    if others:
        message += f", nor {others:,} others that are in the file"
    hint = "Run `clusterwright allocate`; or list renamed items under `renamed:`."
    yield Problem((), f"{message}.", hint, position=Position(subject.spec.allocated.file, line, 3))


@rule("CW264", Severity.WARNING)
def lacks(subject: Subject) -> Iterator[Problem]:
    """Devices and cables of the plan missing in the file."""
    comparison = subject.comparison
    if comparison is None or not subject.spec.allocated.is_own or not any(comparison.unrecorded):
        return
    devices, cables = comparison.unrecorded
    taken = len(comparison.moved_to_new)
    moved = f" {taken:,} cables move to switches that are new." if taken else ""
    message = f"{subject.spec.allocated.file} lacks {devices:,} devices and {cables:,} cables of the spec.{moved}"
    yield Problem((), f"{message} {_without(subject)}".rstrip(), "Run `clusterwright allocate`.")


def _without(subject: Subject) -> str:
    """A sentence on the existing parts moved by a plan without the file."""
    try:
        cables, addresses, numbers = moves_unaided(subject.plan)
    except SpecError as error:  # a plan grown step by step may fit where a plan from nothing lacks ports
        return f"Without the file there is no plan: {error.findings[0].message}"
    if not (cables or addresses or numbers):
        return ""
    return f"Without the file {cables:,} cables, {addresses:,} addresses and {numbers:,} numbers in use move."


@rule("CW265", Severity.WARNING)
def no_room(subject: Subject) -> Iterator[Problem]:
    """Devices planned in another rack, unit or port than in the file."""
    hint = "Give it a model that fits, or run `clusterwright allocate`."
    yield from _disagreements(subject, hint, of_places=True)


def _disagreements(subject: Subject, hint: str, *, of_places: bool) -> Iterator[Problem]:
    """Differences between plan and file, at the file's lines: the places of machines, or all others."""
    if subject.comparison is None:
        return
    rows = [row for row in subject.comparison.disagreements if row.is_place is of_places]
    for row in rows[:MOST_TOLD]:
        yield Problem((), row.message, hint, position=Position(subject.spec.allocated.file, row.line, 3))


@rule("CW266", Severity.ERROR)
def renamed_to_nothing(subject: Subject) -> Iterator[Problem]:
    """Entries of ``renamed`` with an unknown new name, or with an old name still in use."""
    spec = subject.spec
    for item in spec.renamed:
        fabric, place = spec.fabric(item.fabric or ""), ""
        if item.nodes is not None:
            key, kind, new_name, names = "nodes", "node group", item.nodes, {group.name for group in spec.node_groups}
        elif item.tier is not None:
            tiers = fabric.tiers if fabric is not None else ()
            key, kind, new_name, names = "tier", "tier", item.tier, {tier.role for tier in tiers}
            place = f" of {item.fabric}"
        else:
            key, kind, new_name = "fabric", "fabric", item.fabric or ""
            names = {fabric.name for fabric in spec.fabrics}
        if new_name not in names:
            message = f'The spec has no {kind} "{new_name}"{place}.'
            yield Problem((*item.path, key), message, "Write the name it has now.")
        elif item.was in names:
            message = f'The spec still has a {kind} "{item.was}": it was not renamed to "{new_name}".'
            yield Problem((*item.path, "was"), message, "Write the name that it had before.")


@rule("CW267", Severity.ERROR)
def left_out_in_vain(subject: Subject) -> Iterator[Problem]:
    """Unknown names under ``left_out``."""
    for group in subject.spec.node_groups:
        if not group.left_out:
            continue
        subject.require_plan()
        names = _place_names(subject, group)
        for index, name in enumerate(group.left_out):
            if name not in names:
                message = f'"{name}" is not a group or node of {group.name}.'
                hint = "Write a name that the inventory has, such as those of the racks before and after."
                yield Problem((*group.path, "left_out", index), message, hint)


def _place_names(subject: Subject, group: NodeGroup) -> set[str]:
    """The names of a group's places: those left out, and those in the allocation file."""
    allocated = subject.spec.allocated
    names = set(subject.skeleton.layout.left_out)
    for (group_name, _, _), entry in allocated.groups.items():
        if group_name == group.name:
            names.update(entry.names)
    names.update(node.name for node in allocated.nodes.values() if node.group == group.name)
    return names
