"""The authentication of a BGP session is the spec's: two ends that lost their secret at once agree."""

from __future__ import annotations

import re

from clusterwright.facts.router import Session
from clusterwright.spec.ethernet import SessionAuthentication

_VERSION = re.compile(r", version \S+$")


def unlike_asked(session: Session, asked: SessionAuthentication) -> str:
    """The difference between this end's authentication and the one that is ``asked`` for, "" without one.

    A value that was read back from a device does not show its name, and is taken for the secret's.
    """
    by = "TCP-MD5 with" if asked.method == "md5" else f"TCP-AO by {asked.algorithm} with key {asked.key_id},"
    if _VERSION.sub("", session.authentication) in {f"{by} the secret {asked.secret}", f"{by} a secret"}:
        return ""
    return f"the spec asks for {by} the secret {asked.secret}, this end has {session.authentication or 'nothing'}"
