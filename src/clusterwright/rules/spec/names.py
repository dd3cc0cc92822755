"""CW158, CW159 and CW165: names that must be told apart."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.model import CLUSTER, ClusterSpec
from clusterwright.spec.text.document import Path

LONGEST_LABEL = 63  # RFC 1035, 2.3.4


@rule("CW158", Severity.ERROR, relied_on=True)
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


@rule("CW159", Severity.WARNING)
def shared_letter(subject: Subject) -> Iterator[Problem]:
    """Levels of a node group whose instances are counted in the same place under the same letter."""
    for group in subject.spec.node_groups:
        seen: dict[str, str] = {}
        for level in group.levels:
            if level.code in seen:
                message = f'Levels {seen[level.code]} and {level.name} of {group.name} are both called "{level.code}".'
                yield Problem((*level.path, "code"), message, f'Give {level.name} a `code` of its own, such as "w".')
            seen.setdefault(level.code, level.name)


@rule("CW165", Severity.ERROR)
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
