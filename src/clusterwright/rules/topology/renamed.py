"""CW284: renamed devices need an allocation file with their former names."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.growth import Renamed


@rule("CW284", Severity.ERROR)
def renamed_without_an_allocation(subject: Subject) -> Iterator[Problem]:
    """Entries of `renamed` without an allocation file."""
    spec = subject.spec
    if spec.allocated:
        return
    for item in spec.renamed:
        former = f'{_kind(item)} "{item.was}"'
        yield Problem(
            item.path,
            f"No allocation file records the devices of the {former}: they count as removed, their files are "
            "deleted, and the devices of the new name are created.",
            "Restore the former names, write the file with `clusterwright allocate`, then rename.",
        )


def _kind(item: Renamed) -> str:
    """The kind of the renamed entry, as shown to users."""
    if item.nodes:
        return "node group"
    return "tier" if item.tier else "fabric"
