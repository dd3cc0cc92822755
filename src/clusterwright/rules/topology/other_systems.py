"""CW275: switches configured by others."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.systems import EXTERNAL


@rule("CW275", Severity.NOTE)
def configured_elsewhere(subject: Subject) -> Iterator[Problem]:
    """Tiers of a provider, or of a model with a system not rendered here."""
    for fabric in subject.spec.fabrics:
        if fabric.is_provided:
            message = f"{fabric.name} is the provider's: nothing of its switches is written or checked."
            hint = "`clusterwright verify` lists the claims that depend on it."
            yield Problem((*fabric.path, "owner"), message, hint)
            continue
        for tier in fabric.tiers:
            if tier.model.network_os == EXTERNAL:
                yield Problem(
                    (*tier.path, "model"),
                    f"{tier.role} runs another system: no configuration of {tier.model.name} is written or checked.",
                    "`clusterwright inventory` lists the ports, cables, addresses and AS numbers to configure.",
                )
