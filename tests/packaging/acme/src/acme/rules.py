"""Acme's rules."""

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule


@rule(
    code="ACME101",
    severity=Severity.WARNING,
    title="two subnet managers are asked of Acme's switches",
    why="Acme supports one.",
    fix="Set `count: 1`.",
)
def several_managers(subject: Subject) -> Iterator[Problem]:
    """Fabrics with more than one subnet manager."""
    for fabric in subject.spec.fabrics:
        manager = fabric.subnet_manager
        if manager is not None and manager.count > 1:
            yield Problem((*manager.path, "count"), f"{manager.count} subnet managers.", "Set 1.")
