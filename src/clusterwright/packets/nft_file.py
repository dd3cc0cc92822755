"""Reading an nftables file: the statements that this project renders, and those that ``nft list ruleset`` prints.

Every statement is understood or refused, with its line: what is passed over might let something through.
"""

from __future__ import annotations

import re
from itertools import pairwise

from clusterwright.packets.boxes import WHOLE, Box, meet
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
from clusterwright.packets.nft_match import MatchReader
from clusterwright.packets.ranges import Ranges
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
    "iface_index": ("iif",),
}
_VERDICTS = frozenset({ACCEPT, DROP, RETURN, "continue", JUMP, GOTO, "reject"})
_END = frozenset({"\n", ";", "}"})
_CONNECTION_TRACKING = -200  # NF_IP_PRI_CONNTRACK: before it no packet has a state


def read_nft(text: str, interfaces: InterfaceNumbers) -> Ruleset:
    """The rule set of a file. Raises Unreadable."""
    return _FileReader(Reader(tokens_of(text)), interfaces).file()


def _must_be_apart(
    line: int, name: str, elements: list[tuple[tuple[Ranges, ...], str, str]], *, merges: bool, is_map: bool
) -> None:
    """Raises Unreadable for elements that nft refuses: of a set those that overlap, of a map equal ones too."""
    bounds = sorted(bound for element, _, _ in elements if len(element) == 1 for bound in element[0].bounds)
    for (low, high), after in pairwise(bounds):
        if after[0] <= high and (is_map or not (merges or after == (low, high))):
            raise Unreadable(line, f"elements of {shown(name)} overlap: nft loads none of the file")


