"""MACsec in a switch's EOS text: encrypted ports, and settings that fail open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from clusterwright.switches.eos.reader.sections import sections_of

_PROFILE, _ON_PORT = re.compile(r"   profile (\S+)"), re.compile(r"   mac security profile (\S+)")
_PROFILES = re.compile(r"^   profile (\S+)\n((?:      .*\n)*)", re.M)
_AGREED = re.compile(r"^      ((?:cipher|key) .*)$", re.M)
STRONG = ("aes256-gcm", "aes256-gcm-xpn", "aes128-gcm", "aes128-gcm-xpn")


@dataclass(frozen=True, slots=True)
class Macsec:
    """``ports`` with an existing profile; ``faults`` are line numbers with their error."""

    ports: frozenset[str]
    faults: tuple[tuple[int, str], ...]


def macsec_of(text: str) -> Macsec:
    """MACsec of one startup configuration."""
    if "mac security" not in text:  # neither a profile nor a port with one
        return Macsec(ports=frozenset(), faults=())
    profiles: dict[str, list[tuple[int, str]]] = {}
    used: dict[str, tuple[int, str]] = {}
    for section in sections_of(text):
        port = section.names("interface")
        if not port and section.header != "mac security":
            continue
        name = ""
        for number, line in enumerate(section.body.split("\n"), section.line + 1):
            words = line.strip()
            if port and (match := _ON_PORT.fullmatch(line)):
                used[port] = (number, match[1])
            elif not port and (head := _PROFILE.fullmatch(line)):
                name = head[1]
                profiles[name] = [(number, words)]
            elif name and line.startswith("      "):
                profiles[name].append((number, words))
    faults = list(chain.from_iterable(map(_faults, profiles.values())))
    ports: set[str] = set()
    for port, (number, profile) in used.items():
        if profile in profiles:
            ports.add(port)
        else:
            faults.append((number, f'{port} names the profile "{profile}", which does not exist, and stays in clear'))
    return Macsec(ports=frozenset(ports), faults=tuple(sorted(faults)))


def keys_of(statements: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Each profile's cipher and names of keys, to be equal at both ends."""
    keys: dict[str, str] = {}
    for header, lines in statements:
        if header == "mac security":
            for name, body in _PROFILES.findall(lines):
                agreed = sorted(" ".join(words.split()[:2]) for words in _AGREED.findall(body))
                keys[name] = ", ".join(agreed)
    return keys


def _faults(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The faults of a profile with the numbers of their lines; the first line is its name."""
    first = lines[0][0]
    faults = [
        (number, "frames that are not encrypted pass: the link fails open")
        for number, words in lines
        if f"{words} ".startswith("traffic unprotected allow ")
    ]
    drops_clear_frames = any(words == "traffic unprotected drop" for _, words in lines)
    if not drops_clear_frames and not faults:
        faults.append((first, "the profile does not say that clear frames are dropped"))
    if not any(_is_primary_key(words) for _, words in lines):
        faults.append((first, "the profile has no primary key, so that no session key is ever agreed"))
    cipher = next((words.split()[1] for _, words in lines if words.startswith("cipher ")), None)
    if cipher not in STRONG:
        faults.append((first, "the profile names no cipher that encrypts"))
    return faults


def _is_primary_key(words: str) -> bool:
    return words.startswith("key ") and not words.endswith(" fallback")
