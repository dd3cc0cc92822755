"""What a configuration of Acme OS says. A line that nothing here knows is unread, and leaves its claims not proven."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clusterwright.facts.reader import (
    IN,
    LOGS,
    NAMES,
    TIME,
    Fault,
    Login,
    Planned,
    RouteCheck,
    Server,
    SystemReader,
    Unsupported,
    nothing_silent,
)
from clusterwright.facts.unread import Unread
from clusterwright.facts.values import FieldValues, field_pattern
from clusterwright.packets.filters import Ruleset

KIND = "acme"
PATH = "etc/acme/startup"
_KNOWN = re.compile(r"hostname \S+|management \S+|(?:nameserver|time|log) \S+|user \S+ \S+ .+")
_SERVER = re.compile(r"^(nameserver|time|log) (\S+)$", re.M)
_SERVICES = {"nameserver": NAMES, "time": TIME, "log": LOGS}
_USER = re.compile(r"^user (\S+) (\S+) (\S+ \S+)", re.M)
_MANAGEMENT = re.compile(r"^management (\S+)$", re.M)
_NO_ROUTER = Unsupported("a subnet manager says how it forwards")


class AcmeLists:
    """Acme OS has no packet filters: its management port takes SSH alone, which is fixed in the image."""

    def __init__(self, text: str) -> None:
        del text

    def at(self, port: str, direction: str = IN) -> Ruleset:
        """No port has a list."""
        raise LookupError(f"{port} has no list {direction}")

    def text(self, ports: Iterable[str]) -> str:
        """Nothing decides what ports let in."""
        return ""

    def bound(self) -> Iterator[tuple[str, str]]:
        """No lists are bound."""
        yield from ()

    def faults(self) -> Iterator[tuple[int, str]]:
        """Nothing can be wrong with no list."""
        yield from ()

    def management_ports(self) -> tuple[str, ...]:
        """No interface has lists of its own."""
        return ()


def unread(text: str) -> tuple[Unread, ...]:
    """Lines of which nothing here knows what they do."""
    places = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not _KNOWN.fullmatch(line):
            places.append(Unread(PATH, number, line, frozenset()))
    return tuple(places)


def openings(text: str, device: str, planned: Planned | None) -> Iterator[Fault]:
    """Addresses of the management port that the plan does not give it."""
    if planned is None:
        return
    for match in _MANAGEMENT.finditer(text):
        fault = planned.misplaced(device, "mgmt0", match[1])
        if fault:
            yield match.start(), fault


def servers(text: str) -> Iterator[Server]:
    """Servers of names and time, and those that are told the log."""
    for match in _SERVER.finditer(text):
        yield Server(match.start(), _SERVICES[match[1]], match[2])


def logins(path: str, text: str) -> Iterator[Login]:
    """Every account with the key that opens it."""
    del path
    for match in _USER.finditer(text):
        yield Login(match.start(), match[1], key=match[3], is_admin=match[2] == "admin")


def routes(text: str, check_route: RouteCheck) -> Iterator[Fault]:
    """Acme OS has no routes."""
    yield from ()


READER = SystemReader(
    system="acme-os",
    file=PATH,
    kinds=frozenset({KIND}),
    router=_NO_ROUTER,
    lists=AcmeLists,
    openings={PATH: openings},
    unread={PATH: unread},
    values={PATH: FieldValues(judged=field_pattern(""), harmless=())},
    services=Unsupported("the image says which services listen"),
    servers={PATH: servers},
    logins={PATH: logins},
    manages=frozenset({NAMES, TIME, LOGS}),
    silent=nothing_silent,
    routes={PATH: routes},
    named=re.compile(r"^management .*$", re.M),
    policy_lines=_NO_ROUTER,
)
