"""Comparison of a BGP session's authentication with the spec: two ends without a secret would agree."""

from __future__ import annotations

import re

from clusterwright.facts.router import Session
from clusterwright.spec.ethernet import SessionAuthentication

_VERSION = re.compile(r", version \S+$")


def authentication_fault(session: Session, configured: SessionAuthentication) -> str:
    """Difference between a session's authentication and the one requested by the spec, "" without one.

    A value read back from a device does not show its name, and is taken for the secret's.
    """
    method = "TCP-MD5 with"
    if configured.method != "md5":
        method = f"TCP-AO by {configured.algorithm} with key {configured.key_id},"
    if _VERSION.sub("", session.authentication) in {f"{method} the secret {configured.secret}", f"{method} a secret"}:
        return ""
    return (
        f"the spec asks for {method} the secret {configured.secret}, this end has {session.authentication or 'nothing'}"
    )
