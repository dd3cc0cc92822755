"""The content of a switch's files, for every operating system: ports, BGP sessions, policies and the QoS map.

Where something stands is kept as a ``Mark``: texts to be found one after another in the file, the last of which is
meant. A line is only counted when a counterexample needs it, which keeps the reading of a whole cluster cheap.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

Mark = tuple[str, ...]
Prefix = tuple[bytes, int]  # the packed address, its length in bits
DSCPS = 64
DEFAULT_BFD_MS = 900  # three packets of 300 ms each: EOS, FRR
DEFAULT_HOLD_TIME_S = 180  # of EOS and FRR (SONiC)


class PrefixRule(NamedTuple):
    """One entry of a prefix list: prefixes inside ``within`` whose length is from ``low`` to ``high``."""

    permit: bool
    within: Prefix
    low: int
    high: int


PrefixRules = tuple[PrefixRule, ...]


class Term(NamedTuple):
    """One term of a policy. ``prefixes`` and ``communities`` must both match; None matches everything.

    ``change`` says what happens to a permitted route's communities: ``set``, ``add``, ``remove`` or nothing.
    """

    permit: bool
    list_name: str
    prefixes: PrefixRules | None
    communities: frozenset[str] | None
    change: str
    values: frozenset[str]
    mark: Mark


Policy = tuple[Term, ...]
PERMIT_ALL: Policy = (
    Term(permit=True, list_name="", prefixes=None, communities=None, change="", values=frozenset(), mark=()),
)


Marking = tuple[tuple[int, str], ...]  # queues that mark packets, with their thresholds


class Watchdog(NamedTuple):
    """When a paused queue counts as stuck and when it is served again, None where the text leaves that open.

    ``manner`` says what is each operating system's own: how often it looks, and what it does with the packets.
    """

    detection_ms: int | None
    recovery_ms: int | None
    manner: str


class PortQos(NamedTuple):
    """How a port treats classes.

    ``classifies`` tells whether it sorts packets by the switch's map of DSCPs. ``lossless`` are the priorities that it
    pauses for and is paused for, ``watchdog`` how a pause without end is broken, if at all. ``shares`` are its
    queues with their part of the bandwidth, STRICT for one that goes first. ``headroom_bytes`` is what the least of the
    lossless priorities has after a pause, ``cable_m`` the length that the text states; None where it says nothing of
    them.
    ``counted`` are queues whose ECN marks a statement counts, None where the system always does. ``places`` leads to
    what says so, by ``queue N``, ``detection``, ``recovery`` and ``manner``; what is not there is at ``qos_mark``.
    """

    classifies: bool = False
    lossless: frozenset[int] = frozenset()
    watchdog: Watchdog | None = None
    shares: tuple[tuple[int, float], ...] = ()
    headroom_bytes: int | None = None
    cable_m: float | None = None
    marking: Marking = ()
    counted: tuple[int, ...] | None = None
    places: tuple[tuple[str, Mark], ...] = ()
    losses: tuple[tuple[str, Mark], ...] = ()
    """A cause that drops packets of a lossless priority: a sentence without its subject, and its place."""


STRICT = -1.0


class Aggregate(NamedTuple):
    """Ports that are one link, by its ``name`` on the device; ``mark`` is its place.

    ``mode`` is ``active`` or ``passive`` of LACP (IEEE 802.1AX), or another word of the text's for a link without it;
    ``rate`` is ``fast`` or ``slow``.
    """

    name: str
    mode: str
    rate: str
    mark: Mark


class Port(NamedTuple):
    """A port in service. ``peer`` is the other end of its cable as its description has it: ``device port``.

    ``address`` is None on a port that only switches. ``mtu_bytes`` is the longest IP packet, 0 where nothing is said of
    it; ``fec`` is ``reed-solomon``, ``fire-code``, ``none``, or empty where the text leaves it open, as ``lanes`` is 0
    there. ``subnet`` is what hosts on the port share, its own or that of its VLAN. ``mark`` is the place of the
    address, ``start`` that of the port's first line, ``cable_mark`` that of the description. ``filtered`` are the
    directions (``in``, ``out``) in which the port asks an access list, ``macsec`` names cipher and keys by which it
    encrypts, empty where it does not. What is said of an ``aggregate`` that it is a part of, is said of it.
    """

    name: str
    address: bytes | None
    length: int
    speed_gbps: float
    peer: str
    qos: PortQos
    mtu_bytes: int
    fec: str
    lanes: int
    mark: Mark
    start: Mark
    speed_mark: Mark
    qos_mark: Mark
    cable_mark: Mark
    subnet: Prefix | None
    filtered: tuple[str, ...] = ()
    macsec: str = ""
    aggregate: Aggregate | None = None
    is_adaptive: bool = False
    """Whether packets that leave by it may take another of the equal paths each."""


class Session(NamedTuple):
    """One configured BGP neighbour. ``local`` is the own address where the text names it.

    ``into`` and ``out_of`` are names of policies, empty where none is attached. ``has_bfd`` tells whether BFD watches
    the neighbour, ``most_routes`` how many it may announce, 0 for any number. ``authentication`` says by what both ends
    prove who they are, empty where nothing does, and ``auth_mark`` where. ``hold_time_s`` is how long a silent
    neighbour counts as alive, and ``hold_mark`` where that stands. ``restart_s`` is how long neighbours are to keep
    the routes while BGP restarts, None for the system's own time, 0 where that is off; ``restart_mark`` is its place.
    ``bfd_ms`` is how long BFD takes a silent neighbour for alive.
    """

    peer: bytes
    local: bytes | None
    remote_as: int
    into: str
    out_of: str
    mark: Mark
    group_mark: Mark
    as_mark: Mark
    local_mark: Mark
    has_bfd: bool = False
    most_routes: int = 0
    authentication: str = ""
    auth_mark: Mark = ()
    hold_time_s: int = DEFAULT_HOLD_TIME_S
    hold_mark: Mark = ()
    restart_s: int | None = 0
    restart_mark: Mark = ()
    bfd_ms: int = DEFAULT_BFD_MS


@dataclass(frozen=True, slots=True)
class QosMap:
    """How a switch treats a packet by its DSCP: traffic class, the class's queue, and which PFC priorities exist.

    ``class_of`` has 64 entries, None where nothing is said. ``group_of`` maps classes to priority groups, which decide
    about a pause; a class that is not in it is its own group. ``paused`` are the groups that pause. ``marks`` leads to
    what says so, by ``dscp N``, ``class N``, ``group N`` and ``priority N``.
    """

    class_of: tuple[int | None, ...]
    queue_of: Mapping[int, int]
    lossless: frozenset[int]
    marks: Mapping[str, Mark]
    group_of: Mapping[int, int]
    paused: frozenset[int]


class HeadroomPool(NamedTuple):
    """A pool of buffer memory: its headroom in bytes, what all share beside it, and what ports are promised of it."""

    name: str
    headroom_bytes: int
    shared_bytes: int
    promised_bytes: int
    mark: Mark


class HashFunction(NamedTuple):
    """An algorithm, by one name for all systems where two have it, and the seed that it starts from."""

    algorithm: str
    seed: int


@dataclass(frozen=True, eq=False, slots=True)
class Router:
    """A switch that routes.

    ``role`` is what the spec calls it by, empty without one. ``ports_file`` and ``bgp_file`` are paths on the device,
    ``own_addresses`` its addresses by subnet. ``keeps_communities`` tells whether routes go out with the communities
    that they have. ``max_paths`` is 0 where the text sets no limit. ``defaults`` are places where a default route is
    configured for traffic, ``discards`` the prefixes with a route to nowhere, ``leaks`` places that bring foreign
    routes into BGP, with what they do. ``spreads_by`` names what equal paths are chosen by beyond addresses and
    ports, None where the text says nothing; ``spread_mark`` is where it should. ``hash_function`` is what they are
    chosen with, None where the text leaves that to the switch; ``seed_mark`` is the place of its seed. ``pools`` are
    those of headroom that the text sizes, none where the chip does. ``advertised`` are the subnets whose hosts hear
    that the switch is their router and that addresses come by DHCPv6, ``relayed`` those whose requests for addresses it
    passes on. ``relay_sources`` are the addresses that it asks servers from, by these subnets; without one, requests
    leave from whichever port leads to the server.
    """

    device: str
    ports_file: str
    bgp_file: str
    keeps_communities: bool
    router_id: str
    router_id_mark: Mark
    asn: int
    asn_mark: Mark
    max_paths: int
    max_paths_mark: Mark
    ports: tuple[Port, ...]
    own_addresses: tuple[tuple[Prefix, bytes], ...]
    sessions: tuple[Session, ...]
    networks: tuple[tuple[Prefix, Mark], ...]
    policies: Mapping[str, Policy]
    qos: QosMap | None
    defaults: tuple[Mark, ...] = ()
    discards: frozenset[Prefix] = frozenset()
    leaks: tuple[tuple[Mark, str], ...] = ()
    spreads_by: str | None = None
    spread_mark: Mark = ()
    hash_function: HashFunction | None = None
    seed_mark: Mark = ()
    pools: tuple[HeadroomPool, ...] = ()
    role: str = ""
    advertised: frozenset[Prefix] = frozenset()
    relayed: frozenset[Prefix] = frozenset()
    relay_sources: Mapping[Prefix, bytes] = field(default_factory=dict)

    def has_route_for(self, prefix: Prefix) -> bool:
        """True when the switch has a route that lets it announce a prefix: a subnet of its own, or a discard route."""
        return prefix in self.discards or any(subnet == prefix for subnet, _ in self.own_addresses)

    @property
    def stem(self) -> str:
        """Its role; without a spec the beginning of its name."""
        return self.role or stem_of(self.device)

    @property
    def is_silent(self) -> bool:
        """True for a switch that tells no neighbour anything, as one that is drained does."""
        policies = [self.policy(name) for name in {session.out_of for session in self.sessions}]
        return bool(policies) and not any(term.permit for policy in policies for term in policy)

    def policy(self, name: str) -> Policy:
        """The policy of that name. Without a name everything is permitted; one that is not there permits nothing."""
        return self.policies.get(name, ()) if name else PERMIT_ALL


@lru_cache(maxsize=1 << 14)
def stem_of(device: str) -> str:
    """A device's name without the places and numbers at its end, as ``rail-leaf`` of ``rail-leaf-p00r00-01``."""
    return re.sub(r"(-[^-]*\d[^-]*)+$", "", device)


