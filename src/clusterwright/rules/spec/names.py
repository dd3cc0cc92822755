"""CW158, CW159 and CW165: names that must be told apart."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.model import CLUSTER, ClusterSpec
from clusterwright.spec.text.document import Path

LONGEST_LABEL = 63  # RFC 1035, 2.3.4


@rule(
    code="CW158",
    severity=Severity.ERROR,
    title="name used twice",
    why="Two things of one name cannot be told apart by what refers to them, nor by an operator.",
    mend="Give each its own name.",
    relied_on=True,
)
def duplicate_name(subject: Subject) -> Iterator[Problem]:
    """Items of one list, or switch roles, that share a name."""
    spec = subject.spec
    for group in spec.node_groups:
        for level in group.levels:
            if level.name == CLUSTER:
                yield Problem((*level.path, "name"), '"cluster" is the whole cluster already.', "Choose another name.")
    for kind, named in _lists(spec):
        seen: set[str] = set()
        for name, path in named:
            if name in seen:
                yield Problem(path, f'Two {kind} are called "{name}".', "Choose another name for one of them.")
            seen.add(name)


def _lists(spec: ClusterSpec) -> Iterator[tuple[str, list[tuple[str, Path]]]]:
    """What must be told apart by name: its kind, and each name with its place.

    What the skeleton is built of comes first: doubts about another list must not leave that unjudged.
    """
    for kind, items in (("node groups", spec.node_groups), ("fabrics", spec.fabrics)):
        yield kind, [(item.name, (*item.path, "name")) for item in items]
    for group in spec.node_groups:
        yield f"levels of {group.name}", [(level.name, (*level.path, "name")) for level in group.levels]
    yield "switch roles", [(tier.role, (*tier.path, "role")) for fabric in spec.fabrics for tier in fabric.tiers]
    yield "prefixes of node names", [(group.prefix, (*group.path, "prefix")) for group in spec.node_groups]
    for fabric in spec.fabrics:
        yield f"classes of {fabric.name}", [(item.name, (*item.path, "name")) for item in fabric.classes]
        yield f"partitions of {fabric.name}", [(item.name, (*item.path, "name")) for item in fabric.partitions]
    yield "NCCL profiles", [(item.name, (*item.path, "name")) for item in spec.nccl_profiles if item.name is not None]
    yield "schedulers", [(item.name, (*item.path, "name")) for item in spec.schedulers if item.name is not None]
    for slurm in (each.slurm for each in spec.schedulers if each.slurm is not None):
        yield "partitions of Slurm", [(item.name, (*item.path, "name")) for item in slurm.partitions]
    yield "zones", [(item.name, (*item.path, "name")) for item in spec.zones]
    yield "images", [(item.name, (*item.path, "name")) for item in spec.images]
    yield "flows", [(item.name, (*item.path, "name")) for item in spec.flows]
    yield "mounts", [(item.name, (*item.path, "name")) for item in spec.mounts]
    yield "borders", [(item.name, (*item.path, "name")) for item in spec.borders]
    yield "promises", [(item.name, (*item.path, "name")) for item in spec.promises]


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


@rule(
    code="CW165",
    severity=Severity.ERROR,
    title="device name that is taken or too long",
    why="Two devices of one name would get each other's configuration; DNS takes no label of more than 63 characters.",
    mend="Choose another role for the switches, or another `prefix` for the nodes.",
    docs="A switch is called by its role, the group it serves and its number (leaf-p03-07), a node by its prefix, its"
    " group and its place in it. A role such as `leaf-00` beside a role `leaf`, or a level with the letter n, can make"
    " two such names equal.",
)
def planned_name(subject: Subject) -> Iterator[Problem]:
    """Planned names of nodes and switches that come twice, or that are no DNS label; the first one of each tier."""
    skeleton = subject.skeleton
    groups = subject.spec.node_groups
    named = [(node.name, (*groups[node.node_group].path, "name")) for node in skeleton.layout.nodes]
    for fabric in skeleton.fabrics:
        named += [(seat.name, (*fabric.fabric.tiers[seat.tier].path, "role")) for seat in fabric.seats]
    seen: set[str] = set()
    told: set[Path] = set()
    for name, path in named:
        if path not in told and (name in seen or len(name) > LONGEST_LABEL):
            told.add(path)
            what = "would be the name of two devices" if name in seen else f"has {len(name)} characters, DNS takes 63"
            yield Problem(path, f'"{name}" {what}.', "Choose another role or prefix.")
        seen.add(name)
