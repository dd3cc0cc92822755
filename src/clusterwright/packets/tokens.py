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


# Words of nft's own that stand where a name may: it then reads no name.
_RESERVED = re.compile(
    r"accept|add|and|arp|auto-merge|bridge|burst|bytes|chain|comment|constant|continue|counter|create|ct"
    r"|delete|describe|destroy|dnat|drop|dynamic|element|elements|ether|export|fib|flags|flow|flowtable"
    r"|flush|goto|gt|handle|hook|icmp|icmpv6|igmp|import|include|index|inet|insert|interval|ip|ip6|jump"
    r"|last|le|level|limit|list|log|lt|map|mark|masquerade|meta|meter|monitor|ne|netdev|not|notrack|numgen"
    r"|or|osf|over|packets|performance|policy|position|prefix|priority|queue|quota|redirect|reject|rename"
    r"|replace|reset|return|rt|ruleset|secmark|sctp|set|size|snat|socket|synproxy|table|tcp|th|time|timeout"
    r"|tproxy|type|udp|udplite|until|vmap|with|xor|xt"
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
    tokens: list[Token] = []
    at, line = 0, 1
    while at < len(text):
        match = _WORD.match(text, at)
        if match is None:
            raise Unreadable(line, f"{text[at]!r} cannot be read")
        value = match[0]
        if match.lastgroup == "text":
            tokens.append(Token(value[1:-1], line, quoted=True))
        elif match.lastgroup != "skip":
            tokens.append(Token(value, line))
        line += value.count("\n")
        at = match.end()
    return tokens


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
        """The text of a word to come, "" at the end. A quoted one keeps its quotes: it is none of nft's own words."""
        at = self._at + ahead
        if at >= len(self._tokens):
            return ""
        word = self._tokens[at]
        return f'"{word.text}"' if word.quoted else word.text

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
        token, line = self.peek(), self.line
        self.next()
        if token not in texts:
            raise Unreadable(line, f"{shown(token)} stands where {' or '.join(map(shown, texts))} should")
        return token

    def end(self) -> None:
        """Past the end of a statement, and the empty ones behind it; one at the file's end needs none."""
        if self.peek():
            self.expect("\n", ";")
        self.skip("\n", ";")

    def quoted(self, most: int) -> None:
        """Past a text in quotes, of at most so many bytes."""
        word = self.next()
        if not word.quoted or len(word.text.encode()) > most:
            raise Unreadable(word.line, f"{shown(word.text)} is no text in quotes of at most {most} bytes")

    def identifier(self) -> str:
        """The name of a table, a chain or a set."""
        word = self.next()
        if word.quoted or _RESERVED.fullmatch(word.text) or not re.fullmatch(r"[A-Za-z][\w./-]*", word.text, re.A):
            raise Unreadable(word.line, f"{shown(word.text)} is no name")
        return word.text

    def number(self) -> int:
        """The next word as a number."""
        word = self.next()
        if not re.fullmatch(r"0|[1-9]\d*", word.text, re.A):  # with a zero before it nft reads an octal one
            raise Unreadable(word.line, f"{shown(word.text)} is no number")
        return int(word.text)


def shown(text: str) -> str:
    """A word for people."""
    return "the end of the line" if text == "\n" else f'"{text}"'
