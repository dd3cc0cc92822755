"""Rules of this project."""

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule


@rule(
    code="OURS102",
    severity=Severity.WARNING,
    title="a title that does not say the phase",
    why="Reports of two phases cannot be told apart.",
    fix="Write the title as `name, phase`.",
)
def title_without_phase(subject: Subject) -> Iterator[Problem]:
    _, phase = subject.spec.title.split(",")
    if not phase.strip():
        yield Problem(("title",), "the title ends in a comma.", "Write the phase behind it.")
