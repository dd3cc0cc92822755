"""CW321: more SSH keys than a switch's system keeps for one operator."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.addressing.system_limits import systems_of
from clusterwright.rules.rule import Problem, Subject, rule


@rule("CW321", Severity.ERROR)
def too_many_keys(subject: Subject) -> Iterator[Problem]:
    """Operators with more keys than the smallest switch keeps."""
    spec = subject.spec
    run = systems_of(spec)
    for operator in spec.site.operators:
        for system in run:
            most = system.limits.operator_keys
            if most is not None and len(operator.keys) > most:
                yield Problem(
                    (*operator.path, "keys", most),
                    f"{operator.name} has {len(operator.keys)} keys, and {system.title} keeps {most} of an account.",
                    f"Leave {most} keys, or write another operator for the others.",
                )
