"""Secrets recognised by their context, in text from outside: a running configuration, a device's diff.

The value of a planned secret is known, and its placeholder replaces it. An unplanned one is recognised by the syntax
around secrets in configurations of EOS, SONiC and FRR, crypt(5), SNMP, MACsec, opensm and PEM files. In doubt a word is
removed: a harmless word costs one line its meaning, a secret that is kept is disclosed.
"""

from __future__ import annotations

import re

from clusterwright.placeholder import LIKE_ONE

SHOWN = "(a secret)"

# Marks for removed words and placeholders, so that no later pattern matches inside them.
_TAKEN, _KEPT = "\0", "\1"
_PLACEHOLDER = re.compile(LIKE_ONE)
_WORD = rf"(?![{_TAKEN}{_KEPT}])[^\s\"',}}]+"
# The type numbers of keys in EOS and IOS, and their encodings: 0, 5, 7, 8a, sha512.
_TYPE = r"(?:(?:\d+|8a|sha\d*|md5|localized|encrypted) ){0,3}+"
_BEFORE = r"(?<![\w<-])"
_IS = r"[\"']?(?:\s*[:=]\s*|[ \t]+)[\"']?"
_NAMES = r"\w*(?:_key|passkey|_password|_secret|psk|cak|token)"
_CRYPT = re.compile(r"\$(?:1|5|6|y|7|gy|2[abxy]|argon2\w*|scrypt)\$[^\s:\"',]+")
_PEM = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_AFTER = tuple(
    re.compile(f"({before}){_WORD}", re.IGNORECASE | re.MULTILINE)
    for before in (
        # neighbor X password [7] WORD; username U secret [sha512] WORD; secret 1 7 WORD; "password": "WORD"
        rf"{_BEFORE}(?:password|passwd|passphrase|secret){_IS}(?!minimum|maximum|policy|encryption|history|expir){_TYPE}",
        # tacacs-server host H key 7 WORD; radius-server key WORD; key 0a01 7 WORD of MACsec
        rf"{_BEFORE}(?:tacacs|radius)(?:-server)?\b[^\n]*? (?:key|passkey) {_TYPE}",
        rf"{_BEFORE}(?:key|fallback-key) (?:[0-9a-f]{{2,64}} )?(?:0|7|8a) ",
        rf"{_BEFORE}(?:key-string|authentication-key|message-digest-key) {_TYPE}",
        # snmp-server user U G v3 [localized E] auth sha WORD priv aes 256 WORD; community WORD; net-snmp's files
        rf"{_BEFORE}(?:auth|priv) (?:md5|sha[\d-]*|3?des|aes[\d-]*) (?:(?:\d{{3}}|[078]) )?+",
        rf"{_BEFORE}(?:snmp-server community|r[ow]community6?) {_TYPE}",
        rf"{_BEFORE}snmp-server host \S+ (?:\w+ )?(?:version (?:1|2c) ){_TYPE}",
        r"\bcreateUser +(?:-e +\S+ +)?\S+ +\S+ +",
        r"\bcreateUser +(?:-e +\S+ +)?\S+ +\S+ +\0 +\S+ +",
        # "passkey": "WORD" of SONiC, m_key 0x... of opensm, shared_secret=WORD
        rf"\b{_NAMES}[\"']?\s*[:=]\s*[\"']?",
        r"\b(?:m_key|sm_key|sa_key|passkey)[ \t]+",
        r"^[-+ ]*0x(?=[0-9a-f]{1,16}$)",  # a file that is an M_Key and nothing else
    )
)


def without_secrets(text: str) -> str:
    """``text`` with ``(a secret)`` in place of every word at a place of secrets. Placeholders stay.

    Applied a second time, the function changes nothing.
    """
    kept = iter(_PLACEHOLDER.findall(text))
    text = _PLACEHOLDER.sub(_KEPT, text.replace(_TAKEN, "").replace(_KEPT, "")).replace(SHOWN, _TAKEN)
    text = _PEM.sub(lambda match: f"{match[1]} {_TAKEN} {match[2]}".rstrip(), text)
    text = _CRYPT.sub(_TAKEN, text)
    for pattern in _AFTER:
        text = pattern.sub(lambda match: f"{match[1]}{_TAKEN}", text)
    return re.sub(_KEPT, lambda _: next(kept), text).replace(_TAKEN, SHOWN)


def value_without_secrets(key: str, value: str) -> str:
    """``value`` as ``without_secrets`` writes it behind ``key``."""
    start = f"{key}: "
    return without_secrets(start + value).removeprefix(start)
