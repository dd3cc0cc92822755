"""Rules of this project."""

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule


@rule(
    code="OURS101",
    severity=Severity.WARNING,
    title="a cluster without a title",
    why="Reports are filed by their titles.",
    fix="Write `title:`.",
)
def without_title(subject: Subject) -> Iterator[Problem]:
    if not subject.spec.title:
        yield Problem(("name",), "this cluster has no title.", "Write `title:`.")
