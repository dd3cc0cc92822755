"""A text in the words of each format that is rendered: what a program of that format reads back is the text.

One function for each format; templates name them as filters. What a text of a spec may hold at all is said by its kind
in ``inventory/schema/strings.schema.json``, so no function here has to refuse anything.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping

# Plain YAML words that no reader takes for anything but text, of which YAML 1.1 has more exceptions than 1.2.
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
    """A setting of a systemd unit, in which a per cent sign would begin a specifier."""
    return text.replace("%", "%%")


def fstab(text: str) -> str:
    """A word as the file of mounts has it: a blank inside would begin the next field."""
    return text.translate(_FSTAB)


def yaml_word(text: str) -> str:
    """A scalar of YAML, in quotes only where a reader could take it for something else than text."""
    is_plain = _YAML_WORD.fullmatch(text) is not None and text.lower() not in _YAML_NOT_TEXT
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def xml_comment(text: str) -> str:
    """Words in a comment of XML, in which two dashes would end it."""
    return re.sub(r"-(?=-)", "- ", text)


FILTERS: Mapping[str, Callable[[str], str]] = {
    function.__name__: function for function in (sh, sh_double, systemd, fstab, yaml_word, xml_comment)
}
