"""An EOS configuration as text: what is sent line by line, and what may be shown of it."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

_SECRET = re.compile(r"^(.*?\b(?:secret|password|auth|priv|community|key [0-9]|key))\s+\S.*$")
_PUBLIC = re.compile(r"\bssh-key\b|^.\s*(?:aaa|authentication|management|neighbor \S+ password$)")


class Command(NamedTuple):
    """What is sent, and the line of the file that it stands for."""

    text: str
    line: int


def commands_of(text: str) -> list[Command]:
    """The commands that enter a configuration.

    Indentation means nothing to the switch, which tries a line in the current mode first and then in those around it:
    ``exit`` closes each mode, so that a line is never taken by the one before. The last line, ``end``, is left out: in
    the middle of a session it would leave it.
    """
    found: list[Command] = []
    modes = [0]
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words or words.startswith("!") or line == "end":
            continue
        depth = len(line) - len(line.lstrip())
        while depth < modes[-1]:
            modes.pop()
            found.append(Command("exit", number))
        if depth > modes[-1]:
            modes.append(depth)
        found.append(Command(line.rstrip(), number))
    found.extend(Command("exit", 0) for _ in modes[1:])
    return found


def read_secret(path: str) -> str:
    """The one line of a file. Raises OSError when it is missing, and when others than its owner can read it."""
    if os.stat(path).st_mode & 0o077:
        raise PermissionError(f"{path} can be read by others than its owner; a file with a secret needs mode 0600")
    with open(path) as stream:
        return stream.read().strip()


def host_name(text: str) -> str:
    """The host name that a configuration sets; "" when it sets none."""
    found = re.search(r"^hostname (\S+)$", text, re.MULTILINE)
    return found.group(1) if found else ""


def settled(text: str) -> str:
    """A running configuration without comments, which carry the time and the command that asked."""
    return "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("!"))


def without_secrets(diff: str) -> str:
    """A diff as people and logs may see it: the line stays, what follows a secret's keyword goes.

    So does the name of the session, which is another one each time: the same difference reads the same.
    """
    shown = diff.splitlines()
    if shown and shown[0].startswith("--- "):
        shown[:2] = ["--- running", "+++ wanted"]
    return "".join(f"{_shown(line)}\n" for line in shown)


def _shown(line: str) -> str:
    if _PUBLIC.search(line):
        return line
    return _SECRET.sub(r"\1 <removed>", line)
