"""CW158, CW159 and CW165: names that must be unique."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import Reference
from clusterwright.spec.model import CLUSTER, ClusterSpec
from clusterwright.spec.text.document import Path

LONGEST_LABEL = 63  # RFC 1035, 2.3.4


class _NamedItem(Protocol):
    @property
    def name(self) -> str | None: ...

    @property
    def path(self) -> Path: ...


@rule("CW158", Severity.ERROR, relied_on=True)
def duplicate_name(subject: Subject) -> Iterator[Problem]:
    """Items of one list, or switch roles, with the same name."""
    spec = subject.spec
    for group in spec.node_groups:
        for level in group.levels:
            if level.name == CLUSTER:
                yield Problem((*level.path, "name"), '"cluster" is the whole cluster already.', "Choose another name.")
    for kind, references in _lists(spec):
        seen: set[str] = set()
        for name, path in references:
            if name in seen:
                yield Problem(path, f'Two {kind} are called "{name}".', "Choose another name for one of them.")
            seen.add(name)


def _lists(spec: ClusterSpec) -> Iterator[tuple[str, list[Reference]]]:
    """Lists with unique names: the kind of item, and each name with its place.

    The lists of the skeleton come first: doubts about another list must not keep them from being checked.
    """
    yield "node groups", _item_names(spec.node_groups)
    yield "fabrics", _item_names(spec.fabrics)
    for group in spec.node_groups:
        yield f"levels of {group.name}", _item_names(group.levels)
    yield "switch roles", [Reference(tier.role, (*tier.path, "role")) for tier in spec.tiers]
    yield "prefixes of node names", [Reference(group.prefix, (*group.path, "prefix")) for group in spec.node_groups]
    for fabric in spec.fabrics:
        yield f"classes of {fabric.name}", _item_names(fabric.classes)
        yield f"partitions of {fabric.name}", _item_names(fabric.partitions)
    yield "NCCL profiles", _item_names(spec.nccl_profiles)
    yield "schedulers", _item_names(spec.schedulers)
    for scheduler in spec.schedulers:
        if scheduler.slurm is not None:
            yield "partitions of Slurm", _item_names(scheduler.slurm.partitions)
    yield "zones", _item_names(spec.zones)
    yield "images", _item_names(spec.images)
    yield "flows", _item_names(spec.flows)
    yield "mounts", _item_names(spec.mounts)
    yield "borders", _item_names(spec.borders)
    yield "promises", _item_names(spec.promises)


def _item_names(items: Iterable[_NamedItem]) -> list[Reference]:
    """The names of items with one, each with its place."""
    return [Reference(item.name, (*item.path, "name")) for item in items if item.name is not None]


@rule("CW159", Severity.WARNING)
def shared_letter(subject: Subject) -> Iterator[Problem]:
    """Levels of a node group with the same letter in node names."""
    for group in subject.spec.node_groups:
        seen: dict[str, str] = {}
        for level in group.levels:
            if level.code in seen:
                message = f'Levels {seen[level.code]} and {level.name} of {group.name} are both called "{level.code}".'
                yield Problem((*level.path, "code"), message, f'Give {level.name} a `code` of its own, such as "w".')
            seen.setdefault(level.code, level.name)


@rule("CW165", Severity.ERROR)
def planned_name(subject: Subject) -> Iterator[Problem]:
    """Duplicate planned names of nodes and switches, and names too long for DNS; the first one of each tier."""
    seen: set[str] = set()
    reported: set[Path] = set()
    for name, path in _planned_names(subject):
        is_duplicate = name in seen
        if path not in reported and (is_duplicate or len(name) > LONGEST_LABEL):
            reported.add(path)
            fault = "would be the name of two devices" if is_duplicate else f"has {len(name)} characters, DNS takes 63"
            yield Problem(path, f'"{name}" {fault}.', "Choose another role, prefix, pattern or line of `device_names`.")
        seen.add(name)


def _planned_names(subject: Subject) -> Iterator[Reference]:
    """The names of all nodes and switches, each with the key that sets it."""
    groups = subject.spec.node_groups
    group_paths = [(*group.path, "name_pattern" if group.name_pattern else "name") for group in groups]
    for node in subject.skeleton.layout.nodes:
        yield Reference(node.name, group_paths[node.node_group])
    for fabric in subject.skeleton.fabrics:
        tiers = fabric.fabric.tiers
        tier_paths = [(*tier.path, "name_pattern" if tier.name_pattern else "role") for tier in tiers]
        for seat in fabric.seats:
            yield Reference(seat.name, tier_paths[seat.tier])
