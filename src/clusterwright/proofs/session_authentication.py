"""Comparison of a BGP session's authentication with the spec: two ends without a secret would agree."""

from __future__ import annotations

import re

from clusterwright.facts.router import Session
from clusterwright.spec.ethernet import SessionAuthentication

_VERSION = re.compile(r", version \S+$")


def unlike_asked(session: Session, asked: SessionAuthentication) -> str:
    """Difference between a session's authentication and the one requested by the spec, "" without one.

    A value read back from a device does not show its name, and is taken for the secret's.
    """
    by = "TCP-MD5 with" if asked.method == "md5" else f"TCP-AO by {asked.algorithm} with key {asked.key_id},"
    if _VERSION.sub("", session.authentication) in {f"{by} the secret {asked.secret}", f"{by} a secret"}:
        return ""
    return f"the spec asks for {by} the secret {asked.secret}, this end has {session.authentication or 'nothing'}"
