"""Logins on a node: accounts of sysusers.d, their keys, sshd's settings, and sudo's rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from clusterwright.facts.unread import Unread
from clusterwright.hosts.linux.reader.authorized_keys import key_of_line
from clusterwright.hosts.linux.reader.logins import unread_login_file

ACCOUNTS = "etc/sysusers.d/90-clusterwright.conf"
SSHD = "etc/ssh/sshd_config.d/10-clusterwright.conf"
SUDOERS = "etc/sudoers.d/90-clusterwright"
KEYS = "etc/ssh/authorized_keys.d/"
NODE_LOGIN_FOLDERS = ("etc/sysusers.d/", "etc/ssh/sshd_config", KEYS, "etc/sudoers")
_HOMES = "etc/tmpfiles.d/90-clusterwright.conf"
_HOST_KEY = "etc/clusterwright/host-key"
# Lines by file, whole; a line that is none of these is unread, or told by the claim.
_KNOWN: Mapping[str, str] = {
    ACCOUNTS: r'u [\w.-]+ \d+ "[^"]*" /\S+ /\S+|m [\w.-]+ [\w.-]+',
    SSHD: r"(?:PasswordAuthentication|KbdInteractiveAuthentication|PermitRootLogin|UsePAM) [\w-]+"
    r"|AuthorizedKeysFile /etc/ssh/authorized_keys\.d/%u(?: \.ssh/authorized_keys)?",
    SUDOERS: r"[\w.-]+ ALL=\(ALL:ALL\) NOPASSWD: ALL",
    _HOMES: r"d /\S+ 0[0-7]{3} [\w.-]+ [\w.-]+ -",
    _HOST_KEY: r"\S+",
}


@dataclass(frozen=True, slots=True)
class NodeAccount:
    """An account on a node: its number and groups, and its line."""

    name: str
    uid: int
    groups: frozenset[str]
    line: int


def _lines(text: str) -> list[tuple[int, str]]:
    """Lines with their numbers, without blank ones and comments."""
    numbered = enumerate(text.split("\n"), 1)
    return [(number, line) for number, line in numbered if line.strip() and not line.startswith("#")]


def read_accounts(text: str) -> Mapping[str, NodeAccount]:
    """The accounts of sysusers.d by name."""
    accounts: dict[str, NodeAccount] = {}
    for number, line in _lines(text):
        words = line.split()
        if words[0] == "u" and words[2].isdecimal():
            accounts[words[1]] = NodeAccount(name=words[1], uid=int(words[2]), groups=frozenset(), line=number)
        elif words[0] == "m" and words[1] in accounts:
            account = accounts[words[1]]
            accounts[words[1]] = NodeAccount(
                name=account.name, uid=account.uid, groups=account.groups | {words[2]}, line=account.line
            )
    return accounts


def read_keys(text: str) -> Mapping[str, int]:
    """Public keys by kind and content, with their lines; an expiring one has its last moment in front.

    A line with other options is not a plain key.
    """
    return {key_of_line(line): number for number, line in _lines(text)}


def read_sshd(text: str) -> Mapping[str, tuple[str, int]]:
    """Settings of sshd with their lines; the first one of a repeated name holds (sshd_config(5))."""
    options: dict[str, tuple[str, int]] = {}
    for number, line in _lines(text):
        name, _, value = line.strip().partition(" ")
        options.setdefault(name.lower(), (value.strip(), number))
    return options


def read_sudoers(text: str) -> Mapping[str, int]:
    """Accounts with sudo rights, each with its line."""
    return {line.split()[0]: number for number, line in _lines(text)}


@lru_cache(maxsize=1024)
def node_logins_unread(path: str, text: str) -> tuple[Unread, ...]:
    """Unknown parts of a file about logins on a node."""
    if path.startswith(KEYS):
        return ()
    claims = frozenset({"node-logins"})
    if path not in _KNOWN:
        return (unread_login_file(path, claims),)
    known_lines = re.compile(_KNOWN[path])
    # sudoers(5) has directives that begin like comments
    directives = re.finditer(r"(?m)^#(?:include|includedir|\d).*$", text) if path == SUDOERS else ()
    strange = [(text.count("\n", 0, directive.start()) + 1, directive[0]) for directive in directives]
    strange += [(number, line) for number, line in _lines(text) if known_lines.fullmatch(line) is None]
    return tuple(Unread(file=path, line=number, text=line, claims=claims) for number, line in strange)
