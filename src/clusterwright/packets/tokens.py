"""Splitting an nftables file into words, each with its line."""

from __future__ import annotations

import re
from typing import NamedTuple

_WORD = re.compile(
    r"""(?P<skip>[ \t]+|\#[^\n]*|\\\n)
      | (?P<text>"[^"\n]*")
      | (?P<sign>\n|==|!=|<=|>=|[{}();,=<>&|])
      | (?P<word>[^\s{}();,=<>&|!"\#]+)""",
    re.X,
)


class Unreadable(Exception):
    """Text whose meaning is not known here, at a line; nothing is ever passed over."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class Token(NamedTuple):
    """A word, a sign or a quoted text; ``quoted`` texts come without their quotes."""

    text: str
    line: int
    quoted: bool = False


def tokens_of(text: str) -> list[Token]:
    """The words of a file; the end of a line is a word of its own. Raises Unreadable."""
    found: list[Token] = []
    at, line = 0, 1
    while at < len(text):
        match = _WORD.match(text, at)
        if match is None:
            raise Unreadable(line, f"{text[at]!r} cannot be read")
        value = match[0]
        if match.lastgroup == "text":
            found.append(Token(value[1:-1], line, quoted=True))
        elif match.lastgroup != "skip":
            found.append(Token(value, line))
        line += value.count("\n")
        at = match.end()
    return found


class Reader:
    """Walks over words. Every method raises Unreadable at the line where something else stands than was asked for."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def line(self) -> int:
        """The line of the next word."""
        return self._tokens[min(self._at, len(self._tokens) - 1)].line if self._tokens else 1

    def peek(self, ahead: int = 0) -> str:
        """The text of a word to come, "" at the end."""
        at = self._at + ahead
        return self._tokens[at].text if at < len(self._tokens) else ""

    def next(self) -> Token:
        """The next word."""
        if self._at >= len(self._tokens):
            raise Unreadable(self.line, "the file ends in the middle of a statement")
        self._at += 1
        return self._tokens[self._at - 1]

    def skip(self, *texts: str) -> None:
        """Passes over any number of these words."""
        while self.peek() in texts and self.peek():
            self._at += 1

    def take(self, text: str) -> bool:
        """True, and past it, when the next word is this one."""
        if self.peek() != text:
            return False
        self._at += 1
        return True

    def expect(self, *texts: str) -> str:
        """The next word, which must be one of these."""
        word = self.next()
        if word.text not in texts:
            raise Unreadable(word.line, f"{shown(word.text)} stands where {' or '.join(map(shown, texts))} should")
        return word.text

    def number(self) -> int:
        """The next word as a number."""
        word = self.next()
        if not re.fullmatch(r"-?\d+|0x[0-9a-fA-F]+", word.text):
            raise Unreadable(word.line, f"{shown(word.text)} is no number")
        return int(word.text, 0)


def shown(text: str) -> str:
    """A word for people."""
    return "the end of the line" if text == "\n" else f'"{text}"'
