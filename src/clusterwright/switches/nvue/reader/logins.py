"""Logins on a switch with NVUE's objects: local accounts, their passwords and keys, and users of SNMP."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.facts.reader import Login
from clusterwright.packets.tokens import Unreadable
from clusterwright.switches.nvue.reader.objects import Object, begins
from clusterwright.switches.nvue.reader.releases import has_header, read_nvue_objects

LOCKED = ("", "*", "!")  # no password has these hashes; the empty one is reported among the openings
HIDDEN = "*"  # printed by NVUE in place of every password, of locked accounts too
_READING = frozenset({"nvue-monitor", "monitor"})


def logins(path: str, text: str) -> Iterator[Login]:
    """Every account with its password, each of its keys, and every user of SNMP. None of unreadable text."""
    try:
        root = read_nvue_objects(text)
    except Unreadable:
        return
    hidden = {user.line for _, user, _ in hidden_passwords(root, text)}
    for name, section in root.items("system", "aaa", "user"):
        yield Login(
            at=begins(text, section.line),
            name=name,
            has_password=section.text("hashed-password") not in LOCKED or bool(section.at("password").line),
            hides_password=section.line in hidden,
            is_admin=section.text("role", default="monitor") not in _READING,
        )
        for _, key in section.items("ssh", "authorized-key"):
            yield Login(begins(text, key.line), name, key=f"{key.text('type')} {key.text('key')}")
    for name, section in root.items("service", "snmp-server", "username"):
        yield Login(begins(text, section.line), name, is_snmp=True)


def hidden_passwords(root: Object, text: str) -> Iterator[tuple[str, Object, Object]]:
    """Accounts with hidden passwords in a file printed by NVUE: name, account and the text there."""
    if not has_header(text):
        return
    for name, user in root.items("system", "aaa", "user"):
        for field in ("password", "hashed-password"):
            if user.text(field) == HIDDEN:
                yield name, user, user.at(field)
