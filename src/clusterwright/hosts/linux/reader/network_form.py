"""A .network file as a form with words: those of many NICs differ in addresses and in where their cables lead alone.

What a file says is then what its form says, with words in the place of blanks. Who takes words as they are, and asks of
them no more than a blank tells, finds it once for all files of a form; what is wrong with a form is looked for in the
file itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_MARK = "\0"
# Words hold no end of a line and no backslash. What leads everywhere is none, so that a form tells default routes.
_WORD = re.compile(
    r"(\n(?:Description|Address|From|Destination|Gateway|PreferredSource|MultiPathRoute)=)"
    r"((?<=\nDescription=)[^\n\\]*(?=\n)|[0-9a-f:.]+(?=[\n@]|/[1-9][0-9]*\n))"
)
# What a word is, by the end of its blank: a description, an address of IPv6 or one of IPv4.
_KINDS = {"": r"[^\n\\]*+", ":": "[0-9a-f.]*+:[0-9a-f:.]*+", ".": "[0-9a-f.]++"}
_BLANK = re.compile(rf"{_MARK}(\d+)([:.]?)")


class NetworkText(NamedTuple):
    """A text as a form with its words. Blanks are equal where words are, and have a colon where these have one."""

    form: str
    words: Sequence[str]


class TextInForm(NamedTuple):
    """A text of a form: the word that it begins with, and all behind that; -1 where it begins with none."""

    at: int
    rest: str

    def text(self, words: Sequence[str]) -> str:
        """The same in a file of that form."""
        return self.rest if self.at < 0 else words[self.at] + self.rest


def text_in_form(form: str) -> TextInForm:
    """Where a text of a form stands that has a blank nowhere but at its beginning."""
    found = _BLANK.match(form)
    return TextInForm(-1, form) if found is None else TextInForm(int(found[1]), form[found.end() :])


class _NetworkForm(NamedTuple):
    """A ``text`` with blanks, and, where several files have it, what matches those with their words as its groups."""

    text: str
    pattern: re.Pattern[str] | None


@lru_cache(maxsize=1 << 15)
def network_text(text: str) -> NetworkText:
    """The form of a text; without words where it has none, or could itself be taken for a form."""
    last = _last(text[: text.find("\n[Network]")])
    found = last[0].pattern.fullmatch(text) if last[0].pattern is not None else None
    if found is not None and len(set(found.groups())) == len(found.groups()):  # else some are like others
        return NetworkText(last[0].text, found.groups())
    pieces = _WORD.split(text)
    kinds = [_kind(*each) for each in zip(pieces[1::3], pieces[2::3], strict=True)]
    numbers: dict[tuple[str, str], int] = {}
    blanks = [
        f"{_MARK}{numbers.setdefault(each, len(numbers))}{each[0]}" for each in zip(kinds, pieces[2::3], strict=True)
    ]
    if _MARK in text or not blanks:
        return NetworkText(text, ())
    pieces[2::3] = blanks
    form = "".join(pieces)
    last[0] = _NetworkForm(form, _pattern(form) if form == last[0].text else None)
    return NetworkText(form, [word for _, word in numbers])


@lru_cache(maxsize=1024)
def _last(begin: str) -> list[_NetworkForm]:
    """The form of the last file that began so."""
    return [_NetworkForm("", None)]


def _kind(key: str, word: str) -> str:
    return "" if key == "\nDescription=" else ":" if ":" in word else "."


def _pattern(form: str) -> re.Pattern[str]:
    """What matches the texts of a form, and finds just those words that would be found without knowing it: whether a
    line holds one, and where it ends, is for what stands around it to say, and for the kind of word that it is.
    """
    first, *others = _BLANK.split(form)
    written, named = re.escape(first), set[str]()
    for number, kind, piece in zip(others[::3], others[1::3], others[2::3], strict=True):
        written += f"(?P=w{number})" if number in named else f"(?P<w{number}>{_KINDS[kind]})"
        written += re.escape(piece)
        named.add(number)
    return re.compile(written)
