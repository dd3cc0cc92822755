"""Reading partitions.conf by the grammar of opensm's doc/partition-config.txt.

``[Name][=PKey][,flag[=value]]... : [GUID or keyword[=full|limited|both]],... ;`` A statement may span lines, ``#``
begins a comment, and the second colon-separated part is optional. Members without a membership get ``defmember``,
which is limited unless the statement says otherwise. Keywords are upper-case. opensm ignores a file that breaks this
grammar, and then makes everybody a full member.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

MEMBERSHIPS = frozenset({"full", "limited", "both"})
KEYWORDS = frozenset({"ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_VCAS", "ALL_ROUTERS", "SELF"})
DEFAULT_PKEY = 0x7FFF
PKEY_MASK = 0x7FFF  # the sixteenth bit of a P_Key says full membership and is no part of the number

_BARE_FLAGS = frozenset({"ipoib", "indx0"})
_VALUE_FLAGS = frozenset({"rate", "mtu", "sl", "scope", "q_key", "tclass", "flowlabel", "mgid"})
_NUMBER = re.compile(r"(?:0x[0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$")


class BadStatement(Exception):
    """A line refused by opensm."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class PartitionMember:
    """One member: a port GUID, or the keyword it is given by (``guid`` 0). ``membership`` as it takes effect."""

    guid: int
    keyword: str
    membership: str
    line: int


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: the partition's name, its P_Key (15 bits, None if opensm would choose one), and its members.

    ``flags`` are its flags besides ``defmember``, whose value is ``default``.
    """

    name: str
    pkey: int | None
    members: tuple[PartitionMember, ...]
    line: int
    flags: tuple[str, ...] = ()
    default: str = "limited"


@lru_cache(maxsize=2)
def parse_partitions(text: str) -> tuple[Statement, ...]:
    """The statements in order. Raises BadStatement at a line outside the grammar."""
    return tuple(_statement(parts, line) for parts, line in _statements(text))


def _statements(text: str) -> Iterator[tuple[list[tuple[str, int]], int]]:
    """Each statement as its words with their lines; ``:`` and ``,`` are words of their own."""
    words: list[tuple[str, int]] = []
    for number, line in enumerate(text.split("\n"), 1):
        for word in re.findall(r"[;:,]|[^;:,\s][^;:,]*", line.split("#", 1)[0]):
            if word != ";":
                words.append(("".join(word.split()), number))
            elif words:
                yield words, words[0][1]
                words = []
    if words:
        raise BadStatement(words[0][1], "the statement has no semicolon at its end.")


def _statement(words: list[tuple[str, int]], line: int) -> Statement:
    texts = [word for word, _ in words]
    split = texts.index(":") if ":" in texts else len(texts)
    name, pkey, default = "", None, "limited"
    flags: list[str] = []
    definition = [(word, number) for word, number in words[:split] if word != ","]
    for index, (word, number) in enumerate(definition):
        key, _, value = word.partition("=")
        lowered = key.lower()
        if lowered == "defmember":
            default = _membership(value, number)
        elif index == 0:
            name, pkey = key, _pkey(key, value, number)
        elif lowered in _BARE_FLAGS or (lowered in _VALUE_FLAGS and value):
            flags.append(word)
        else:
            raise BadStatement(number, f"opensm knows no flag {word!r}.")
    members = tuple(_member(word, number, default) for word, number in words[split + 1 :] if word not in {",", ":"})
    return Statement(name=name, pkey=pkey, members=members, line=line, flags=tuple(flags), default=default)


def _pkey(name: str, value: str, line: int) -> int | None:
    if not value:
        return DEFAULT_PKEY if name == "Default" else None
    if _NUMBER.match(value) is None:
        raise BadStatement(line, f"{value!r} is no P_Key.")
    return _number(value) & PKEY_MASK


def _number(text: str) -> int:
    """A number as strtoull reads it: with a leading zero it is octal."""
    is_octal = text.startswith("0") and text.isdecimal()
    return int(text, 8 if is_octal else 0)


def _membership(value: str, line: int) -> str:
    if value not in MEMBERSHIPS:
        raise BadStatement(line, f"membership is full, limited or both, not {value!r}.")
    return value


def _member(word: str, line: int, default: str) -> PartitionMember:
    key, _, value = word.partition("=")
    membership = _membership(value, line) if value else default
    if key in KEYWORDS:
        return PartitionMember(guid=0, keyword=key, membership=membership, line=line)
    if _NUMBER.match(key) is None:
        raise BadStatement(line, f"{key!r} is neither a GUID nor a keyword.")
    return PartitionMember(guid=_number(key), keyword="", membership=membership, line=line)