def thresholds(low_bytes: int, high_bytes: int, percent: int | None) -> str:
    """How a queue marks, in one wording for all systems."""
    chance = "" if percent is None else f", up to {percent} %"
    return f"from {low_bytes:,} to {high_bytes:,} bytes{chance}"


def packed(text: str) -> bytes:
    """An IPv4 or IPv6 address as 4 or 16 bytes. Raises ValueError for anything else."""
    try:
        return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)
    except OSError as error:
        raise ValueError(f"{text!r} is no IP address") from error


def is_address(text: str) -> bool:
    """True for an IPv4 or IPv6 address, and not for the name of an interface or group."""
    try:
        packed(text)
    except ValueError:
        return False
    return True


def shown(address: bytes) -> str:
    """An address as people write it."""
    return socket.inet_ntop(socket.AF_INET6 if len(address) == 16 else socket.AF_INET, address)


def shown_prefix(prefix: Prefix) -> str:
    """A prefix as people write it."""
    return f"{shown(prefix[0])}/{prefix[1]}"


@lru_cache(maxsize=65536)
def prefix_of(text: str) -> Prefix:
    """``address/length`` as a network, host bits cleared. Raises ValueError."""
    address, _, length = text.partition("/")
    return network_of(packed(address), int(length))


def network_of(address: bytes, length: int) -> Prefix:
    """The network that an address lies in. Raises ValueError for a length that no such address has."""
    size = 8 * len(address)
    if not 0 <= length <= size:
        raise ValueError(f"/{length} is no prefix length of {shown(address)}")
    shift = size - length
    return (int.from_bytes(address, "big") >> shift << shift).to_bytes(len(address), "big"), length


