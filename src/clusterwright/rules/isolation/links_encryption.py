"""CW546 to CW548: links that leave the building are encrypted, by switches that can, and never fall back to clear."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.hardware.systems import system_of


@rule("CW546", Severity.ERROR)
def building_links_in_clear(subject: Subject) -> Iterator[Problem]:
    """Uplinks that leave the building without MACsec."""
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            if tier.up is not None and tier.up.leaves_building and tier.up.macsec is None:
                message = f"Links of {fabric.name} above {tier.role} leave the building in clear."
                yield Problem((*tier.up.path, "leaves_building"), message, "Add `macsec: PROFILE` beside it.")


@rule("CW547", Severity.ERROR)
def macsec_not_supported(subject: Subject) -> Iterator[Problem]:
    """Uplinks with a MACsec profile whose cipher one of both ends lacks."""
    spec = subject.spec
    for skeleton in subject.skeleton.fabrics:
        for tier, above in skeleton.joined_tiers():
            profile = spec.encryption.profile(tier.up.macsec) if tier.up is not None and tier.up.macsec else None
            if tier.up is None or profile is None:
                continue
            for end in (tier, above):
                if not _encrypts(end.model, profile.cipher):
                    message = f"{end.role} is a {end.model.name}, which does not encrypt with {profile.cipher}."
                    yield Problem((*tier.up.path, "macsec"), message, "Choose models with `macsec` at both ends.")


def _encrypts(model: HardwareModel, cipher: str) -> bool:
    system = system_of(model)
    return system is not None and system.has_macsec and cipher in model.macsec


@rule("CW548", Severity.ERROR)
def macsec_fails_open(subject: Subject) -> Iterator[Problem]:
    """MACsec profiles that allow unprotected traffic."""
    for profile in subject.spec.encryption.macsec:
        if profile.unprotected != "drop":
            message = f"Profile {profile.name} lets frames pass that are not encrypted."
            yield Problem((*profile.path, "unprotected"), message, "Write `unprotected: drop`.")
