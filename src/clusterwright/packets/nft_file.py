"""Reading an nftables file: the statements rendered by this project and those printed by ``nft list ruleset``.

Every other statement is refused with its line, as a skipped one might accept packets.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, pairwise
from typing import NamedTuple

from clusterwright.packets.boxes import WHOLE, Box, common_boxes
from clusterwright.packets.filters import (
    ACCEPT,
    DROP,
    GOTO,
    JUMP,
    NONE,
    RETURN,
    Chain,
    InterfaceNumbers,
    Rule,
    Ruleset,
    Table,
)
from clusterwright.packets.nft_match import MatchReader, Sets
from clusterwright.packets.nft_statement import comment, counted, rejected, statement
from clusterwright.packets.ranges import Interval, Ranges
from clusterwright.packets.tokens import Reader, Unreadable, shown, tokens_of

# nft(8), "Standard priority names"
PRIORITIES = {"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100}
HOOKS = frozenset({"input", "forward", "output", "prerouting", "postrouting"})
_SET_TYPES = {
    "ipv4_addr": ("src4",),
    "ipv6_addr": ("src6",),
    "inet_service": ("dport",),
    "inet_proto": ("proto",),
    "ifname": ("iif",),
}
_VERDICTS = frozenset({ACCEPT, DROP, RETURN, "continue", JUMP, GOTO, "reject"})
_SET_PARTS = frozenset({"type", "flags", "comment", "elements", "auto-merge", "counter"})
_END = frozenset({"\n", ";", "}"})
_CONNECTION_TRACKING = -200  # NF_IP_PRI_CONNTRACK: before it no packet has a state


class _SetElement(NamedTuple):
    """An element of a set or map; ``verdict`` and ``target`` are empty in a set."""

    values: tuple[Ranges, ...]
    verdict: str
    target: str


def read_nft(text: str, interfaces: InterfaceNumbers) -> Ruleset:
    """The rule set of a file. Raises Unreadable."""
    return _FileReader(Reader(tokens_of(text)), interfaces).file()


def _limited(line: int, rules: list[Rule]) -> list[Rule]:
    """The rules with a rate limit. Raises Unreadable for a jump."""
    if any(rule.verdict in {JUMP, GOTO, RETURN} for rule in rules):
        raise Unreadable(line, "what a limited rate decides about a jump is not known here")
    return [replace(rule, limited=True) for rule in rules]


def _must_load(line: int, name: str, kinds: list[str], words: set[str], spread: str) -> None:
    """Raise Unreadable for a set without a type, or with the range ``spread`` and no flag ``interval``."""
    if not kinds:
        raise Unreadable(line, f"{shown(name)} has no type: nft loads none of the file")
    if spread and "interval" not in words:
        raise Unreadable(line, f"{shown(name)} has {spread} and no flag interval: nft loads none of the file")


def _must_not_overlap(line: int, name: str, entries: list[_SetElement], *, merges: bool, is_map: bool) -> None:
    """Raise Unreadable for overlapping elements; a map may not have equal ones either.

    ``merges`` is the flag ``auto-merge`` of a set of single values, which makes nft join them.
    """
    intervals: list[Interval] = []
    concatenations = []
    for entry in entries:
        if len(entry.values) == 1:
            intervals += entry.values[0].bounds
        else:
            concatenations.append(entry.values)
    overlap = Unreadable(line, f"elements of {shown(name)} overlap: nft loads none of the file")
    for interval, following in pairwise(sorted(intervals)):
        is_overlapping = following[0] <= interval[1]
        is_allowed = not is_map and (merges or following == interval)
        if is_overlapping and not is_allowed:
            raise overlap
    for values, other_values in combinations(concatenations, 2):
        if values == other_values and not is_map:
            continue
        if all(a & b for a, b in zip(values, other_values, strict=True)):
            raise overlap


class _FileReader:
    """Reads one file, table by table; ``sets`` and ``maps`` are those of the current table."""

    def __init__(self, reader: Reader, interfaces: InterfaceNumbers) -> None:
        self.reader = reader
        self.interfaces = interfaces
        self.sets: Sets = {}
        self.maps: dict[str, tuple[list[str], list[_SetElement]]] = {}

    def file(self) -> Ruleset:
        tables: list[Table] = []
        flushes = False
        declared: set[tuple[str, str]] = set()
        emptied: set[tuple[str, str]] = set()
        self.reader.skip("\n", ";")
        while self.reader.peek():
            if self.reader.take("flush"):
                self.reader.expect("ruleset")
                flushes, tables = True, []
            elif self.reader.take("delete"):
                line, table = self.reader.line, self._named_table()
                if table not in declared:
                    raise Unreadable(line, f"table {' '.join(table)} may not be there to delete: nft may load nothing")
                declared.remove(table)
                emptied.add(table)
            elif self._is_declaration_ahead():
                declared.add(self._named_table())  # creates a missing table, so that it can be deleted
            else:
                self.reader.expect("table")
                new_table = self._table()
                if any((new_table.family, new_table.name) == (table.family, table.name) for table in tables):
                    # nft would join them: elements, rules and policies of the second change the first
                    raise Unreadable(new_table.line, f"table {new_table.family} {new_table.name} is there twice")
                tables.append(new_table)
            self.reader.end()
        return Ruleset(tuple(tables), flushes, frozenset(emptied))

    def _is_declaration_ahead(self) -> bool:
        """Whether a table without a body follows."""
        ahead = 1
        while self.reader.peek(ahead) not in _END and self.reader.peek(ahead) not in {"", "{"}:
            ahead += 1
        return self.reader.peek() == "table" and self.reader.peek(ahead) != "{"

    def _named_table(self) -> tuple[str, str]:
        self.reader.expect("table")
        return self.reader.expect("inet", "ip", "ip6"), self.reader.identifier()

    def _table(self) -> Table:
        line = self.reader.line
        family = self.reader.expect("inet", "ip", "ip6")
        name = self.reader.identifier()
        self.sets, self.maps = {}, {}
        chains: dict[str, Chain] = {}
        self.reader.expect("{")
        self.reader.skip("\n", ";")
        while not self.reader.take("}"):
            kind = self.reader.expect("set", "map", "chain")
            if kind == "chain":
                chain = self._chain()
                if chain.name in chains:
                    raise Unreadable(chain.line, f"chain {shown(chain.name)} is there twice")
                chains[chain.name] = chain
            else:
                self._set(is_map=kind == "map")
            self.reader.end()
        # nft jumps to no base chain.
        targets = {name for name, chain in chains.items() if not chain.hook}
        for chain in chains.values():
            for rule in chain.rules:
                if rule.target and rule.target not in targets:
                    raise Unreadable(rule.line, f"there is no chain {shown(rule.target)} to go to")
        return Table(family=family, name=name, line=line, chains=chains)

    def _set(self, *, is_map: bool) -> None:
        line, name = self.reader.line, self.reader.identifier()
        if name in self.sets or name in self.maps:
            raise Unreadable(line, f"{shown(name)} is there twice")
        kinds: list[str] = []
        entries: list[_SetElement] = []
        words: set[str] = set()
        spread = ""
        self.reader.expect("{")
        self.reader.skip("\n", ";")
        while not self.reader.take("}"):
            word = self.reader.expect(*sorted(_SET_PARTS - words))
            words.add(word)
            if word == "type":
                kinds = self._type(is_map=is_map)
            elif word == "flags":
                words |= self._flags()
            elif word == "comment":
                comment(self.reader)
            elif word == "elements":
                spread = "" if "iif" in kinds else self._spread()
                entries = self._elements(kinds, is_map=is_map)
            if word != "elements" or self.reader.peek() != "}":
                self.reader.end()
        _must_load(line, name, kinds, words, spread)
        _must_not_overlap(line, name, entries, merges="auto-merge" in words, is_map=is_map)
        if is_map:
            self.maps[name] = kinds, entries
        else:
            self.sets = {**self.sets, name: (kinds, [entry.values for entry in entries])}

    def _flags(self) -> set[str]:
        flags = {self.reader.expect("interval", "constant")}
        while self.reader.take(","):
            flags.add(self.reader.expect("interval", "constant"))
        return flags

    def _elements(self, kinds: list[str], *, is_map: bool) -> list[_SetElement]:
        self.reader.expect("=")
        line = self.reader.line
        self.reader.expect("{")
        if not kinds:
            raise Unreadable(line, "the elements come before their type")
        return self._entries(kinds, is_map=is_map)

    def _spread(self) -> str:
        """The first prefix or range among the elements ahead, "" for none."""
        ahead = 0
        while (word := self.reader.peek(ahead)) not in {"}", ""}:
            if re.fullmatch(r"[0-9a-fA-F.:]+(?:/\d+|-[0-9a-fA-F.:]+)", word):
                return word
            ahead += 1
        return ""

    def _type(self, *, is_map: bool) -> list[str]:
        kinds: list[str] = []
        while True:
            word = self.reader.next()
            if word.text not in _SET_TYPES:
                raise Unreadable(word.line, f"{shown(word.text)} is no type of a set that is known here")
            kinds += _SET_TYPES[word.text]
            if not self.reader.take("."):
                break
        if is_map:
            self.reader.expect(":")
            self.reader.expect("verdict")
        return kinds

    def _entries(self, kinds: list[str], *, is_map: bool) -> list[_SetElement]:
        """The elements up to the closing brace; those of a map with verdict and target.

        Raises Unreadable for an empty line between them, as nft loads none of such a file.
        """
        matches = self._matches()
        line = self.reader.line
        entries = []
        self.reader.take("\n")
        while not self.reader.take("}"):
            values = matches.element(kinds)
            if self.reader.take("counter"):
                counted(self.reader)
            verdict, target = NONE, ""
            if is_map:
                self.reader.expect(":")
                verdict, target = self._verdict()
            entries.append(_SetElement(values, verdict, target))
            self.reader.take("\n")
            if self.reader.peek() != "}":
                self.reader.expect(",")
                self.reader.take("\n")
        if not entries:
            raise Unreadable(line, "there are no elements: nft loads none of the file")
        return entries

    def _chain(self) -> Chain:
        line = self.reader.line
        name = self.reader.identifier()
        hook, priority, policy, policy_line, has_policy = "", 0, ACCEPT, line, False
        rules: list[Rule] = []
        self.reader.expect("{")
        self.reader.skip("\n", ";")
        while not self.reader.take("}"):
            if self.reader.peek() == "type":
                if hook:
                    raise Unreadable(self.reader.line, "the chain has a hook already")
                policy_line = self.reader.line
                self.reader.next()
                self.reader.expect("filter")
                self.reader.expect("hook")
                hook = self.reader.expect(*sorted(HOOKS))
                priority = self._priority()
            elif self.reader.take("policy"):
                if has_policy:
                    raise Unreadable(policy_line, "the chain has a policy already: nft loads none of the file")
                policy, has_policy = self.reader.expect(ACCEPT, DROP), True
            elif self.reader.take("comment"):
                comment(self.reader)
            else:
                rules += self._rule(stateless=bool(hook) and priority < _CONNECTION_TRACKING)
            self.reader.end()
        if has_policy and not hook:
            raise Unreadable(line, "the chain has a policy and no hook: nft loads none of the file")
        return Chain(
            name=name,
            line=line,
            rules=tuple(rules),
            hook=hook,
            priority=priority,
            policy=policy,
            policy_line=policy_line,
        )

    def _priority(self) -> int:
        self.reader.expect("priority")
        word = self.reader.next()
        if word.text in PRIORITIES:
            base = PRIORITIES[word.text]
            if self.reader.peek() in {"+", "-"}:
                sign = 1 if self.reader.next().text == "+" else -1
                return base + sign * self.reader.number()
            return base
        if not re.fullmatch(r"0|-?[1-9]\d*", word.text, re.A):
            raise Unreadable(word.line, f"{shown(word.text)} is no priority that is known here")
        return int(word.text)

    def _rule(self, *, stateless: bool) -> list[Rule]:
        line = self.reader.line
        matches = self._matches()
        boxes: list[Box] = [WHOLE]
        limited, rules, verdict, target = False, list[Rule](), NONE, ""
        while self.reader.peek() not in _END and self.reader.peek():
            word = self.reader.peek()
            if self.reader.take("comment"):  # the last statement of a rule
                comment(self.reader)
                break
            if verdict:
                raise Unreadable(line, f"{shown(word)} stands after the verdict")
            if matches.at_match():
                if word == "ct" and stateless:
                    raise Unreadable(line, "before connection tracking no packet has a state")
                if self._is_map_ahead():
                    rules = self._mapped(line, boxes, matches)
                    verdict = "vmap"
                    continue
                boxes = common_boxes(boxes, matches.match())
            elif word in _VERDICTS:
                verdict, target = self._verdict()
            else:
                limited |= statement(self.reader)
        if not boxes and not verdict:  # a rule with a verdict is reported as idle
            raise Unreadable(line, "no packet is what this rule asks for all at once: nft may load none of the file")
        if verdict != "vmap":
            rules = [Rule(line=line, matches=tuple(boxes), verdict=verdict, target=target)]
        return _limited(line, rules) if limited else rules

    def _is_map_ahead(self) -> bool:
        ahead = 0
        while self.reader.peek(ahead) not in _END and self.reader.peek(ahead) not in {"", "{", "vmap"}:
            if self.reader.peek(ahead) in _VERDICTS or self.reader.peek(ahead).startswith("@"):
                return False
            ahead += 1
        return self.reader.peek(ahead) == "vmap"

    def _mapped(self, line: int, boxes: list[Box], matches: MatchReader) -> list[Rule]:
        """The rules of a verdict map, one an entry; entries do not overlap."""
        keys = matches.keys()
        self.reader.expect("vmap")
        if self.reader.take("{"):
            entries = self._entries([kind for kind, _ in keys], is_map=True)
            _must_not_overlap(line, "the map", entries, merges=False, is_map=True)
        else:
            entries = list(matches.named(keys, self.maps, "map"))
        rules = []
        for entry in entries:
            matched = common_boxes(boxes, matches.boxes(keys, [entry.values]))
            rules.append(Rule(line=line, matches=tuple(matched), verdict=entry.verdict, target=entry.target))
        return rules

    def _verdict(self) -> tuple[str, str]:
        word = self.reader.expect(*sorted(_VERDICTS))
        if word in {JUMP, GOTO}:
            return word, self.reader.identifier()
        if word == "reject":
            rejected(self.reader)
            return DROP, ""
        if word == "continue":
            return NONE, ""
        return word, ""

    def _matches(self) -> MatchReader:
        return MatchReader(self.reader, self.interfaces, self.sets)
