"""Reading the IP filter of an MLNX-OS configuration: packets to the switch's own CPU at its management port.

It is iptables: rules in order, then the chain's policy; without `ip filter enable` everything passes. The commands are
executed from the top, so a cleared chain loses the rules above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

from clusterwright.facts.reader import IN, OUT
from clusterwright.packets.boxes import ESTABLISHED, ICMP4, ICMP6, IIF, TCP, UDP, V4, V6, WHOLE, Box, box
from clusterwright.packets.filters import ACCEPT, DROP, Chain, InterfaceNumbers, Rule, Ruleset, Table
from clusterwright.packets.ranges import Ranges, values
from clusterwright.packets.tokens import Unreadable
from clusterwright.packets.values import addresses

_FAMILIES = {"ip": (V4, 4), "ipv6": (V6, 6)}
_PROTOCOLS = {"tcp": TCP, "udp": UDP, "icmp": ICMP4, "icmpv6": ICMP6}
_VERDICTS = {"accept": ACCEPT, "drop": DROP}
_NOT_LATER = values(0, 1)
_ADDRESS_FIELDS = {"source-addr": "src", "dest-addr": "dst"}
_PORT_FIELDS = {"source-port": "sport", "dest-port": "dport"}
_PORT = re.compile(r"^interface (mgmt\d+) (?:ip|ipv6) address ", re.M)
_COMMAND = re.compile(r"^(?:no )?(?:ip|ipv6) filter .*$", re.M)
_RULE = ("rule", "append", "tail", "target")


class MlnxOsLists:
    """The filter of a switch."""

    def __init__(self, text: str) -> None:
        self._ports = tuple(dict.fromkeys(_PORT.findall(text)))
        self._interfaces = InterfaceNumbers()
        self._rules: dict[str, list[Rule]] = {word: [] for word in _FAMILIES}
        self._policies = dict.fromkeys(_FAMILIES, (ACCEPT, 0))
        self._enabled = dict.fromkeys(_FAMILIES, 0)  # line of the command that enables it, or 0
        self._commands: list[str] = []
        for match in _COMMAND.finditer(text):
            self._commands.append(match[0])
            self._command(match[0].lower().split(), text.count("\n", 0, match.start()) + 1)

    def management_ports(self) -> tuple[str, ...]:
        """The interfaces to the management network."""
        return self._ports

    def bound(self) -> Iterator[tuple[str, str]]:
        """The management ports, both ways."""
        yield from product(self.management_ports(), (IN, OUT))

    def faults(self) -> Iterator[tuple[int, str]]:
        """Filters with rules from before still in them."""
        cleared = {" ".join(command.lower().split()) for command in self._commands}
        for word, line in self._enabled.items():
            if line and f"{word} filter chain input clear" not in cleared:
                yield line, f"nothing clears the filter of {word}: rules that were there before stay"

    def text(self, ports: Iterable[str]) -> str:
        """Everything with an effect on admission at these ports."""
        return f"{list(ports)} {self._commands}"

    def at(self, port: str, direction: str = IN) -> Ruleset:
        """Packets admitted by a port; outwards nothing is filtered. Rules for other interfaces do not count."""
        number = self._interfaces.of(port)
        tables = []
        for word, family in (("ip", "ip"), ("ipv6", "ip6")):
            policy, line = self._policies[word]
            rules: list[Rule] = []
            is_open = direction != IN or not self._enabled[word]
            if is_open:
                policy = ACCEPT
            else:
                rules += [_on_any_interface(rule) for rule in self._rules[word] if rule.matches[0][IIF] & number]
            chain = Chain(
                name="",
                line=line,
                rules=tuple(rules),
                hook=direction,
                priority=0,
                policy=policy,
                policy_line=line,
            )
            tables.append(Table(family=family, name=word, line=line, chains={"": chain}))
        return Ruleset(tuple(tables), flushes=True)

    def _command(self, tokens: list[str], line: int) -> None:
        is_off = tokens[0] == "no"
        word, _, *rest = tokens[1:] if is_off else tokens
        if rest == ["enable"]:
            self._enabled[word] = 0 if is_off else line
        elif not is_off and rest[:2] == ["chain", "input"]:
            self._input(word, rest[2:], line)
        elif is_off or rest[:2] not in (["chain", "output"], ["chain", "forward"]):
            raise Unreadable(line, f'"{" ".join(tokens)}" is a command of the filter that is not known here')

    def _input(self, word: str, rest: list[str], line: int) -> None:
        if rest == ["clear"]:
            self._rules[word].clear()
        elif rest[:1] == ["policy"] and rest[1:] and rest[1] in _VERDICTS and len(rest) == 2:
            self._policies[word] = (_VERDICTS[rest[1]], line)
        elif tuple(rest[:4]) == _RULE and rest[4:] and rest[4] in _VERDICTS:
            try:
                match = self._match(word, rest[5:])
            except (ValueError, IndexError):
                raise Unreadable(line, f'"{" ".join(rest[4:])}" is a rule that is not known here') from None
            self._rules[word].append(Rule(line, (match,), _VERDICTS[rest[4]]))
        else:
            raise Unreadable(line, f'"{" ".join(rest)}" is a command of the input chain that is not known here')

    def _match(self, word: str, tokens: list[str]) -> Box:
        family, version = _FAMILIES[word]
        fields: dict[str, Ranges] = {"family": family}
        remaining = iter(tokens)
        for name in remaining:
            if name == "dup-delete":
                continue
            value = next(remaining, "")
            if name in _ADDRESS_FIELDS:
                fields[_ADDRESS_FIELDS[name]] = addresses(value + next(remaining, ""), version)
            elif name in _PORT_FIELDS and "proto" in fields:
                fields |= {_PORT_FIELDS[name]: values(_number(value)), "fragment": _NOT_LATER}
            elif name == "protocol":
                fields["proto"] = values(_PROTOCOLS[value] if value in _PROTOCOLS else _number(value))
            elif name == "icmp-type":
                fields |= {"icmp": values(_number(value)), "fragment": _NOT_LATER}
            elif name == "in-intf":
                fields["iif"] = self._interfaces.of(value)
            elif (name, value) == ("state", "established"):
                fields["ct"] = values(ESTABLISHED)
            else:
                raise ValueError(name)
        return box(**fields)


def _on_any_interface(rule: Rule) -> Rule:
    """The rule without its condition on the incoming interface."""
    packets = rule.matches[0]
    on_any_interface = (*packets[:IIF], WHOLE[IIF], *packets[IIF + 1 :])
    return Rule(line=rule.line, matches=(on_any_interface,), verdict=rule.verdict)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(text)
    return int(text)
