"""How a BGP session proves who speaks: TCP-MD5 (RFC 2385) or TCP-AO (RFC 5925), with a secret by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.spec.text.document import Path

MD5, AO = "md5", "tcp-ao"
# RFC 5926 makes both of its algorithms mandatory; this one is the first that EOS offers.
DEFAULT_ALGORITHM = "aes-128-cmac-96"
DEFAULT_KEY_ID = 1


@dataclass(frozen=True, slots=True)
class SessionAuthentication:
    """``method`` is MD5 or AO, ``secret`` names the password that both ends share.

    ``algorithm`` and ``key_id`` (0 to 255, the same at both ends) belong to TCP-AO.
    """

    method: str
    secret: str
    algorithm: str
    key_id: int
    path: Path


def session_authentication(data: Mapping[str, Any], path: Path) -> SessionAuthentication | None:
    """The key ``authentication`` of a border or of uplinks at ``path``; None where there is none."""
    if "authentication" not in data:
        return None
    found = data["authentication"]
    return SessionAuthentication(
        method=found.get("method", MD5),
        secret=found["secret"],
        algorithm=found.get("algorithm", DEFAULT_ALGORITHM),
        key_id=found.get("key_id", DEFAULT_KEY_ID),
        path=(*path, "authentication"),
    )
