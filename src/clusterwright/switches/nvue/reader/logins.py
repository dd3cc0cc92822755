"""Who may log in to a switch with NVUE's objects: local accounts, what opens them, and users of SNMP."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.facts.reader import Login
from clusterwright.packets.tokens import Unreadable
from clusterwright.switches.nvue.reader.objects import begins
from clusterwright.switches.nvue.reader.releases import read_nvue_objects

LOCKED = ("", "*", "!")  # a password that none is; an empty one is told among the openings
_READING = frozenset({"nvue-monitor", "monitor"})


def logins(path: str, text: str) -> Iterator[Login]:
    """Every account with its password, each of its keys, and every user of SNMP. Nothing of what does not read."""
    try:
        root = read_nvue_objects(text)
    except Unreadable:
        return
    for name, own in root.items("system", "aaa", "user"):
        has_password = own.text("hashed-password") not in LOCKED or bool(own.at("password").line)
        is_admin = own.text("role", default="monitor") not in _READING
        yield Login(begins(text, own.line), name, has_password=has_password, is_admin=is_admin)
        for _, key in own.items("ssh", "authorized-key"):
            yield Login(begins(text, key.line), name, key=f"{key.text('type')} {key.text('key')}")
    for name, own in root.items("service", "snmp-server", "username"):
        yield Login(begins(text, own.line), name, is_snmp=True)
