"""Quoting of text for each rendered format: a program of that format reads the same text back.

One function for each format; templates name them as filters. ``inventory/schema/strings.schema.json`` limits the texts
of a spec by kind, so no function here has to refuse one.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping

# Plain YAML words that every reader takes for text; YAML 1.1 has more exceptions than 1.2.
_YAML_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_./+=-]*")
_YAML_NOT_TEXT = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
# fstab(5): fields are separated by blanks, and a number sign begins a comment.
_FSTAB = str.maketrans({" ": "\\040", "\t": "\\011", "\n": "\\012", "\\": "\\134", "#": "\\043"})


def sh(text: str) -> str:
    """One word of a POSIX shell."""
    return shlex.quote(text)


def sh_double(text: str) -> str:
    """Text between the double quotes of a POSIX shell."""
    return re.sub(r'(["\\$`])', r"\\\1", text)


def systemd(text: str) -> str:
    """A setting of a systemd unit; a per cent sign would begin a specifier."""
    return text.replace("%", "%%")


def fstab(text: str) -> str:
    """A word in a line of the table of mounts; a blank inside would begin the next field."""
    return text.translate(_FSTAB)


def yaml_word(text: str) -> str:
    """A scalar of YAML, quoted if a reader could take it for something other than text."""
    is_plain = _YAML_WORD.fullmatch(text) is not None and text.lower() not in _YAML_NOT_TEXT
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def xml_comment(text: str) -> str:
    """Words in a comment of XML; two dashes would end it."""
    return re.sub(r"-(?=-)", "- ", text)


FILTERS: Mapping[str, Callable[[str], str]] = {
    function.__name__: function for function in (sh, sh_double, systemd, fstab, yaml_word, xml_comment)
}
