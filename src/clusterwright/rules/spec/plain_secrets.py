"""CW555: secrets in the spec itself, readable to everyone with access to the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from clusterwright.finding import Severity
from clusterwright.placeholder import LIKE_ONE, MARK
from clusterwright.rules.isolation.keys import secrets_named
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.text.document import Path

# EOS commands with a secret. Forms 7 and 8a are reversible; 5 and sha512 are hashes, open to guessing.
_FORM = r"(?:(?:0|5|7|8a|sha512) )?"
_LINES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^neighbor \S+ password (?!shared-secret ){_FORM}(\S+)",
        rf"^(?:username|enable)\b.*\b(?:secret|password) {_FORM}(\S+)",
        rf"^(?:tacacs|radius)-server\b.*\bkey {_FORM}(\S+)",
        r"^snmp-server community (\S+)",
        r"^snmp-server user\b.*\bauth \S+ (\S+)",
        r"^snmp-server user\b.*\bpriv \S+ (\S+)",
        rf"^key [0-9a-fA-F]+ {_FORM}(\S+)",
        r"^secret \S+ (?:0|7|8a) (\S+)",
        rf"^ntp authentication-key \d+ \S+ {_FORM}(\S+)",
    )
)
_KEYS = re.compile(r"pass(?:word|key|phrase)|secret|community|private_?key", re.IGNORECASE)
# Names are lower case; so is hexadecimal. Sixteen digits of it are a key, or a password in EOS's form.
_LOOKS_LIKE_A_VALUE = re.compile(r"[a-f][0-9a-f]{15,}")
_PLACEHOLDERS = re.compile(LIKE_ONE)
_HINT = "Name it under `secrets`, write `<secret NAME>` in its place, and choose another value: this one is known."
_HINT_URL = "Remove it: every user of a node can read the address. Put a server that needs one behind a local mirror."


@rule("CW555", Severity.ERROR)
def plain_secrets(subject: Subject) -> Iterator[Problem]:
    """Secrets in added configuration, and values in place of a name."""
    for item in subject.spec.extra_config:
        for index, line in enumerate(item.lines):
            if _has_secret(line):
                message = f"Line {index + 1} of this configuration has a secret in clear text, or in a reversible form."
                yield Problem((*item.path, "lines", index), message, _HINT)
        for path in _plain_entries(item.merge, (*item.path, "merge")):
            yield Problem(path, f'The value of "{path[-1]}" is a secret in plain text.', _HINT, key=True)
    for string in subject.strings:
        if string.kind == "url" and "@" in urlsplit(string.value).netloc:
            yield Problem(string.path, "This address has a user or a password in it.", _HINT_URL)
    for name, path in secrets_named(subject.spec):
        if _LOOKS_LIKE_A_VALUE.fullmatch(name):
            yield Problem(path, "This looks like a secret itself; the name of one belongs here.", _HINT)


def _has_secret(line: str) -> bool:
    # A placeholder such as `<secret NAME as FORM>` counts as one word.
    shown = _PLACEHOLDERS.sub(f"{MARK}>", " ".join(line.split()))
    for pattern in _LINES:
        match = pattern.match(shown)
        if match is not None and not match[1].startswith(MARK):
            return True
    return False


def _plain_entries(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, Mapping):
        for key, below in value.items():
            if isinstance(below, str) and _KEYS.search(key) and not below.startswith(MARK):
                yield (*path, key)
            yield from _plain_entries(below, (*path, key))
    elif isinstance(value, list | tuple):
        for index, below in enumerate(value):
            yield from _plain_entries(below, (*path, index))
