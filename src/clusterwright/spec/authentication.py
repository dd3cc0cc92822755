"""How a BGP session proves who speaks: TCP-MD5 (RFC 2385) or TCP-AO (RFC 5925), with a secret by name."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.spec.text.document import Path

MD5, AO = "md5", "tcp-ao"


@dataclass(frozen=True, slots=True)
class SessionAuthentication:
    """``method`` is MD5 or AO, ``secret`` names the password that both ends share.

    ``algorithm`` and ``key_id`` (0 to 255, the same at both ends) belong to TCP-AO. RFC 5926 makes both of its
    algorithms mandatory; the one without a word is the first that EOS offers.
    """

    method: str
    secret: str
    algorithm: str
    key_id: int
    path: Path
