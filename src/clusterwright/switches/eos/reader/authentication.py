"""Authentication of a BGP session in an EOS switch's text, in a form comparable between both ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from clusterwright.placeholder import LIKE_ONE, PLACEHOLDER

_PROFILE = re.compile(r"^   session shared-secret profile (\S+)\n((?:      .*\n)*)", re.M)
_KEY = re.compile(rf"^      secret (\S+) \d+ ({LIKE_ONE}|\S+)", re.M)
_SHARED = re.compile(r"shared-secret profile (\S+) algorithm (\S+)")


def shared_secrets(management: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Profiles of shared secrets by name, with their keys; ``management`` are their statements, with bodies."""
    secrets: dict[str, str] = {}
    for header, body in management:
        if header == "management security":
            for name, keys in _PROFILE.findall(body):
                numbered = sorted(_KEY.findall(keys))
                secrets[name] = " and ".join(f"key {number}, {_secret(value)}" for number, value in numbered)
    return secrets


def authentication_of(password: str, profiles: Mapping[str, str]) -> str:
    """The words behind ``neighbor X password``, in the form common to both ends; empty for none.

    A missing profile, or one without a key, authenticates nothing.
    """
    if not password:
        return ""
    if shared := _SHARED.fullmatch(password):
        keys = profiles.get(shared[1])
        return f"TCP-AO by {shared[2]} with {keys}" if keys else ""
    return f"TCP-MD5 with {_secret(password)}"


def _secret(words: str) -> str:
    """A secret by its name and version. A value is not shown, and in a device's own form not comparable elsewhere."""
    placeholder = PLACEHOLDER.search(words)
    if placeholder is None:
        return "a secret"
    name, version = placeholder["name"], placeholder["version"]
    return f"the secret {name}, version {version}" if version else f"the secret {name}"
