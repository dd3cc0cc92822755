"""The interface of a system's reader: facts from the text of its files, each with its place, and none from its writer.

Proofs ask every reader the same questions. One that a system has no answer to is ``Unsupported`` with the reason, never
left out.
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

RouteJudge = Callable[[str, str], str]
"""The fault of a route to a destination through a next hop, "" for none; a hop is "" where none is named."""

ServersByFile = Mapping[str, Callable[[str], Iterator["Server"]]]
"""By a file's path, the servers that its text names."""

FileText = Callable[[str], str]
"""The text of a device's file by its path, "" where it has none."""


class Unsupported(NamedTuple):
    """Why a system has no answer."""

    reason: str


class Planned(Protocol):
    """The part of the plan that openings are compared with."""

    @property
    def linked(self) -> Mapping[str, frozenset[str]]:
        """By switch, the ports that a cable or a border is planned for."""

    def knows(self, text: str) -> bool:
        """True for an address or prefix that begins on a planned network. Raises ValueError for what is none."""

    def misplaced(self, switch: str, port: str, text: str) -> str:
        """The fault of an address of a switch's interface, with or without its length; "" where it is planned.

        Raises ValueError for what is no address.
        """

    def unmet(self, switch: str, neighbour: str) -> str:
        """The fault of an address that a switch has a BGP session with; "" where the plan has a link or border
        there. Raises ValueError for what is no address.
        """


NAMES, TIME, LOGS, LOGINS, LEASES = "names", "the time", "its log", "logins", "hosts' leases"
SSH, EAPI, SNMP, GNMI = "SSH", "eAPI", "SNMP", "gNMI"
PASSWORDS = "operators' passwords"


class Server(NamedTuple):
    """A server that a file names for one of the services above: a switch asks it, or tells it what happens.

    ``at`` is where its name begins in the text. ``is_asked`` is False for one that nothing makes the switch ask, or
    that it would look for beside the network that its management port is on. ``source`` is the address that requests
    leave from: a named one, or that of the management port where this is all that its VRF has; "" where the text names
    none, so that it is that of whichever port leads there, or the Linux below decides by its own files.
    """

    at: int
    what: str
    address: str
    is_asked: bool = True
    source: str = ""


class Login(NamedTuple):
    """Something in a file that lets somebody in: an account, what opens it, or a user of SNMP.

    ``at`` is where it begins in the text. ``key`` is a public key (its type and the key) that opens the account,
    ``has_password`` says that a password does, ``hides_password`` that the text shows neither that nor the opposite,
    ``is_admin`` that the account may change the switch.
    """

    at: int
    name: str
    is_snmp: bool = False
    key: str = ""
    has_password: bool = False
    hides_password: bool = False
    is_admin: bool = False


def nothing_silent(text: str) -> Iterator[Fault]:
    """No service of a system whose services are on wherever they are spoken of."""
    yield from ()


class Lists(Protocol):
    """The packet filters of a switch. Methods raise Unreadable at unknown text."""

    def at(self, port: str, direction: str = IN) -> Ruleset:
        """The packets that a port lets in, or out."""

    def text(self, ports: Iterable[str]) -> str:
        """All text of the file that decides on packets entering these ports."""

    def bound(self) -> Iterator[tuple[str, str]]:
        """The ports that lists are on, each with a direction."""

    def faults(self) -> Iterator[tuple[int, str]]:
        """Faults of the lists that do not depend on the plan: the line, and a sentence."""

    def management_ports(self) -> tuple[str, ...]:
        """The interfaces to the management network that have lists of their own; none where nothing judges there."""


@dataclass(frozen=True, slots=True)
class SwitchService:
    """A service that listens on the management port: where its sources are listed, None for everybody.

    ``rules`` are asked in turn, a source that none of them takes is refused; ``line`` is where the service begins.
    """

    name: str
    protocol: str
    port: int
    version: int
    line: int
    rules: tuple[Rule, ...] | None


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class SystemReader:
    """The reader of a system. A device runs it when it has the ``file``.

    ``kinds`` are the artifacts that its files belong to. ``router`` gives what forwards packets; ``lists`` the packet
    filters; ``openings`` by file what takes packets past them, ``unread`` by file what nobody here knows, ``values`` by
    file which values need not be the rendered ones; ``services``
    who may speak to the switch; ``servers`` by file whom it asks, and ``relays`` for its hosts alone, where another
    file says that; ``logins`` who may log in, by file, or by folder where it ends in a slash, of a path and its text;
    ``manages`` which of the services, and of the words beside them, these files speak of, ``silent`` those that its
    file leaves switched off, each with its place; ``routes`` by file the routes that lead elsewhere. ``named`` finds
    lines that name the addresses of interfaces and filters, ``policy_lines`` those that make BGP's policies.
    ``single_ports`` says that its filters know no ranges of ports, ``is_stateful`` that they know replies by their
    connection, ``has_host_firewall`` that the Linux under it guards the management port. ``normal_form`` writes a
    file that a device printed, or somebody edited, in the form that the others read, line by line.
    """

    system: str
    file: str
    kinds: frozenset[str]
    router: Callable[[str, FileText], Router | None] | Unsupported
    lists: Callable[[str], Lists]
    openings: Mapping[str, Callable[[str, str, Planned | None], Iterator[Fault]]]
    unread: Mapping[str, Callable[[str], tuple[Unread, ...]]]
    values: Mapping[str, FieldValues]
    services: Callable[[str], Iterator[SwitchService]] | Unsupported
    servers: ServersByFile
    logins: Mapping[str, Callable[[str, str], Iterator[Login]]]
    manages: frozenset[str]
    silent: Callable[[str], Iterator[Fault]]
    routes: Mapping[str, Callable[[str, RouteJudge], Iterator[Fault]]]
    named: re.Pattern[str]
    policy_lines: Callable[[str], Iterable[str]] | Unsupported
    single_ports: bool = False
    lists_by_port: bool = True
    """Whether ports of hosts may have lists that differ; False where one table serves the switch."""
    is_stateful: bool = False
    has_host_firewall: bool = False
    relays: ServersByFile = field(default_factory=dict)
    normal_form: Callable[[str], str] = _as_it_is
    names_sources: frozenset[str] = frozenset()
    """The kinds of servers for which the system can be told an address to ask from."""
    host_addresses: Mapping[str, Callable[[str], Iterator[str]]] = field(default_factory=dict)
    """By file the addresses of the management port, where the Linux below sets it up and decides what requests leave
    from; empty where the system's own file says so."""
