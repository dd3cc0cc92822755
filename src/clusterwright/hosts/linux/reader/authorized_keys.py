"""Lines of OpenSSH's authorized_keys, as proofs compare them."""

from __future__ import annotations

import re

_ENDS = re.compile(r'expiry-time="\d{14}"')


def key_of_line(line: str) -> str:
    """The key's type and content; an expiring one has its last moment in front.

    A line with other options is not a plain key.
    """
    words = line.split()
    is_expiring = _ENDS.fullmatch(words[0]) is not None
    return " ".join(words[: 3 if is_expiring else 2])