def covers(outer: Prefix, inner: Prefix) -> bool:
    """True when every address of ``inner`` lies in ``outer``."""
    if len(outer[0]) != len(inner[0]) or inner[1] < outer[1]:
        return False
    shift = 8 * len(outer[0]) - outer[1]
    return int.from_bytes(inner[0], "big") >> shift << shift == int.from_bytes(outer[0], "big")


def list_permits(rules: PrefixRules, prefix: Prefix) -> bool:
    """The decision of a prefix list on a prefix: the first entry that matches decides, none refuses."""
    for rule in rules:
        if rule.low <= prefix[1] <= rule.high and covers(rule.within, prefix):
            return rule.permit
    return False


def apply_policy(policy: Policy, prefix: Prefix, communities: frozenset[str]) -> frozenset[str] | None:
    """The communities of a route after a policy, None where the policy refuses it."""
    for term in policy:
        if term.prefixes is not None and not list_permits(term.prefixes, prefix):
            continue
        if term.communities is not None and not term.communities & communities:
            continue
        return changed(term, communities) if term.permit else None
    return None


def changed(term: Term, communities: frozenset[str]) -> frozenset[str]:
    """The communities that a term leaves on a route."""
    if term.change == "set":
        return term.values
    if term.change == "add":
        return communities | term.values
    return communities - term.values if term.change == "remove" else communities


def line_of(text: str, mark: Mark) -> int:
    """The line, from 1, that a mark leads to in a text; 0 where it leads nowhere."""
    at = 0
    for number, needle in enumerate(mark, 1):
        found = text.find(needle, at)
        if found < 0:
            return 0
        at = found if number == len(mark) else found + len(needle)
    return text.count("\n", 0, at + (mark[-1][0] == "\n")) + 1 if mark else 0


def leads_outside(router: Router, session: Session, devices: frozenset[str]) -> bool:
    """True for a neighbour on a port of the switch that is cabled to none of the tree's devices: the site beyond."""
    ends = {port.subnet: port for port in router.ports if port.address is not None}
    port = ends.get(network_of(session.peer, 8 * len(session.peer) - 1))
    return port is not None and port.peer.partition(" ")[0] not in devices
