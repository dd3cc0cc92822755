"""CW173 and CW174: added lines of EOS that would not stay what they look like, and accounts that anybody opens.

EOS reads a configuration as if it were typed: a word may be cut short, capital letters mean the same as small ones,
indentation means nothing, and a command that a section does not know is taken by the one around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule

# What takes the lines behind it as text, up to one that says EOF (EOS user manual, "Managing display attributes",
# "Event handler", "Routing control functions", "Comments").
_TEXT = ("banner", "comment", "code", "eof")
# What leaves the section that it stands in, or the configuration, or is no configuration at all.
_LEAVES = (
    *("abort", "bash", "commit", "configure", "copy", "delete", "end", "erase", "exit", "install", "quit"),
    *("reload", "rename", "rollback", "run", "write"),
)
# What opens a section, or stands at the margin alone. In another section EOS takes it for what it is at the margin.
_MARGIN = (
    *("aaa", "banner", "daemon", "enable", "event-handler", "hostname", "interface", "policy-map", "radius-server"),
    *("route-map", "router", "service", "tacacs-server", "username"),
)
_WHOLE = frozenset({"host", "route"})  # commands of sections that look like the beginning of another
# What whole sections of the rendered configuration begin with.
_SECTIONS = (
    *("aaa", "hostname", "interface", "lldp", "load-balance", "mac", "management", "ntp", "qos", "route-map", "router"),
    *("priority-flow-control", "service", "snmp-server", "username", "vlan", "vrf"),
)
_LISTS = ("access-list", "community-list", "name-server", "prefix-list", "route", "routing", "unicast-routing")
_OPTIONS = ("privilege", "role", "shell")  # of an account, each with a value behind it
_LEAST = 2  # letters: EOS refuses what it cannot tell apart, and no two commands share a letter alone


def _means(word: str, command: str) -> bool:
    """Whether EOS may take ``word`` for ``command``."""
    return command.startswith(word) and len(word) >= min(_LEAST, len(command))


def _any(word: str, commands: tuple[str, ...]) -> str | None:
    return next((command for command in commands if _means(word, command)), None)


@rule("CW173", Severity.ERROR)
def misleading_line(subject: Subject) -> Iterator[Problem]:
    """Lines that EOS reads as something else than a command in the section that they stand in."""
    for item in subject.spec.extra_config:
        for at, wrong in misleading(item.lines):
            mend = "Leave it out, or write it as `show running-config` shows it."
            yield Problem((*item.path, "lines", at), wrong, mend)


def misleading(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Those of the lines of one entry that EOS reads as something else, by number, and as what."""
    below = ""
    for at, line in enumerate(lines):
        if not line.startswith(" "):
            below = line
        wrong = _misleading(line, below)
        if wrong is not None:
            yield at, wrong


def _misleading(line: str, below: str) -> str | None:
    """What is wrong with a line of the section that begins with the line ``below``; None when it is sound."""
    words = line.lower().split()
    first, is_indented = words[0], line.startswith(" ")
    if is_indented and below.startswith("!"):
        return "No section begins with `!`; EOS would read this line somewhere else."
    if first.startswith("!"):
        return None if not first.startswith("!!") else "EOS joins a comment of two marks to the line behind it."
    text, leaves = _any(first, _TEXT), _any(first, _LEAVES)
    margin = None if first in _WHOLE else _any(first, _MARGIN)
    if text is not None or _is_script(words):
        return f"EOS would take the lines behind `{line.strip()}` for text, up to one that says EOF."
    if leaves is not None:
        return f"`{leaves}` is no part of a configuration: EOS leaves the section, or does it at once."
    if _means(first, "default") and len(first) > len("de"):
        return "`default` takes back what is rendered, and the file still shows it."
    if first == "no" and _is_section(words[1:]):
        return f"`{line.strip()}` takes back what is rendered, and the file still shows it."
    if margin is not None and margin != first:
        return f"`{words[0]}` is short for `{margin}`, and a section is joined by its whole name."
    if margin is not None and is_indented:
        return f"EOS takes `{margin}` for what it is at the margin, wherever it stands."
    return None


def _is_script(words: list[str]) -> bool:
    """``action bash`` alone begins a script; with a command behind it, it is one line."""
    return len(words) == 2 and _means(words[0], "action") and _means(words[1], "bash")


def _is_section(words: list[str]) -> bool:
    if not words:
        return True
    if words[0] in {"ip", "ipv6"} and len(words) > 1:
        return _any(words[1], _LISTS) is not None
    # `no aaa root` is the one that is rendered itself.
    return _any(words[0], _SECTIONS) is not None and words != ["aaa", "root"]


@rule("CW174", Severity.ERROR)
def open_account(subject: Subject) -> Iterator[Problem]:
    """Accounts of `extra_config` that nothing guards."""
    for item in subject.spec.extra_config:
        for at, wrong in opens(item.lines):
            mend = "Name the operator under `site.operators`, or give a `secret` with `<secret NAME>`."
            yield Problem((*item.path, "lines", at), wrong, mend)


def opens(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Those of the lines of one entry that let in without a password, by number, and how."""
    for at, line in enumerate(lines):
        wrong = _open(line.lower().split())
        if wrong is not None:
            yield at, wrong


def _open(words: list[str]) -> str | None:
    first, rest = words[0], words[1:]
    if any(len(word) > len("no") and _means(word, "nopassword") for word in rest):
        return "It opens without a password."
    if _means(first, "username") and len(rest) > 1 and not _is_guarded(rest[1:]):
        return f"The account {rest[0]} has no password."
    if _means(first, "aaa") and "none" in rest[1:] and _any(rest[0], ("authentication", "authorization")):
        return "The method `none` lets in whoever asks."
    empty = any(_means(word, "empty-passwords") and len(word) > len("em") for word in words)
    return "It lets in accounts without a password." if empty and not words[-1].startswith("de") else None


def _is_guarded(words: list[str]) -> bool:
    """Whether the words behind the name of an account give it a password or a key; a role may be called `secret`."""
    at = 0
    while at < len(words) and _any(words[at], _OPTIONS):
        at += 2
    return at + 1 < len(words) and _any(words[at], ("secret", "ssh-key", "sshkey")) is not None