class _FileReader:
    def __init__(self, reader: Reader, interfaces: InterfaceNumbers) -> None:
        self.reader = reader
        self.interfaces = interfaces
        self.sets: dict[str, tuple[tuple[Ranges, ...], ...]] = {}
        self.maps: dict[str, tuple[tuple[tuple[Ranges, ...], str, str], ...]] = {}

    def file(self) -> Ruleset:
        tables: list[Table] = []
        flushes = False
        self.reader.skip("\n", ";")
        while self.reader.peek():
            if self.reader.take("flush"):
                self.reader.expect("ruleset")
                flushes, tables = True, []
            else:
                self.reader.expect("table")
                own = self._table()
                if any((own.family, own.name) == (each.family, each.name) for each in tables):
                    # nft would join the two: elements, rules and policies of the second change the first
                    raise Unreadable(own.line, f"table {own.family} {own.name} is there twice")
                tables.append(own)
            self.reader.skip("\n", ";")
        return Ruleset(tuple(tables), flushes)

    def _table(self) -> Table:
        line = self.reader.line
        family = self.reader.expect("inet", "ip", "ip6")
        name = self.reader.next().text
        self.sets, self.maps = {}, {}
        chains: dict[str, Chain] = {}
        self.reader.expect("{")
        self.reader.skip("\n", ";")
        while not self.reader.take("}"):
            what = self.reader.expect("set", "map", "chain")
            if what == "chain":
                chain = self._chain()
                if chain.name in chains:
                    raise Unreadable(chain.line, f"chain {shown(chain.name)} is there twice")
                chains[chain.name] = chain
            else:
                self._set(is_map=what == "map")
            self.reader.skip("\n", ";")
        for chain in chains.values():
            for rule in chain.rules:
                if rule.target and (rule.target not in chains or chains[rule.target].hook):
                    raise Unreadable(rule.line, f"there is no chain {shown(rule.target)} to go to")
        return Table(family, name, line, chains)

    def _set(self, *, is_map: bool) -> None:
        line, name = self.reader.line, self.reader.next().text
        if name in self.sets or name in self.maps:
            raise Unreadable(line, f"{shown(name)} is there twice")
        kinds: list[str] = []
        elements: list[tuple[tuple[Ranges, ...], str, str]] = []
        words: set[str] = set()
        spread = ""
        self.reader.expect("{")
        self.reader.skip("\n", ";")
        while not self.reader.take("}"):
            word = self.reader.next()
            words.add(word.text)
            if word.text == "type":
                kinds = self._type(is_map=is_map)
            elif word.text == "flags":
                words.add(self.reader.expect("interval", "constant"))
                while self.reader.take(","):
                    words.add(self.reader.expect("interval", "constant"))
            elif word.text == "comment":
                self.reader.next()
            elif word.text == "elements" and kinds:
                self.reader.expect("=")
                self.reader.expect("{")
                if "iif" not in kinds:
                    spread = self._spread()
                elements = self._entries(kinds, is_map=is_map)
            elif word.text not in {"auto-merge", "counter"}:
                raise Unreadable(word.line, f"{shown(word.text)} is no part of a set that is known here")
            self.reader.skip("\n", ";")
        if spread and "interval" not in words:
            raise Unreadable(line, f"{shown(name)} has {spread} and no flag interval: nft loads none of the file")
        _must_be_apart(line, name, elements, merges="auto-merge" in words, is_map=is_map)
        if is_map:
            self.maps[name] = tuple(elements)
        else:
            self.sets[name] = tuple(element for element, _, _ in elements)

    def _spread(self) -> str:
        """The first element ahead that is a prefix or a range, "" where none is."""
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

    def _entries(self, kinds: list[str], *, is_map: bool) -> list[tuple[tuple[Ranges, ...], str, str]]:
        """The elements up to the closing brace; those of a map with verdict and target."""
        matches = self._matches()
        found = []
        self.reader.skip("\n")
        while not self.reader.take("}"):
            element = matches.element(kinds)
            if self.reader.take("counter"):
                self._counted()
            verdict, target = NONE, ""
            if is_map:
                self.reader.expect(":")
                verdict, target = self._verdict()
            found.append((element, verdict, target))
            self.reader.skip("\n")
            if self.reader.peek() != "}":
                self.reader.expect(",")
                self.reader.skip("\n")
        return found

    def _chain(self) -> Chain:
        line = self.reader.line
        name = self.reader.next().text
        hook, priority, policy, policy_line, has_policy = "", 0, ACCEPT, line, False
        rules: list[Rule] = []
        self.reader.expect("{")
        self.reader.skip("\n", ";")
        while not self.reader.take("}"):
            if self.reader.peek() == "type":
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
                self.reader.next()
            else:
                rules += self._rule(stateless=bool(hook) and priority < _CONNECTION_TRACKING)
            self.reader.skip("\n", ";")
        return Chain(name, line, tuple(rules), hook, priority, policy, policy_line)

    def _priority(self) -> int:
        self.reader.expect("priority")
        word = self.reader.next()
        if word.text in PRIORITIES:
            base = PRIORITIES[word.text]
            if self.reader.peek() in {"+", "-"}:
                sign = 1 if self.reader.next().text == "+" else -1
                return base + sign * self.reader.number()
            return base
        if not re.fullmatch(r"-?\d+", word.text):
            raise Unreadable(word.line, f"{shown(word.text)} is no priority that is known here")
        return int(word.text)

    def _rule(self, *, stateless: bool) -> list[Rule]:
        line = self.reader.line
        matches = self._matches()
        boxes: list[Box] = [WHOLE]
        limited, rules, verdict, target = False, list[Rule](), NONE, ""
        while self.reader.peek() not in _END and self.reader.peek():
            word = self.reader.peek()
            if verdict and word != "comment":
                raise Unreadable(line, f"{shown(word)} stands after the verdict")
            if matches.at_match():
                if word == "ct" and stateless:
                    raise Unreadable(line, "before connection tracking no packet has a state")
                if self._is_map_ahead():
                    rules = self._mapped(line, boxes, matches)
                    verdict = "vmap"
                    continue
                found = matches.match()
                boxes = [both for a in boxes for b in found if (both := meet(a, b)) is not None]
            elif word in _VERDICTS:
                verdict, target = self._verdict()
            else:
                limited |= self._statement()
        if rules:
            return [
                Rule(line, each.matches, each.verdict, each.target, limited=limited and each.verdict != NONE)
                for each in rules
            ]
        if limited and verdict in {JUMP, GOTO, RETURN}:
            raise Unreadable(line, "what a limited rate decides about a jump is not known here")
        return [Rule(line, tuple(boxes), verdict, target, limited=limited)]

    def _is_map_ahead(self) -> bool:
        ahead = 0
        while self.reader.peek(ahead) not in _END and self.reader.peek(ahead) not in {"", "{", "vmap"}:
            if self.reader.peek(ahead) in _VERDICTS or self.reader.peek(ahead).startswith("@"):
                return False
            ahead += 1
        return self.reader.peek(ahead) == "vmap"

    def _mapped(self, line: int, boxes: list[Box], matches: MatchReader) -> list[Rule]:
        """A verdict map as one rule for each of its entries; no packet has two."""
        keys = matches.keys()
        self.reader.expect("vmap")
        if self.reader.take("{"):
            entries = self._entries([kind for kind, _ in keys], is_map=True)
            _must_be_apart(line, "the map", entries, merges=False, is_map=True)
        else:
            name = self.reader.next().text.removeprefix("@")
            if name not in self.maps:
                raise Unreadable(line, f"there is no map {shown(name)} above")
            entries = list(self.maps[name])
        found = []
        for element, verdict, target in entries:
            if len(element) != len(keys):
                raise Unreadable(line, "the map's elements have another number of fields")
            own = [both for a in boxes for b in matches.boxes(keys, [element]) if (both := meet(a, b)) is not None]
            found.append(Rule(line, tuple(own), verdict, target))
        return found

    def _verdict(self) -> tuple[str, str]:
        word = self.reader.next()
        if word.text in {JUMP, GOTO}:
            return word.text, self.reader.next().text
        if word.text == "reject":
            if self.reader.take("with"):
                while self.reader.peek() not in {*_END, "comment", ",", ""}:
                    self.reader.next()
            return DROP, ""
        if word.text not in _VERDICTS:
            raise Unreadable(word.line, f"{shown(word.text)} is no verdict")
        return (NONE, "") if word.text == "continue" else (word.text, "")

    def _statement(self) -> bool:
        """Passes over a statement that decides nothing; True when it makes the rule match only sometimes."""
        word = self.reader.next()
        if word.text == "counter":
            self._counted()
        elif word.text == "comment":
            self.reader.next()
        elif word.text == "log":
            while self.reader.peek() in {"prefix", "level", "group", "flags", "snaplen", "queue-threshold"}:
                self.reader.next()
                self.reader.next()
        elif word.text == "limit":
            self.reader.expect("rate")
            self.reader.take("over")
            self.reader.next()
            if self.reader.take("burst"):
                self.reader.number()
                self.reader.expect("packets", "bytes", "kbytes", "mbytes")
            return True
        else:
            raise Unreadable(word.line, f"{shown(word.text)} is a statement that is not known here")
        return False

    def _counted(self) -> None:
        if self.reader.take("packets"):
            self.reader.number()
            self.reader.expect("bytes")
            self.reader.number()
        elif self.reader.take("name"):
            self.reader.next()

    def _matches(self) -> MatchReader:
        return MatchReader(self.reader, self.interfaces, self.sets)
