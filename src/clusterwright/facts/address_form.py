"""IPv6 addresses in the form compared by readers, from any form written by switches or people."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address

_IPV6 = re.compile(r"(?<![\w.:])[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:?[0-9A-Fa-f.]*(?![\w:])")

OTHER_IPV6_FORM = r"[A-F][0-9A-Fa-f]*:|:[0-9a-f]*[A-F]|:0[0-9a-f]|:0:0(?::|\b)"
"""Pattern of text with a possible address in another form than RFC 5952's."""


def in_plain_form(text: str) -> str:
    """The text with its IPv6 addresses in the form of RFC 5952."""
    return _IPV6.sub(_compressed, text)


def _compressed(match: re.Match[str]) -> str:
    try:
        return str(IPv6Address(match[0]))
    except AddressValueError:
        return match[0]
