"""Reading the access lists of an EOS startup-config, and the ports they are on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from clusterwright.facts.reader import IN
from clusterwright.packets.boxes import ICMP4, ICMP6, TCP, UDP, V4, V6, box
from clusterwright.packets.filters import ACCEPT, DROP, Rule, Ruleset, one_chain
from clusterwright.packets.ranges import Ranges, ranges, values
from clusterwright.packets.tokens import Unreadable
from clusterwright.packets.values import addresses
from clusterwright.switches.eos.reader.interfaces import CHANNEL, JOINS
from clusterwright.switches.eos.reader.sections import EosSection, sections_with

_LIST = re.compile(r"(ip|ipv6) access-list (standard (?=\S))?(\S+)")
_GROUP = re.compile(r"^   (ip|ipv6) access-group (\S+) (in|out)$", re.M)
_FAMILIES = {"ip": (V4, 4), "ipv6": (V6, 6)}
_PROTOCOLS = {"tcp": TCP, "udp": UDP, "icmp": ICMP4, "icmpv6": ICMP6}
_NOT_LATER = values(0, 1)
_ACK_OR_RST = values(*(flags for flags in range(256) if flags & 0x14))


@dataclass(frozen=True, slots=True)
class EosLists:
    """The lists of a switch: rules by word (``ip`` or ``ipv6``) and name, with the lines counted from 1.

    ``sources`` are the lists of sources alone, used by services; their rules match nothing but the source. ``groups``
    are, for each interface, its lists by word and direction; ``lines`` the first line of each interface. ``live`` are
    the sections of the interfaces without a shutdown, ``channels`` the channel of each member port: the channel's lists
    apply, not the ports'.
    """

    lists: Mapping[tuple[str, str], tuple[Rule, ...]]
    groups: Mapping[str, Mapping[tuple[str, str], str]]
    lines: Mapping[str, int]
    bodies: Mapping[tuple[str, str], str]
    sources: Mapping[tuple[str, str], tuple[Rule, ...]]
    live: Mapping[str, EosSection]
    channels: Mapping[str, str]

    def _groups(self, port: str) -> Mapping[tuple[str, str], str]:
        return self.groups.get(self.channels.get(port, port), {})

    def management_ports(self) -> tuple[str, ...]:
        """The interfaces to the management network."""
        return tuple(name for name in self.lines if name.startswith("Management"))

    def bound(self) -> Iterator[tuple[str, str]]:
        """The ports with lists, each with a direction."""
        channels = set(self.channels.values())
        for port in dict.fromkeys((*self.groups, *self.channels)):
            if port in channels:
                continue
            directions = {direction for _, direction in self._groups(port)}
            for direction in sorted(directions):
                yield port, direction

    def faults(self) -> Iterator[tuple[int, str]]:
        """Missing lists named by an interface: EOS then permits everything."""
        for port, groups in self.groups.items():
            if port in self.channels:
                yield self.lines[port], f"{port} has a list of its own, and {self.channels[port]} is asked for lists"
            for (word, direction), name in groups.items():
                if (word, name) not in self.lists:
                    message = f"{port} names the {word} access list {name} ({direction}), which is not there"
                    yield self.lines[port], message

    def text(self, ports: Iterable[str]) -> str:
        """Everything with an effect on admission at these ports: their lists, by name and entry by entry."""
        bound = [(word, self._groups(port).get((word, IN))) for port, word in product(ports, _FAMILIES)]
        lists = {(word, name) for word, name in bound if name is not None}
        return repr(bound) + "".join(f"{key}\n{self.bodies.get(key)}" for key in sorted(lists))

    def at(self, port: str, direction: str = IN) -> Ruleset:
        """A port's treatment of packets in one direction: without a list everything of that IP version passes."""
        rules: list[Rule] = []
        line = self.lines.get(port, 0)
        for word, (family, _) in _FAMILIES.items():
            name = self._groups(port).get((word, direction), "")
            access_list = self.lists.get((word, name))
            if access_list is None:
                rules.append(Rule(line=line, matches=(box(family=family),), verdict=ACCEPT))
            else:
                rules += access_list
        return one_chain(direction, tuple(rules), line)


