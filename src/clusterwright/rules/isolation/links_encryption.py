"""CW546 to CW548: links that leave the building are encrypted, by switches that can, and never fall back to clear."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.hardware.systems import system_of


@rule(
    code="CW546",
    severity=Severity.ERROR,
    title="links between buildings in clear",
    why="Where strangers may touch a fibre, whatever it carries can be read from it.",
    mend="Name a MACsec profile as `macsec` beside `leaves_building`.",
    docs="Routing sessions, management and everything that is not storage cross those links too; the protection of"
    " mounts covers none of them.",
)
def building_links_in_clear(subject: Subject) -> Iterator[Problem]:
    """Uplinks that leave the building without MACsec."""
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            if tier.up is not None and tier.up.leaves_building and tier.up.macsec is None:
                message = f"Links of {fabric.name} above {tier.role} leave the building in clear."
                yield Problem((*tier.up.path, "leaves_building"), message, "Add `macsec: PROFILE` beside it.")


@rule(
    code="CW547",
    severity=Severity.ERROR,
    title="MACsec on a switch that has none",
    why="The configuration would be refused, or taken and not done: the link stays in clear or stays down.",
    mend="Choose models whose catalogue entry lists the cipher under `macsec`.",
    docs="Both ends must have it. Encryption is in the ports' hardware: a chassis has it only with line cards that do."
    " Quantum InfiniBand switches, Minipack2 and Wedge400 have none. Rendered is MACsec for EOS.",
)
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


@rule(
    code="CW548",
    severity=Severity.ERROR,
    title="MACsec that lets clear frames pass",
    why="When keys do not agree the link goes on in clear, and nobody notices: it fails open.",
    mend="Write `unprotected: drop`, or leave it out.",
    docs="`traffic unprotected allow` stands in many examples, because it keeps a link up while it is being set up.",
)
def macsec_fails_open(subject: Subject) -> Iterator[Problem]:
    """MACsec profiles that allow unprotected traffic."""
    for profile in subject.spec.encryption.macsec:
        if profile.unprotected != "drop":
            message = f"Profile {profile.name} lets frames pass that are not encrypted."
            yield Problem((*profile.path, "unprotected"), message, "Write `unprotected: drop`.")
