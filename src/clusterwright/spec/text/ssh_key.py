"""Public SSH keys of `authorized_keys`: defects that make OpenSSH skip one."""

from __future__ import annotations

import binascii
from base64 import b64decode

_ED25519_BYTES = 32
# RFC 5656: the length in bytes of a coordinate on each curve. A point is 4 and two of them.
_CURVE_BYTES = {"nistp256": 32, "nistp384": 48, "nistp521": 66}
_UNCOMPRESSED = 4
# OpenSSH refuses shorter keys (sshkey.h, SSH_RSA_MINIMUM_MODULUS_SIZE).
_LEAST_RSA_BITS = 1024


def ssh_key_defect(text: str) -> str:
    """The reason why OpenSSH reads no key in ``type base64 comment``; empty for a valid one (RFC 4253, 6.6)."""
    kind, encoded = text.split()[:2]
    try:
        parts = _parts(b64decode(encoded, validate=True))
    except (binascii.Error, ValueError):
        return "its second word is no base64 of an SSH key"
    if not parts or parts[0] != kind.encode():
        held = parts[0].decode("ascii", "replace") if parts else "nothing"
        return f"it says {kind}, and the key itself says {held}"
    if kind == "ssh-ed25519":
        is_sound = len(parts) == 2 and len(parts[1]) == _ED25519_BYTES
    elif kind == "ssh-rsa":
        is_sound = len(parts) == 3 and int.from_bytes(parts[2]).bit_length() >= _LEAST_RSA_BITS
    else:
        is_sound = _is_point(kind.rpartition("-")[2], parts)
    return "" if is_sound else f"the key itself is not of the length that {kind} has"


def _parts(blob: bytes) -> list[bytes]:
    """The strings in a key, each after its length in four bytes. Raises ValueError for an incomplete one."""
    parts: list[bytes] = []
    while blob:
        length = int.from_bytes(blob[:4])
        if len(blob) < 4 + length:
            raise ValueError("cut")
        parts.append(blob[4 : 4 + length])
        blob = blob[4 + length :]
    return parts


def _is_point(curve: str, parts: list[bytes]) -> bool:
    """True for the name of the curve and an uncompressed point of its length."""
    length = _CURVE_BYTES.get(curve)
    if length is None or len(parts) != 3 or parts[1] != curve.encode():
        return False
    return len(parts[2]) == 1 + 2 * length and parts[2][0] == _UNCOMPRESSED
