"""CW254: management networks with a link of its own for each device."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule


@rule("CW254", Severity.ERROR)
def management_by_links_of_two(subject: Subject) -> Iterator[Problem]:
    """Management networks with ``host_links: point-to-point``."""
    for fabric in subject.spec.fabrics:
        addressing = fabric.addressing
        is_managing = fabric.is_management
        if is_managing and addressing is not None and addressing.host_links != "shared":
            yield Problem(
                (*addressing.path, "host_links"),
                f"{fabric.name} manages devices, and each of its links would be a network of its own.",
                "Write `host_links: shared`: the devices of a management switch are then in one network.",
            )
