"""CW284: what is renamed has to stand somewhere under its former name."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule


@rule("CW284", Severity.ERROR)
def renamed_without_an_allocation(subject: Subject) -> Iterator[Problem]:
    """New names where no allocation file says which devices had the former ones."""
    spec = subject.spec
    if spec.allocated:
        return
    for item in spec.renamed:
        kind = "node group" if item.nodes else "tier" if item.tier else "fabric"
        yield Problem(
            item.path,
            f'Nothing says which devices the {kind} "{item.was}" had: without an allocation file they are taken for '
            "gone, what was put on them is removed, and those of the new name are made anew.",
            "Put the former names back, write the file with `clusterwright allocate`, then rename.",
        )
