"""Authentication of BGP sessions on EOS: a password of a peer group, or a profile of shared secrets.

No secret is written. A password appears as ``<secret NAME as FORM>``: EOS keeps it in a form of its own, which the
deployment makes. EOS refuses the line as it is, for its blanks, and the session without it does not come up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.spec.ethernet import AO

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.spec.ethernet import SessionAuthentication


@dataclass(frozen=True, slots=True)
class EosSharedSecret:
    """A profile of TCP-AO with its one key without an end: rotation brings another key."""

    profile: str
    key_id: int
    secret: str


def password_of(group: str, authentication: SessionAuthentication | None) -> str | None:
    """The words behind ``neighbor GROUP password``; None for sessions without authentication."""
    if authentication is None:
        return None
    if authentication.method == AO:
        return f"shared-secret profile {_profile(authentication)} algorithm {authentication.algorithm}"
    return f"7 <secret {authentication.secret} as eos-bgp {group}>"


def shared_secrets(authentications: Iterable[SessionAuthentication | None]) -> tuple[EosSharedSecret, ...]:
    """The profiles of a switch's sessions, each once, by name."""
    secrets: dict[str, EosSharedSecret] = {}
    for authentication in authentications:
        if authentication is None or authentication.method != AO:
            continue
        profile = _profile(authentication)
        secrets[profile] = EosSharedSecret(profile=profile, key_id=authentication.key_id, secret=authentication.secret)
    return tuple(secrets[name] for name in sorted(secrets))


def _profile(authentication: SessionAuthentication) -> str:
    """One profile for each secret and key number: two tiers may share a secret under different numbers."""
    return f"BGP-{authentication.secret.upper()}-{authentication.key_id}"
