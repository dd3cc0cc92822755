"""The interface of a system's reader: facts from the text of its files with their places, independent of its writer.

Proofs use the same functions of every reader. One without an answer for a system is ``Unsupported`` with the reason,
never missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from clusterwright.facts.router import Router
from clusterwright.facts.unread import Unread
from clusterwright.facts.values import FieldValues
from clusterwright.packets.filters import Rule, Ruleset

IN, OUT = "in", "out"
Fault = tuple[int, str]
"""The offset in the text, and the mistake."""

RouteCheck = Callable[[str, str], str]
"""The fault of a route to a destination through a next hop, "" for none; an unnamed hop is ""."""

ServersByFile = Mapping[str, Callable[[str], Iterator["Server"]]]
"""By a file's path, the servers named in its text."""

FileText = Callable[[str], str]
"""The text of a device's file by its path, "" for a missing one."""


class Unsupported(NamedTuple):
    """The reason why a system has no answer."""

    reason: str


class Planned(Protocol):
    """The part of the plan compared with openings."""

    @property
    def linked(self) -> Mapping[str, frozenset[str]]:
        """By switch, the ports with a planned cable or border."""

    def knows(self, text: str) -> bool:
        """True for an address or prefix beginning on a planned network. Raises ValueError for other text."""

    def misplaced(self, switch: str, port: str, text: str) -> str:
        """The fault of an address of a switch's interface, with or without its length; "" for a planned one.

        Raises ValueError for other text.
        """

    def unmet(self, switch: str, neighbour: str) -> str:
        """The fault of the peer address of a switch's BGP session; "" for a planned link or border.

        Raises ValueError for other text.
        """


NAMES, TIME, LOGS, LOGINS, LEASES = "names", "the time", "its log", "logins", "hosts' leases"
SSH, EAPI, SNMP, GNMI = "SSH", "eAPI", "SNMP", "gNMI"
PASSWORDS = "operators' passwords"


class Server(NamedTuple):
    """A server named in a file for one of the services above, queried or informed by the switch."""

    at: int
    """Offset of its name in the text."""
    what: str
    """The service."""
    address: str
    is_asked: bool = True
    """False for a server the switch never queries, or searches outside the network of its management port."""
    source: str = ""
    """Source address of requests: a configured one, or the management port's if its VRF has no other.

    "" without a configured one: then it is the address of the outgoing port, or set by the files of the Linux below.
    """


class Login(NamedTuple):
    """A means of access in a file: an account, its credential, or a user of SNMP."""

    at: int
    """Its offset in the text."""
    name: str
    is_snmp: bool = False
    key: str = ""
    """A public key of the account, its type and the key."""
    has_password: bool = False
    hides_password: bool = False
    """Whether the text leaves it open if the account has a password."""
    is_admin: bool = False
    """Whether the account may change the switch."""


def nothing_silent(text: str) -> Iterator[Fault]:
    """No service, for a system with every mentioned service switched on."""
    yield from ()


class Lists(Protocol):
    """The packet filters of a switch. Methods raise Unreadable at unknown text."""

    def at(self, port: str, direction: str = IN) -> Ruleset:
        """The filter of a port in one direction."""

    def text(self, ports: Iterable[str]) -> str:
        """All text of the file with an effect on packets entering these ports."""

    def bound(self) -> Iterator[tuple[str, str]]:
        """The ports with lists, each with a direction."""

    def faults(self) -> Iterator[tuple[int, str]]:
        """Faults of the lists independent of the plan: the line, and a sentence."""

    def management_ports(self) -> tuple[str, ...]:
        """The interfaces to the management network with lists of their own; none without filters there."""


@dataclass(frozen=True, slots=True)
class SwitchService:
    """A service listening on the management port."""

    name: str
    protocol: str
    port: int
    version: int
    line: int
    """First line of the service."""
    rules: tuple[Rule, ...] | None
    """Rules on its sources, the first match decides, other sources are refused; None if every source is allowed."""


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class SystemReader:
    """The reader of a system. Functions by file take the file's text."""

    system: str
    file: str
    """A device with this file runs the system."""
    kinds: frozenset[str]
    """Artifacts of its files."""
    router: Callable[[str, FileText], Router | None] | Unsupported
    """The facts about forwarding, from the device's name and its files."""
    lists: Callable[[str], Lists]
    """The packet filters."""
    openings: Mapping[str, Callable[[str, str, Planned | None], Iterator[Fault]]]
    """By file, settings that let packets bypass the filters."""
    unread: Mapping[str, Callable[[str], tuple[Unread, ...]]]
    """By file, text of unknown effect."""
    values: Mapping[str, FieldValues]
    """By file, fields with values that may differ from the rendered ones."""
    services: Callable[[str], Iterator[SwitchService]] | Unsupported
    """Services of the switch with their allowed sources."""
    servers: ServersByFile
    """By file, the servers used by the switch."""
    logins: Mapping[str, Callable[[str, str], Iterator[Login]]]
    """Accounts by file, or by folder with a slash at its end; the function takes a path and its text."""
    manages: frozenset[str]
    """The services and accounts, by their constants above, covered by these files."""
    silent: Callable[[str], Iterator[Fault]]
    """Services left switched off by the file, with their places."""
    routes: Mapping[str, Callable[[str, RouteCheck], Iterator[Fault]]]
    """By file, wrong routes."""
    named: re.Pattern[str]
    """Lines naming the addresses of interfaces and filters."""
    policy_lines: Callable[[str], Iterable[str]] | Unsupported
    """Lines defining BGP policies."""
    single_ports: bool = False
    """Whether its filters support no ranges of ports."""
    lists_by_port: bool = True
    """Whether ports of hosts may have different lists; False for a system with one table for the switch."""
    is_stateful: bool = False
    """Whether its filters recognise replies by connection tracking."""
    has_host_firewall: bool = False
    """Whether the Linux below filters the management port."""
    relays: ServersByFile = field(default_factory=dict)
    """By file, the servers used only for the switch's hosts, if another file has them."""
    normal_form: Callable[[str], str] = _as_it_is
    """A file printed by a device or edited by hand in the form of the other functions, line by line."""
    names_sources: frozenset[str] = frozenset()
    """The kinds of servers with a configurable source address for requests."""
    host_addresses: Mapping[str, Callable[[str], Iterator[str]]] = field(default_factory=dict)
    """By file, the addresses of the management port, if the Linux below sets it up and chooses source addresses.

    Empty if the system's own file sets it up.
    """
