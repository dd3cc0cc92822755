"""Link encryption on an EOS switch: its profiles, and the profile of each port.

A connectivity association key appears as ``<secret NAME as eos-cak>``: the deployment puts it there in EOS' own form
(type 7). The blank makes EOS refuse the line until then, and an interface without its profile stays closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.spec.encryption import ConnectivityKey, MacsecProfile

if TYPE_CHECKING:
    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import Link
    from clusterwright.plan.model import Plan


@dataclass(frozen=True, slots=True)
class EosKey:
    """A connectivity association key by name; ``words`` follow the key."""

    ckn: str
    secret: str
    words: str


@dataclass(frozen=True, slots=True)
class EosMacsec:
    """One profile of a switch."""

    name: str
    cipher: str
    keys: tuple[EosKey, ...]
    rekey_s: int
    unprotected: str


def eos_macsec(plan: Plan, view: SwitchView) -> tuple[EosMacsec, ...]:
    """The profiles on ports of a switch, by name."""
    names = {profile_of(link) for link in view.links}
    return tuple(_profile(profile) for profile in plan.spec.encryption.macsec if profile.name in names)


def profile_of(link: Link) -> str | None:
    """The profile of a link between switches, set by the lower one's tier; None for hosts and clear links."""
    if link.lower_tier is None or link.lower_tier.up is None:
        return None
    return link.lower_tier.up.macsec


def _profile(profile: MacsecProfile) -> EosMacsec:
    keys = [_key(profile.primary, "")]
    if profile.fallback is not None:
        keys.append(_key(profile.fallback, " fallback"))
    return EosMacsec(
        name=profile.name,
        cipher=profile.cipher,
        keys=tuple(keys),
        rekey_s=profile.rekey_s,
        unprotected=profile.unprotected,
    )


def _key(key: ConnectivityKey, words: str) -> EosKey:
    return EosKey(ckn=key.ckn, secret=key.secret, words=words)
