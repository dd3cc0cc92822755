"""Forms of secrets on devices, by the word behind ``as`` in ``<secret NAME as FORM>``.

A source holds the value itself: a password, a key in hexadecimal, the hash of a password. Devices need other forms: EOS
keeps passwords in two reversible ones, so that they do not show on a screen. These protect nothing from a reader; they
are EOS's notation of a value, and pyavd's library writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pyavd_utils.passwords import cbc_encrypt, simple_7_encrypt

# Type 7 begins with an offset into its table, 0 to 15: a fixed one, so that the same value has the same text.
TYPE_7_OFFSET = 7
# The longest key of TCP-MD5 in Linux, the kernel of EOS, SONiC and FRR (TCP_MD5SIG_MAXKEYLEN).
LONGEST_BGP_PASSWORD = 80
_CAK = re.compile(r"(?:[0-9A-Fa-f]{32}){1,2}")
_M_KEY = re.compile(r"0x(?=0*[1-9A-Fa-f])[0-9A-Fa-f]{1,16}")
_PEM = re.compile(r"(?:-----BEGIN (?P<kind>[A-Z0-9 ]+)-----\n[A-Za-z0-9+/=\n]+\n-----END (?P=kind)-----\n*)+")
_MUNGE_KEY = re.compile(r"[!-~]{32,1024}")  # munged(8): as many bytes, of whatever kind
_SLURM_VALUE = re.compile(r"[^\s#'\"\\\x00-\x1f\x7f]+")
# crypt(5). EOS knows sha512crypt, with its 5,000 rounds and no other number.
_SHA512 = re.compile(r"\$6\$[./0-9A-Za-z]{1,16}\$[./0-9A-Za-z]{86}")
_CRYPT = re.compile(
    r"\$6\$(?:rounds=[1-9][0-9]{3,8}\$)?[./0-9A-Za-z]{1,16}\$[./0-9A-Za-z]{86}"
    r"|\$y\$[./0-9A-Za-z]+\$[./0-9A-Za-z]{1,86}\$[./0-9A-Za-z]{43}"
    r"|\$2[abxy]\$[0-9]{2}\$[./0-9A-Za-z]{53}"
)


class FormError(ValueError):
    """A value unfit for its form. The text has the reason, and never the value."""


def is_pem(value: str) -> bool:
    """Whether a value is in PEM (RFC 7468), as keys, certificates and revocation lists are: of several lines."""
    return _PEM.fullmatch(value) is not None


def in_form(value: str, form: str, argument: str) -> str:
    """``value`` in a device's form; ``argument`` is a parameter of the form, often empty.

    Raises FormError for an unfit value, and for an unknown form.
    """
    if form not in FORMS:
        raise FormError(f'"{form}" is no form of a secret; there are {", ".join(sorted(FORMS))}')
    return FORMS[form](value, argument)


def _type_7(value: str, _: str) -> str:
    return simple_7_encrypt(value, TYPE_7_OFFSET)


def _pem(value: str, _: str) -> str:
    if not is_pem(value):
        raise FormError("is no PEM: lines from -----BEGIN to -----END and nothing beside them")
    return f"{value.rstrip()}\n"


def _cak(value: str, _: str) -> str:
    if not _CAK.fullmatch(value):
        raise FormError("is no MACsec key: 32 or 64 hexadecimal digits")
    return _type_7(value, _)


def _bgp(value: str, group: str) -> str:
    """EOS's form of a BGP password, keyed with its peer group or neighbour."""
    if len(value.encode()) > LONGEST_BGP_PASSWORD:
        raise FormError(f"is longer than {LONGEST_BGP_PASSWORD} bytes, which TCP-MD5 does not take")
    return cbc_encrypt(f"{group}_passwd", value)


def _matching(pattern: re.Pattern[str], reason: str) -> Callable[[str, str], str]:
    def matched(value: str, _: str) -> str:
        if not pattern.fullmatch(value):
            raise FormError(reason)
        return value

    return matched


FORMS: Mapping[str, Callable[[str, str], str]] = {
    "eos-type-7": _type_7,
    "eos-cak": _cak,
    "eos-bgp": _bgp,
    "pem": _pem,
    "sha512-crypt": _matching(
        _SHA512, "is no hash of the form $6$salt$hash; `openssl passwd -6` makes one from a password"
    ),
    "crypt": _matching(
        _CRYPT, "is no hash of crypt(5) that begins with $6$, $y$ or $2b$; `openssl passwd -6` makes one"
    ),
    "munge-key": _matching(_MUNGE_KEY, "is no key for munge: 32 to 1,024 characters; `openssl rand -hex 64` makes one"),
    "slurm-password": _matching(
        _SLURM_VALUE, "has a blank, a line end, a #, a quote or a backslash, which Slurm's files read otherwise"
    ),
    "m-key": _matching(_M_KEY, "is no M_Key: 0x and up to 16 hexadecimal digits, not all of them 0"),
}
