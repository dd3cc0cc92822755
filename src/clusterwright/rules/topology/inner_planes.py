"""CW290: switches with planes inside."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule


@rule("CW290", Severity.NOTE)
def planes_counted_as_one(subject: Subject) -> Iterator[Problem]:
    """Tiers of a model with several planes inside."""
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            if tier.model.planes > 1:
                yield Problem(
                    (*tier.path, "model"),
                    f"{tier.model.name} carries each port in {tier.model.planes} planes, which are planned and checked"
                    " as one.",
                    "Ask the subnet manager about the planes of each port: no file here names them.",
                )
