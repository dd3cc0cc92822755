"""Logins on a Linux-based switch: accounts of sysusers.d, keys of sshd, users of net-snmp."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from clusterwright.facts.reader import LOGINS as LOGIN_SERVERS
from clusterwright.facts.reader import Login, Server
from clusterwright.facts.unread import Unread
from clusterwright.hosts.linux.reader.authorized_keys import key_of_line

KEYS = "etc/ssh/authorized_keys.d/"
PASSWORDS = "etc/clusterwright/passwords"
_CENTRAL, _RADIUS = "etc/pam.d/sshd", "etc/pam_radius.conf"
_ADMINS = "netadmin"
ADMIN_GROUPS = frozenset({_ADMINS, "admin", "docker", "lxd", "root", "sudo", "wheel"})
"""Groups whose members can become root: by a rule of sudo, or by a program that runs as root for them.

An account has the group of its own name, if that exists (sysusers.d(5)).
"""
_CLOSED = ("*", "!")  # no hash begins with these: shadow(5)
_USER = re.compile(r"^(?P<kind>[um]) (?P<name>\S+)(?: (?P<group>\S+)?)?.*$", re.M)
_SNMP = re.compile(r"^(?:createUser|r[ow]user) (?P<name>\S+).*$", re.M)
_LINE = re.compile(r"^(?!#)\S.*$", re.M)
# Whole lines by file. ``sshd`` and ``sudo`` obey files of any name in their folders, so other files are unread.
_KNOWN: Mapping[str, str] = {
    "etc/sysusers.d/clusterwright.conf": rf"g {_ADMINS} -|u \S+ - .*|m \S+ {_ADMINS}",
    "etc/ssh/sshd_config.d/10-clusterwright.conf": (
        r"PermitRootLogin no|PasswordAuthentication no|KbdInteractiveAuthentication (?:yes|no)"
        rf"|PubkeyAuthentication yes|AuthorizedKeysFile /{KEYS}%u|MaxAuthTries \d+|LoginGraceTime [1-9]\d*"
        r"|ClientAliveInterval \d+|ClientAliveCountMax \d+|AllowTcpForwarding no|X11Forwarding no"
    ),
    "etc/sudoers.d/clusterwright": rf"%{_ADMINS} ALL=\(ALL:ALL\) NOPASSWD: ALL",
    _CENTRAL: (
        r"auth +(?:sufficient +pam_(?:tacplus|radius_auth)\.so(?: .*)?|substack +password-auth|include +postlogin)"
        r"|account +(?:required +pam_(?:sepermit|nologin)\.so|include +password-auth)|password +include +password-auth"
        r"|session +(?:\w+ +pam_(?:selinux|loginuid|namespace|keyinit|motd|tacplus|radius_auth)\.so(?: .*)?"
        r"|include +(?:password-auth|postlogin))"
    ),
    "etc/snmp/snmpd.conf": r"agentaddress udp:\S+:161|sysName \S+|createUser \S+ SHA \S.* AES \S.*|rouser \S+ priv",
}
_SERVER = re.compile(r"\bserver=(?P<pam>\S+)|^(?!#)(?P<radius>\S+) <?\S", re.M)
LOGIN_FOLDERS = ("etc/sysusers.d/", "etc/ssh/", "etc/sudoers.d/", "etc/sudoers", "etc/snmp/", "etc/pam.d/")


def _accounts(path: str, text: str) -> Iterator[Login]:
    for match in _USER.finditer(text):
        is_admin = match["kind"] == "m" or match["name"] in ADMIN_GROUPS
        yield Login(match.start(), match["name"], is_admin=is_admin)


def _keys(path: str, text: str) -> Iterator[Login]:
    for match in _LINE.finditer(text):
        yield Login(match.start(), path.removeprefix(KEYS), key=key_of_line(match[0]))


def _passwords(path: str, text: str) -> Iterator[Login]:
    for match in _LINE.finditer(text):
        name, _, value = match[0].partition(":")
        yield Login(match.start(), name, has_password=not value.startswith(_CLOSED))


def _snmp(path: str, text: str) -> Iterator[Login]:
    for match in _SNMP.finditer(text):
        yield Login(match.start(), match["name"], is_snmp=True)


LOGINS: Mapping[str, Callable[[str, str], Iterator[Login]]] = {
    "etc/sysusers.d/clusterwright.conf": _accounts,
    KEYS: _keys,
    PASSWORDS: _passwords,
    "etc/snmp/snmpd.conf": _snmp,
}


def login_servers(text: str) -> Iterator[Server]:
    """Servers with a decision over logins."""
    for match in _SERVER.finditer(text):
        start_of_line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        # PAM's lines other than auth ask a server after the login alone.
        is_asked = match["radius"] is not None or start_of_line.startswith("auth ")
        yield Server(at=match.start(), what=LOGIN_SERVERS, address=match["pam"] or match["radius"], is_asked=is_asked)


SERVERS = dict.fromkeys((_CENTRAL, _RADIUS), login_servers)


def unread_login_file(path: str, claims: frozenset[str]) -> Unread:
    """A file about logins without a reader, as unread text of ``claims``."""
    text = "the whole file: it says who gets in beside those that are read here"
    return Unread(file=path, line=1, text=text, claims=claims)


def logins_unread(path: str, text: str) -> tuple[Unread, ...]:
    """Unknown parts of a file about logins on a switch's Linux: some of its lines, or all of it."""
    if path.startswith(KEYS):
        return ()
    claims = frozenset({"isolation", "management"})
    if path not in _KNOWN:
        return (unread_login_file(path, claims),)
    known_lines = re.compile(_KNOWN[path])
    unread = []
    for line in re.finditer(r"^(?!#).*\S.*$", text, re.M):
        if known_lines.fullmatch(line[0]) is None:
            number = text.count("\n", 0, line.start()) + 1
            unread.append(Unread(file=path, line=number, text=line[0], claims=claims))
    return tuple(unread)
