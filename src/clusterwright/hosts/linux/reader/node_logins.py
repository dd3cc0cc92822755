"""Logins on a node: accounts of sysusers.d, their keys, sshd's settings, and sudo's rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from clusterwright.facts.unread import Unread
from clusterwright.hosts.linux.reader.authorized_keys import key_of_line
from clusterwright.hosts.linux.reader.logins import ADMIN_GROUPS, unread_login_file

ACCOUNTS = "etc/sysusers.d/90-clusterwright.conf"
SSHD = "etc/ssh/sshd_config.d/10-clusterwright.conf"
SUDOERS = "etc/sudoers.d/90-clusterwright"
KEYS = "etc/ssh/authorized_keys.d/"
NODE_LOGIN_FOLDERS = ("etc/sysusers.d/", "etc/ssh/sshd_config", KEYS, "etc/sudoers")
_HOMES = "etc/tmpfiles.d/90-clusterwright.conf"
_HOST_KEY = "etc/clusterwright/host-key"
_USER = re.compile(r'u (?P<name>[\w.-]+) (?P<uid>\d+) "[^"]*" /\S+ /\S+')
_MEMBER = re.compile(r"m (?P<name>[\w.-]+) (?P<group>[\w.-]+)")
# Whole lines by file; any other line is unread.
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
    """The accounts of sysusers.d by name, from lines with a number and with memberships; others are unread."""
    accounts: dict[str, NodeAccount] = {}
    for number, line in _lines(text):
        user, member = _USER.match(line), _MEMBER.match(line)
        if user is not None:
            name = user["name"]
            accounts[name] = NodeAccount(name=name, uid=int(user["uid"]), groups=ADMIN_GROUPS & {name}, line=number)
        elif member is not None and member["name"] in accounts:
            account = accounts[member["name"]]
            accounts[account.name] = replace(account, groups=account.groups | {member["group"]})
    return accounts


def read_keys(text: str) -> Mapping[str, int]:
    """Lines of public keys by kind and content; an expiring key has its last moment in front.

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
    unread_lines = []
    if path == SUDOERS:
        unread_lines += _directives_like_comments(text)
    unread_lines += [(number, line) for number, line in _lines(text) if known_lines.fullmatch(line) is None]
    return tuple(Unread(file=path, line=number, text=line, claims=claims) for number, line in unread_lines)


def _directives_like_comments(text: str) -> list[tuple[int, str]]:
    """Lines of sudoers(5) that begin like comments: includes, and rules of a user by number."""
    numbered = enumerate(text.split("\n"), 1)
    return [(number, line) for number, line in numbered if re.match(r"#(?:include|includedir|\d)", line)]