@lru_cache(maxsize=128)
def read_eos_lists(text: str) -> EosLists:
    """The lists of a startup-config. Raises Unreadable at an entry of unknown meaning."""
    lists: dict[tuple[str, str], tuple[Rule, ...]] = {}
    bodies: dict[tuple[str, str], str] = {}
    sources: dict[tuple[str, str], tuple[Rule, ...]] = {}
    groups: dict[str, dict[tuple[str, str], str]] = {}
    lines: dict[str, int] = {}
    live: dict[str, EosSection] = {}
    channels: dict[str, str] = {}
    for section in sections_with(text, "interface"):
        if name := section.names("interface"):
            lines[name] = section.line
            if "\n   shutdown" not in f"\n{section.body}":
                live[name] = section
            if joined := JOINS.search(section.body):
                channels[name] = f"{CHANNEL}{joined[1]}"
            for word, list_name, direction in _GROUP.findall(section.body):
                groups.setdefault(name, {})[word, direction] = list_name
    for section in sections_with(text, *_FAMILIES):
        if section.names("ip access-list") or section.names("ipv6 access-list"):
            match = _LIST.fullmatch(section.header)
            key = ("", "") if match is None else (match[1], match[3])
            if match is None or key in lists or key in sources:
                raise Unreadable(section.line, "an access list is there twice, or has no name")
            if match[2]:
                sources[key] = _rules_of(section, *key, is_standard=True)
            else:
                lists[key] = _rules_of(section, *key, is_standard=False)
                bodies[key] = section.body
    return EosLists(
        lists=lists, groups=groups, lines=lines, bodies=bodies, sources=sources, live=live, channels=channels
    )


def _rules_of(section: EosSection, word: str, name: str, *, is_standard: bool) -> tuple[Rule, ...]:
    """The entries of a list at their lines. Raises Unreadable for a list without any."""
    rules = _rules(word, section.body, is_standard=is_standard)
    if not rules:
        raise Unreadable(
            section.line,
            f"access list {name} has no entry: whether it then passes nothing or everything is not documented."
            " End it with a `deny`",
        )
    first_line = section.line + 1
    return tuple(Rule(line=first_line + rule.line, matches=rule.matches, verdict=rule.verdict) for rule in rules)


@lru_cache(maxsize=8192)
def _rules(word: str, body: str, *, is_standard: bool = False) -> tuple[Rule, ...]:
    """The entries of a list in the order of their numbers; lines count from 0."""
    numbered: list[tuple[int, Rule]] = []
    for index, line in enumerate(body.splitlines()):
        words = line.split()
        if words in (["counters", "per-entry"], ["statistics", "per-entry"]):
            continue
        if len(words) < 2 or not words[0].isdecimal():
            raise Unreadable(index, f'"{line.strip()}" is no entry of an access list')
        if words[1] == "remark":
            continue
        if any(number == int(words[0]) for number, _ in numbered):
            raise Unreadable(index, f"{words[0]} is the number of an entry above")
        if is_standard:  # "permit SOURCE" is short for all protocols, from there to anywhere
            words = [*words[:2], word, *words[2:], "any"]
        numbered.append((int(words[0]), _Entry(word, words[1:], index).rule()))
    return tuple(rule for _, rule in sorted(numbered, key=lambda entry: entry[0]))


class _Entry:
    """An entry of a list by its words, from the action on."""

    def __init__(self, word: str, words: list[str], line: int) -> None:
        self.family, self.version = _FAMILIES[word]
        self.word = word
        self.words = list(words)
        self.line = line

    def rule(self) -> Rule:
        try:
            return self._rule()
        except (ValueError, IndexError):
            raise Unreadable(self.line, f'"{" ".join(self.words)}" is an entry that is not known here') from None

    def _rule(self) -> Rule:
        words = list(self.words)
        verdict = {"permit": ACCEPT, "deny": DROP}.get(words.pop(0))
        if verdict is None:
            raise ValueError
        protocol = words.pop(0)
        fields = {"family": self.family}
        if protocol != self.word:
            fields["proto"] = values(_PROTOCOLS[protocol] if protocol in _PROTOCOLS else int(protocol))
        fields["src"] = self._addresses(words)
        if protocol in {"tcp", "udp"} and (source := self._ports(words)):
            fields |= {"sport": source, "fragment": _NOT_LATER}
        fields["dst"] = self._addresses(words)
        if protocol in {"tcp", "udp"} and (target := self._ports(words)):
            fields |= {"dport": target, "fragment": _NOT_LATER}
        if protocol == "tcp" and words[:1] == ["established"]:
            words.pop(0)
            fields |= {"flags": _ACK_OR_RST, "fragment": _NOT_LATER}
        if protocol in {"icmp", "icmpv6"} and words and words[0].isdecimal():
            fields |= {"icmp": values(int(words.pop(0))), "fragment": _NOT_LATER}
        if words[:1] == ["fragments"]:
            words.pop(0)
            fields["fragment"] = values(2)
        if words not in ([], ["log"]):
            raise ValueError
        return Rule(line=self.line, matches=(box(**fields),), verdict=verdict)

    def _addresses(self, words: list[str]) -> Ranges:
        text = words.pop(0)
        if text == "any":
            return addresses("0.0.0.0/0" if self.version == 4 else "::/0", self.version)
        return addresses(words.pop(0) if text == "host" else text, self.version)

    def _ports(self, words: list[str]) -> Ranges | None:
        if words[:1] == ["eq"]:
            words.pop(0)
            ports = []
            while words and words[0].isdecimal():
                ports.append(int(words.pop(0)))
            return values(*ports)
        if words[:1] == ["range"]:
            _, low, high = (words.pop(0) for _ in range(3))
            return ranges([(int(low), int(high))])
        return None
