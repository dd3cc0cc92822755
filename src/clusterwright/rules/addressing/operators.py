"""CW321: more SSH keys than a switch's system keeps for one operator."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.addressing.system_limits import systems_of
from clusterwright.rules.rule import Problem, Subject, rule


@rule(
    code="CW321",
    severity=Severity.ERROR,
    title="more SSH keys than a switch keeps",
    why="A key that the switch has no place for would be left out, and its holder locked out on some switches alone.",
    mend="Leave the operator two keys, or write a second operator for the other ones.",
    docs="EOS keeps two public keys for an account, a primary and a secondary one. SONiC, FBOSS and the InfiniBand"
    " switches keep any number; the rule looks at the systems that the spec's switches really run.",
)
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
