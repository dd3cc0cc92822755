"""Reading the ACLs of an NVOS startup.yaml: what the management port takes in, and where the switch itself may send.

Lists of one direction are asked in the order of their names, rules in the order of their numbers; a packet that none of
them matches passes as far as this file says. Fields are those of NVUE's `acl` and `interface`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import yaml

from clusterwright.packets.boxes import ICMP4, ICMP6, TCP, UDP, V4, V6, box
from clusterwright.packets.filters import ACCEPT, DROP, Rule, Ruleset, one_chain
from clusterwright.packets.ranges import EMPTY, Ranges, ranges, values
from clusterwright.packets.tokens import Unreadable
from clusterwright.packets.values import addresses
from clusterwright.platforms.reader import IN, OUT

_DIRECTIONS = {"in": "inbound", "out": "outbound"}
_FAMILIES = {"ipv4": (V4, 4), "ipv6": (V6, 6)}
_PROTOCOLS = {"tcp": TCP, "udp": UDP, "icmp": ICMP4, "icmpv6": ICMP6}
_VERDICTS = {"permit": ACCEPT, "deny": DROP}
_FLAGS = {"fin": 1, "syn": 2, "rst": 4, "psh": 8, "ack": 16, "urg": 32}
_NOT_LATER = values(0, 1)
_Fields = Mapping[str, tuple[yaml.Node, int]]  # what stands under a key, and the key's line


class NvosLists:
    """The lists of a switch, and where its gateway is named."""

    def __init__(self, text: str) -> None:
        try:
            root = yaml.compose(text)
        except yaml.YAMLError as error:
            raise Unreadable(0, f"this is no YAML ({error})") from None
        tree = _mapping(root.value[0]).get("set") if isinstance(root, yaml.SequenceNode) and root.value else None
        top = _mapping(tree[0]) if tree is not None else {}
        self._lists = {name: _list(node, line) for name, (node, line) in _under(top, "acl").items()}
        self._bound: dict[str, dict[str, list[str]]] = {}
        self._lines: dict[str, int] = {}
        self.gateways: tuple[int, ...] = ()
        for port, (node, line) in _under(top, "interface").items():
            self._lines[port] = line
            own = _mapping(node)
            for name, (places, at) in _under(own, "acl").items():
                if name not in self._lists:
                    raise Unreadable(at, f"{port} names the list {name}, which is not there")
                for direction in _mapping(places):
                    self._bound.setdefault(port, {}).setdefault(direction, []).append(name)
            self.gateways += tuple(at for _, at in _under(_under(own, "ip"), "gateway").values())

    def management_ports(self) -> tuple[str, ...]:
        """The interfaces to the management network."""
        return tuple(port for port in self._lines if port.startswith("eth"))

    def bound(self) -> Iterator[tuple[str, str]]:
        """The management ports, both ways."""
        yield from ((port, direction) for port in self.management_ports() for direction in (IN, OUT))

    def faults(self) -> Iterator[tuple[int, str]]:
        """Nothing beyond what cannot be read."""
        yield from ()

    def text(self, ports: Iterable[str]) -> str:
        """Everything that decides what these ports let in."""
        return repr([(port, self._bound.get(port), self.at(port)) for port in ports])

    def at(self, port: str, direction: str = IN) -> Ruleset:
        """What a port does with packets in one direction."""
        line = self._lines.get(port, 0)
        names = sorted(self._bound.get(port, {}).get(_DIRECTIONS[direction], ()))
        return one_chain(direction, tuple(rule for name in names for rule in self._lists[name]), line, ACCEPT)


def _list(node: yaml.Node, line: int) -> tuple[Rule, ...]:
    own = _mapping(node)
    kind = own["type"][0].value if "type" in own else ""
    if kind not in _FAMILIES:
        raise Unreadable(line, f'"{kind}" is no type of a list that is known here')
    numbered = _under(own, "rule").items()
    rules = [(int(number), _rule(kind, _mapping(each), at)) for number, (each, at) in numbered if number.isdecimal()]
    if len(rules) != len(numbered):
        raise Unreadable(line, "a rule of this list has no number")
    return tuple(rule for _, rule in sorted(rules, key=lambda each: each[0]))


def _rule(kind: str, fields: _Fields, line: int) -> Rule:
    verdicts = [_VERDICTS.get(word) for word in _under(fields, "action")]
    if len(verdicts) != 1 or verdicts[0] is None or set(fields) - {"remark", "action", "match"}:
        raise Unreadable(line, "this rule does not simply permit or deny")
    match = _under(fields, "match")
    family, version = _FAMILIES[kind]
    made: dict[str, Ranges] = {"family": family}
    try:
        for word, (node, _) in match.items():
            if word != "ip":
                raise ValueError(word)
            for name, (value, _) in _mapping(node).items():
                made |= _field(name, value, version)
    except (ValueError, KeyError) as error:
        raise Unreadable(line, f"this rule matches on what is not known here ({error})") from None
    return Rule(line, (box(**made),), verdicts[0])


def _field(name: str, node: yaml.Node, version: int) -> dict[str, Ranges]:
    if name in {"source-ip", "dest-ip"}:
        if node.value == "ANY":
            return {}
        return {"src" if name == "source-ip" else "dst": addresses(node.value, version)}
    if name == "protocol":
        return {"proto": values(_PROTOCOLS[node.value])}
    if name in {"icmp-type", "icmpv6-type"}:
        return {"icmp": values(int(node.value)), "fragment": _NOT_LATER}
    if name in {"tcp", "udp"}:
        return _ports(node)
    raise ValueError(name)


def _ports(node: yaml.Node) -> dict[str, Ranges]:
    made: dict[str, Ranges] = {"fragment": _NOT_LATER}
    own = _mapping(node)
    for name in own:
        below = _under(own, name)
        if name in {"source-port", "dest-port"}:
            made["sport" if name == "source-port" else "dport"] = _numbers(below)
        elif name == "flags":
            mask = sum(_FLAGS[flag] for flag in _under(own, "mask"))
            wanted = sum(_FLAGS[flag] for flag in below)
            made["flags"] = values(*(each for each in range(256) if each & mask == wanted))
        elif name != "mask":
            raise ValueError(name)
    return made


def _numbers(names: Iterable[str]) -> Ranges:
    found = EMPTY
    for name in names:
        low, _, high = name.partition("-")
        found |= ranges([(int(low), int(high or low))])
    return found


def _mapping(node: yaml.Node) -> _Fields:
    return dict(_pairs(node)) if isinstance(node, yaml.MappingNode) else {}


def _pairs(node: yaml.MappingNode) -> Iterator[tuple[str, tuple[yaml.Node, int]]]:
    for key, value in node.value:
        yield key.value, (value, key.start_mark.line + 1)


def _under(fields: _Fields, name: str) -> _Fields:
    return _mapping(fields[name][0]) if name in fields else {}
