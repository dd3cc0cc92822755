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


# Keywords of nft, which it does not read as names.
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
    """Text of unknown meaning at a line; no reader skips such text."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class Token(NamedTuple):
    """A word, a sign or a quoted string; ``text`` has no quotes."""

    text: str
    line: int
    quoted: bool = False


def tokens_of(text: str) -> list[Token]:
    """The tokens of a file; the end of a line is one too. Raises Unreadable."""
    tokens: list[Token] = []
    offset, line = 0, 1
    while offset < len(text):
        match = _WORD.match(text, offset)
        if match is None:
            raise Unreadable(line, f"{text[offset]!r} cannot be read")
        value = match[0]
        if match.lastgroup == "text":
            tokens.append(Token(value[1:-1], line, quoted=True))
        elif match.lastgroup != "skip":
            tokens.append(Token(value, line))
        line += value.count("\n")
        offset = match.end()
    return tokens


class Reader:
    """Reads tokens in order. Methods raise Unreadable at the line of an unexpected token."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._index = 0

    @property
    def line(self) -> int:
        """The line of the next word."""
        if not self._tokens:
            return 1
        return self._tokens[min(self._index, len(self._tokens) - 1)].line

    def peek(self, ahead: int = 0) -> str:
        """The text of a word ahead, "" at the end. A quoted one keeps its quotes: it is no keyword of nft."""
        index = self._index + ahead
        if index >= len(self._tokens):
            return ""
        word = self._tokens[index]
        return f'"{word.text}"' if word.quoted else word.text

    def next(self) -> Token:
        """The next word."""
        if self._index >= len(self._tokens):
            raise Unreadable(self.line, "the file ends in the middle of a statement")
        self._index += 1
        return self._tokens[self._index - 1]

    def skip(self, *texts: str) -> None:
        """Skip any number of these words."""
        while self.peek() in texts and self.peek():
            self._index += 1

    def take(self, text: str) -> bool:
        """Read the next word if it is ``text``; True in this case."""
        if self.peek() != text:
            return False
        self._index += 1
        return True

    def expect(self, *texts: str) -> str:
        """Read one of these words."""
        token, line = self.peek(), self.line
        self.next()
        if token not in texts:
            raise Unreadable(line, f"{shown(token)} stands where {' or '.join(map(shown, texts))} should")
        return token

    def end(self) -> None:
        """Read the end of a statement and empty ones after it; the end of the file ends a statement too."""
        if self.peek():
            self.expect("\n", ";")
        self.skip("\n", ";")

    def quoted(self, max_bytes: int) -> None:
        """Read a quoted string of at most ``max_bytes`` bytes."""
        word = self.next()
        if not word.quoted or len(word.text.encode()) > max_bytes:
            raise Unreadable(word.line, f"{shown(word.text)} is no text in quotes of at most {max_bytes} bytes")

    def identifier(self) -> str:
        """The name of a table, a chain or a set."""
        word = self.next()
        is_reserved = word.quoted or _RESERVED.fullmatch(word.text)
        if is_reserved or not re.fullmatch(r"[A-Za-z][\w./-]*", word.text, re.A):
            raise Unreadable(word.line, f"{shown(word.text)} is no name")
        return word.text

    def number(self) -> int:
        """The next word as a number."""
        word = self.next()
        if not re.fullmatch(r"0|[1-9]\d*", word.text, re.A):  # nft reads a number with a leading zero as octal
            raise Unreadable(word.line, f"{shown(word.text)} is no number")
        return int(word.text)


def shown(text: str) -> str:
    """A word as messages quote it."""
    return "the end of the line" if text == "\n" else f'"{text}"'
