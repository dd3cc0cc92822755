"""CW158 and CW159: names that must be told apart."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.document import Path
from clusterwright.spec.model import CLUSTER, ClusterSpec


@rule(
    code="CW158",
    severity=Severity.ERROR,
    title="name used twice",
    why="Two things of one name cannot be told apart by what refers to them, nor by an operator.",
    mend="Give each its own name.",
)
def duplicate_name(subject: Subject) -> Iterator[Problem]:
    """Items of one list, or switch roles, that share a name."""
    spec = subject.spec
    for kind, named in _lists(spec):
        seen: set[str] = set()
        for name, path in named:
            if name in seen:
                yield Problem(path, f'Two {kind} are called "{name}".', "Choose another name for one of them.")
            seen.add(name)
    for group in spec.node_groups:
        for level in group.levels:
            if level.name == CLUSTER:
                yield Problem((*level.path, "name"), '"cluster" is the whole cluster already.', "Choose another name.")


def _lists(spec: ClusterSpec) -> Iterator[tuple[str, list[tuple[str, Path]]]]:
    """What must be told apart by name: its kind, and each name with its place."""
    for kind, items in (
        ("node groups", spec.node_groups),
        ("fabrics", spec.fabrics),
        ("zones", spec.zones),
        ("images", spec.images),
        ("flows", spec.flows),
        ("mounts", spec.mounts),
    ):
        yield kind, [(item.name, (*item.path, "name")) for item in items]
    for fabric in spec.fabrics:
        yield f"classes of {fabric.name}", [(item.name, (*item.path, "name")) for item in fabric.classes]
        yield f"partitions of {fabric.name}", [(item.name, (*item.path, "name")) for item in fabric.partitions]
    for group in spec.node_groups:
        yield f"levels of {group.name}", [(level.name, (*level.path, "name")) for level in group.levels]
    yield "switch roles", [(tier.role, (*tier.path, "role")) for fabric in spec.fabrics for tier in fabric.tiers]
    yield "prefixes of node names", [(group.prefix, (*group.path, "prefix")) for group in spec.node_groups]


@rule(
    code="CW159",
    severity=Severity.WARNING,
    title="two levels with one letter",
    why="Racks and rows that are both called r00, r01, ... share one count, and a name no longer says where to walk.",
    mend="Give one of the levels another `code`.",
    docs="A group is named by the letter of its level and its number in a larger group: p03r017 is rack 17 of pod 3."
    " The letter is the first one of the level's name unless `code` says otherwise, so `rack` and `row` collide.",
)
def shared_letter(subject: Subject) -> Iterator[Problem]:
    """Levels of a node group whose instances are counted in the same place under the same letter."""
    for group in subject.spec.node_groups:
        seen: dict[str, str] = {}
        for level in group.levels:
            if level.code in seen:
                message = f'Levels {seen[level.code]} and {level.name} of {group.name} are both called "{level.code}".'
                yield Problem((*level.path, "code"), message, f'Give {level.name} a `code` of its own, such as "w".')
            seen.setdefault(level.code, level.name)
