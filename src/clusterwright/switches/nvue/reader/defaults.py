"""Cumulus Linux's own settings: objects of its first configuration, and values equal to none.

A running switch prints them (``nv config show``, /etc/nvue.d/startup.yaml) without their being in a file: Cumulus
Linux's manual, "Default Configuration" and "Role-Based Access Control"; exported files of NVIDIA/enterprise-ras. A
``*`` stands for any name, an object without a value for one with nothing below it. Accounts are none of them: they
admit logins.
"""

from __future__ import annotations

from clusterwright.switches.nvue.reader.objects import Object

_DEFAULTS = """
bridge domain * type=vlan-aware
interface * router adaptive-routing enable=disabled
interface * router adaptive-routing state=disabled
router adaptive-routing enable=disabled
router adaptive-routing state=disabled
system aaa class nvapply action=allow
system aaa class nvapply command-path / permission=all
system aaa class nvshow action=allow
system aaa class nvshow command-path / permission=ro
system aaa class sudo action=allow
system aaa class sudo command-path / permission=all
system aaa role nvue-admin class nvapply
system aaa role nvue-monitor class nvshow
system aaa role system-admin class nvapply
system aaa role system-admin class sudo
system api state=enabled
system config auto-save enable=enabled
system config auto-save state=enabled
system control-plane acl acl-default-dos inbound
system control-plane acl acl-default-whitelist inbound
system reboot mode=cold
system ssh-server state=enabled
system wjh channel forwarding trigger l2
system wjh channel forwarding trigger l3
system wjh channel forwarding trigger tunnel
system wjh enable=enabled
system wjh state=enabled
"""
_WORDS = {"on": "enabled", "off": "disabled", "enable": "enabled", "disable": "disabled"}
_ANY = "*"


def one_word(value: str) -> str:
    """The value, with a switch's state in the words of releases since 5.15."""
    return _WORDS.get(value, value)


def is_default(path: tuple[str, ...], value: str) -> bool:
    """Whether a value at a path, "" for an empty object, is the default."""
    word = one_word(value)
    return any(word == default and _fits(words, path) for words, default in _TABLE)


def is_all_default(path: tuple[str, ...], node: Object) -> bool:
    """Whether an object at a path and everything below it has default values."""
    if not node.below:
        return is_default(path, node.value)
    return all(is_all_default((*path, name), below) for name, below in node.below.items())


def _fits(words: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Whether a path has the names of a default, any name for ``*``."""
    if len(words) != len(path):
        return False
    return all(word in (_ANY, name) for word, name in zip(words, path, strict=True))


def _table() -> tuple[tuple[tuple[str, ...], str], ...]:
    rows = []
    for line in _DEFAULTS.strip().splitlines():
        path, _, value = line.partition("=")
        rows.append((tuple(path.split()), value))
    return tuple(rows)


_TABLE = _table()
