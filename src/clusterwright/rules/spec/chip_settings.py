"""CW434 and CW435: settings of a switch's chip that only its vendor gives out."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Tier
from clusterwright.spec.hardware.systems import system_of


@rule("CW434", Severity.NOTE)
def without_chip_settings(subject: Subject) -> Iterator[Problem]:
    """Tiers whose system needs chip settings, where neither `chip_settings` nor `extra_config` has them."""
    spec = subject.spec
    said = {each.model for each in spec.chip_settings}
    for fabric in spec.fabrics:
        for tier in fabric.tiers:
            if _needs(tier) and tier.model.name not in said and not _added(subject, fabric.name, tier):
                yield Problem(
                    (*tier.path, "model"),
                    f"The agent of {tier.role} does not start with what is rendered alone: {tier.model.name} needs chip"
                    " settings that its vendor gives out.",
                    f"Add `chip_settings: [{{name: {tier.model.name}, file: ...}}]`, or `assumed:` with where they come"
                    " from.",
                )


def _needs(tier: Tier) -> bool:
    system = system_of(tier.model)
    return system is not None and system.needs_chip_settings


def _added(subject: Subject, fabric: str, tier: Tier) -> bool:
    """True where a merge patch for the whole tier brings a chip."""
    return any(
        bool(((each.merge.get("platform") or {}) if isinstance(each.merge, dict) else {}).get("chip"))
        for each in subject.spec.extra_config
        if each.device is None and each.role in {None, tier.role} and each.fabric in {None, fabric}
    )


@rule("CW435", Severity.WARNING)
def idle_chip_settings(subject: Subject) -> Iterator[Problem]:
    """Entries of `chip_settings` for models whose system brings its own."""
    for entry in subject.spec.chip_settings:
        model = subject.spec.catalogue[entry.model]
        system = system_of(model)
        if system is None or not system.needs_chip_settings:
            runs = model.network_os or "no system"
            message = f"{entry.model} runs {runs}, which takes no chip settings from here."
            yield Problem((*entry.path, "name"), message, "Take the entry away, or name the model that it is for.")
