"""Secrets told by the place where they stand, in text that nobody planned: a running configuration, a device's diff.

A value that was planned is known, and its placeholder takes its place. One that merely runs is not: what is found here
is what configurations of EOS, SONiC and FRR, crypt(5), SNMP, MACsec, opensm and PEM files write around a secret. On the
safe side: a word that is taken away although it was none is missing from one line, one that is left is known to all.
"""

from __future__ import annotations

import re

from clusterwright.placeholder import LIKE_ONE

SHOWN = "(a secret)"

# While patterns follow each other none reads what another put there, nor a placeholder.
_TAKEN, _KEPT = "\0", "\1"
_PLACEHOLDER = re.compile(LIKE_ONE)
_WORD = rf"(?![{_TAKEN}{_KEPT}])[^\s\"',}}]+"
# The numbers by which EOS and IOS say which key it is, and how the word behind them is written: 0, 5, 7, 8a, sha512.
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
    """``text`` with ``(a secret)`` in place of every word that stands where secrets do. Placeholders stay.

    Text that went through this already stays as it is.
    """
    kept = iter(_PLACEHOLDER.findall(text))
    text = _PLACEHOLDER.sub(_KEPT, text.replace(_TAKEN, "").replace(_KEPT, "")).replace(SHOWN, _TAKEN)
    text = _PEM.sub(lambda match: f"{match[1]} {_TAKEN} {match[2]}".rstrip(), text)
    text = _CRYPT.sub(_TAKEN, text)
    for pattern in _AFTER:
        text = pattern.sub(lambda match: f"{match[1]}{_TAKEN}", text)
    return re.sub(_KEPT, lambda _: next(kept), text).replace(_TAKEN, SHOWN)


def value_without_secrets(key: str, value: str) -> str:
    """A value as ``without_secrets`` has it, where it stands behind ``key``."""
    start = f"{key}: "
    return without_secrets(start + value).removeprefix(start)
