"""Packet filters in memory: tables, chains and rules, each with its line.

The terms are those of nftables; an access list of a switch is a table of one chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.packets.boxes import Box
from clusterwright.packets.ranges import Ranges, values

ACCEPT, DROP, RETURN, JUMP, GOTO, NONE = "accept", "drop", "return", "jump", "goto", ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; each entry of a verdict map is a rule of the map's line."""

    line: int
    matches: tuple[Box, ...]
    """Union of boxes."""
    verdict: str
    target: str = ""
    """Chain of a jump or goto."""
    limited: bool = False
    """Whether a rate limit makes the rule match only some of its packets."""
    name: str = ""
    """Name of an entry, where one line has several."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A base chain, or a chain reached by jumps."""

    name: str
    line: int
    rules: tuple[Rule, ...]
    hook: str = ""
    """Empty for a chain without a hook, reached only by jumps."""
    priority: int = 0
    policy: str = ACCEPT
    """Verdict on packets at the end of a base chain."""
    policy_line: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A table; ``family`` is ``inet``, ``ip`` or ``ip6``."""

    family: str
    name: str
    line: int
    chains: Mapping[str, Chain]


def one_chain(hook: str, rules: tuple[Rule, ...], line: int, policy: str = DROP) -> Ruleset:
    """A filter of one list of rules, with ``policy`` as the verdict on all other packets."""
    chain = Chain(name="", line=line, rules=rules, hook=hook, policy=policy, policy_line=line)
    table = Table(family="inet", name="", line=line, chains={chain.name: chain})
    return Ruleset((table,), flushes=True)


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The rules of a file."""

    tables: tuple[Table, ...]
    flushes: bool
    """Whether the file first clears all rules loaded before."""
    emptied: frozenset[tuple[str, str]] = frozenset()
    """Family and name of each table deleted before it is created anew."""

    @property
    def replaces_itself(self) -> bool:
        """Whether loading the file leaves no older rule in its tables."""
        return self.flushes or all((table.family, table.name) in self.emptied for table in self.tables)


class InterfaceNumbers:
    """Numbers of the interfaces named in filters; every other interface has another number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"lo": 0}

    def of(self, *names: str) -> Ranges:
        """The numbers of these interfaces. Raises ValueError for a pattern, whose meaning depends on the machine."""
        for name in names:
            if name.endswith("*"):
                raise ValueError(f'"{name}" matches interfaces that no file names')
            self._numbers.setdefault(name, len(self._numbers))
        return values(*(self._numbers[name] for name in names))

    def name(self, number: int) -> str:
        """The name of the interface with this number."""
        for name, number_of_name in self._numbers.items():
            if number_of_name == number:
                return name
        return "another interface"
