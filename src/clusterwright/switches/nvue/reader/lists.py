"""Admission at the ports of a switch with NVUE: lists bound to them, and to the switch's own services."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from clusterwright.packets.filters import ACCEPT, Ruleset, one_chain
from clusterwright.packets.tokens import Unreadable
from clusterwright.switches.nvue.reader.acl import acl_rules
from clusterwright.switches.nvue.reader.objects import Object
from clusterwright.switches.nvue.reader.yaml_text import read_objects

_DIRECTIONS = {"in": "inbound", "out": "outbound"}
CONTROL_PLANE = "control-plane"
_MANAGEMENT = "eth"

# The objects of an access list that are read, with `*` for any name.
LIST_OBJECTS = (
    "acl * type",
    "acl * rule * action permit",
    "acl * rule * action deny",
    "acl * rule * match ip source-ip",
    "acl * rule * match ip dest-ip",
    "acl * rule * match ip protocol",
    "acl * rule * match ip icmp-type",
    "acl * rule * match ip icmpv6-type",
    "acl * rule * match ip tcp dest-port *",
    "acl * rule * match ip tcp source-port *",
    "acl * rule * match ip tcp flags *",
    "acl * rule * match ip tcp mask *",
    "acl * rule * match ip udp dest-port *",
    "acl * rule * match ip udp source-port *",
)


def bonds_of(root: Object) -> dict[str, str]:
    """The bond of each member port."""
    bonds: dict[str, str] = {}
    for name, section in root.items("interface"):
        bonds |= dict.fromkeys(section.at("bond", "member").below, name)
    return bonds


class NvueLists:
    """The lists of a switch."""

    def __init__(self, text: str) -> None:
        root = read_objects(text)
        self._lists = {name: acl_rules(section) for name, section in root.items("acl")}
        self._bound: dict[str, dict[str, list[str]]] = {}
        self._lines: dict[str, int] = {}
        self._bonds = bonds_of(root)
        self._faults: list[tuple[int, str]] = []
        for port, section in root.items("interface"):
            self._lines[port] = section.line
            for name, places in section.items("acl"):
                self._bind(port, name, places)

    def _bind(self, port: str, name: str, places: Object) -> None:
        if name not in self._lists:
            raise Unreadable(places.line, f"{port} names the list {name}, which is not there")
        if port in self._bonds:
            fault = f"{port} has the list {name}, and {self._bonds[port]} is asked for lists"
            self._faults.append((places.line, fault))
        for direction, section in places.items():
            is_own = CONTROL_PLANE in section.below
            if is_own != port.startswith(_MANAGEMENT):
                what = "judges what the switch itself gets" if is_own else "judges what is forwarded"
                raise Unreadable(section.line, f"the list {name} of {port} {what}, which is not read of such a port")
            self._bound.setdefault(port, {}).setdefault(direction, []).append(name)

    def management_ports(self) -> tuple[str, ...]:
        """The interfaces to the management network."""
        return tuple(port for port in self._lines if port.startswith(_MANAGEMENT))

    def bound(self) -> Iterator[tuple[str, str]]:
        """The ports with lists, each with a direction."""
        bonds = set(self._bonds.values())
        for port in dict.fromkeys((*self._bound, *self._bonds)):
            if port in bonds:
                continue
            lists_by_direction = self._bound.get(self._bonds.get(port, port), {})
            for direction, word in _DIRECTIONS.items():
                if word in lists_by_direction:
                    yield port, direction

    def faults(self) -> Iterator[tuple[int, str]]:
        """Lists on a port of a bond, and nothing else beyond unreadable ones."""
        yield from self._faults

    def text(self, ports: Iterable[str]) -> str:
        """Everything with an effect on admission at these ports."""
        return repr([(port, self._bound.get(self._bonds.get(port, port)), self.at(port)) for port in ports])

    def at(self, port: str, direction: str = "in") -> Ruleset:
        """A port's treatment of packets in one direction."""
        names = sorted(self._bound.get(self._bonds.get(port, port), {}).get(_DIRECTIONS[direction], ()))
        rules = tuple(chain.from_iterable(self._lists[name] for name in names))
        return one_chain(direction, rules, self._lines.get(port, 0), ACCEPT)
