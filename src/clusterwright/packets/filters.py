"""Packet filters, once they are read: tables, chains and rules, with the line of each.

The words are those of nftables; an access list of a switch is a table of one chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.packets.boxes import Box
from clusterwright.packets.ranges import Ranges, values

ACCEPT, DROP, RETURN, JUMP, GOTO, NONE = "accept", "drop", "return", "jump", "goto", ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: the packets it matches (a union of boxes) and its verdict on them.

    ``target`` is the chain of a jump or goto. A rule whose rate is ``limited`` matches only sometimes. The entries of
    a verdict map are rules of one line. ``name`` is the entry's own, where several stand on one line.
    """

    line: int
    matches: tuple[Box, ...]
    verdict: str
    target: str = ""
    limited: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain; ``hook`` is "" for one that is only jumped to, and ``policy`` is the verdict on packets at its end."""

    name: str
    line: int
    rules: tuple[Rule, ...]
    hook: str = ""
    priority: int = 0
    policy: str = ACCEPT
    policy_line: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A table; ``family`` is ``inet``, ``ip`` or ``ip6``."""

    family: str
    name: str
    line: int
    chains: Mapping[str, Chain]


def one_chain(hook: str, rules: tuple[Rule, ...], line: int, policy: str = DROP) -> Ruleset:
    """A filter of one list of rules, with the verdict on packets that none of them matches."""
    return Ruleset(
        (
            Table(
                family="inet",
                name="",
                line=line,
                chains={
                    "": Chain(name="", line=line, rules=rules, hook=hook, priority=0, policy=policy, policy_line=line)
                },
            ),
        ),
        flushes=True,
    )


@dataclass(frozen=True, slots=True)
class Ruleset:
    """A whole file; ``flushes`` is true for one that clears the rules loaded before."""

    tables: tuple[Table, ...]
    flushes: bool
    emptied: frozenset[tuple[str, str]] = frozenset()
    """Family and name of each table that it deletes before it makes it anew."""

    @property
    def replaces_itself(self) -> bool:
        """Whether nothing stays of the same tables as they were loaded before."""
        return self.flushes or all((table.family, table.name) in self.emptied for table in self.tables)


class InterfaceNumbers:
    """Numbers of interfaces in packets, by name; an interface that nothing names has none of these."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"lo": 0}

    def of(self, *names: str) -> Ranges:
        """The set of these interfaces. Raises ValueError for a pattern, whose meaning depends on the machine."""
        for name in names:
            if name.endswith("*"):
                raise ValueError(f'"{name}" matches interfaces that no file names')
            self._numbers.setdefault(name, len(self._numbers))
        return values(*(self._numbers[name] for name in names))

    def name(self, number: int) -> str:
        """The interface with this number."""
        return next(
            (name for name, known_number in self._numbers.items() if known_number == number), "another interface"
        )
