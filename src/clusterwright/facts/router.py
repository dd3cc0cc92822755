"""The content of a switch's files for every operating system: ports, BGP sessions, policies and the QoS map.

A place is stored as a ``Mark``: texts to find one after another in the file, the last at the place itself. Lines are
counted only for counterexamples, which keeps the reading of a whole cluster cheap.
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
    """One entry of a prefix list: prefixes inside ``within`` with a length from ``low`` to ``high``."""

    permit: bool
    within: Prefix
    low: int
    high: int


PrefixRules = tuple[PrefixRule, ...]


class Term(NamedTuple):
    """One term of a policy. ``prefixes`` and ``communities`` must both match; None matches everything.

    ``change`` is the operation on a permitted route's communities: ``set``, ``add``, ``remove`` or "".
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


Marking = tuple[tuple[int, str], ...]  # queues marking packets, with their thresholds


class Watchdog(NamedTuple):
    """The PFC watchdog; times not in the text are None."""

    detection_ms: int | None
    """Time of pause after which a queue counts as stuck."""
    recovery_ms: int | None
    """Time after which it is served again."""
    manner: str
    """Settings in the operating system's own form: polling, and the action on packets."""


class PortQos(NamedTuple):
    """A port's treatment of classes."""

    classifies: bool = False
    """Whether it classifies packets by the switch's map of DSCPs."""
    lossless: frozenset[int] = frozenset()
    """Priorities with PFC in both directions."""
    watchdog: Watchdog | None = None
    shares: tuple[tuple[int, float], ...] = ()
    """Queues with their share of the bandwidth, STRICT for a queue of strict priority."""
    headroom_bytes: int | None = None
    """The least headroom of a lossless priority; None if not in the text."""
    cable_m: float | None = None
    """The cable's length; None if not in the text."""
    marking: Marking = ()
    counted: tuple[int, ...] | None = None
    """Queues with counted ECN marks; None for a system that counts them always."""
    places: tuple[tuple[str, Mark], ...] = ()
    """Places by ``queue N``, ``detection``, ``recovery`` and ``manner``; everything else is at ``qos_mark``."""
    losses: tuple[tuple[str, Mark], ...] = ()
    """Reasons for loss of packets of a lossless priority: a sentence without its subject, and its place."""


STRICT = -1.0


class Aggregate(NamedTuple):
    """Ports combined into one link."""

    name: str
    """The link's name on the device."""
    mode: str
    """``active`` or ``passive`` of LACP (IEEE 802.1AX), or another word of the text for a link without it."""
    rate: str  # "fast" or "slow"
    mark: Mark


class Port(NamedTuple):
    """A port in service; a member of an aggregate has the aggregate's settings."""

    name: str
    address: bytes | None
    """None on a port that only switches."""
    length: int
    speed_gbps: float
    peer: str
    """The other end of its cable by its description: ``device port``."""
    qos: PortQos
    mtu_bytes: int
    """The longest IP packet; 0 if not in the text."""
    fec: str
    """``reed-solomon``, ``fire-code``, ``none``, or empty if not in the text."""
    lanes: int
    """0 if not in the text."""
    mark: Mark
    """The place of the address."""
    start: Mark
    """The place of the port's first line."""
    speed_mark: Mark
    qos_mark: Mark
    cable_mark: Mark
    """The place of the description."""
    subnet: Prefix | None
    """The subnet of hosts on the port, its own or its VLAN's."""
    filtered: tuple[str, ...] = ()
    """Directions with an access list, ``in`` or ``out``."""
    macsec: str = ""
    """Cipher and keys of MACsec, empty without encryption."""
    aggregate: Aggregate | None = None
    is_adaptive: bool = False
    """Whether each outgoing packet may take another of the equal paths."""


class Session(NamedTuple):
    """One configured BGP neighbour."""

    peer: bytes
    local: bytes | None
    """The switch's own address; None if not in the text."""
    remote_as: int
    into: str
    """Name of the inbound policy, empty for none."""
    out_of: str
    """Name of the outbound policy, empty for none."""
    mark: Mark
    group_mark: Mark
    as_mark: Mark
    local_mark: Mark
    has_bfd: bool = False
    most_routes: int = 0
    """Limit on the neighbour's announced routes, 0 for none."""
    authentication: str = ""
    """Authentication of both ends, empty for none."""
    auth_mark: Mark = ()
    hold_time_s: int = DEFAULT_HOLD_TIME_S
    """Time for which a silent neighbour counts as alive."""
    hold_mark: Mark = ()
    restart_s: int | None = 0
    """Time for which neighbours keep routes during a BGP restart; None for the system's default, 0 for off."""
    restart_mark: Mark = ()
    bfd_ms: int = DEFAULT_BFD_MS
    """Time for which a silent neighbour counts as alive to BFD."""


@dataclass(frozen=True, slots=True)
class QosMap:
    """A switch's treatment of packets by DSCP: traffic class, the class's queue, and PFC priorities."""

    class_of: tuple[int | None, ...]
    """Class by DSCP, 64 entries; None for one not in the text."""
    queue_of: Mapping[int, int]
    """Queue by class."""
    lossless: frozenset[int]
    marks: Mapping[str, Mark]
    """Places by ``dscp N``, ``class N``, ``group N`` and ``priority N``."""
    group_of: Mapping[int, int]
    """Priority group by class, for pauses; a missing class is its own group."""
    paused: frozenset[int]
    """Priority groups with PFC."""


class HeadroomPool(NamedTuple):
    """A pool of buffer memory."""

    name: str
    headroom_bytes: int
    shared_bytes: int
    """Memory shared by all ports beside the headroom."""
    promised_bytes: int
    """Headroom promised to ports in total."""
    mark: Mark


class HashFunction(NamedTuple):
    """A hash algorithm, with the same name for all systems, and its seed."""

    algorithm: str
    seed: int


@dataclass(frozen=True, eq=False, slots=True)
class Router:
    """A switch with routing."""

    device: str
    ports_file: str  # path on the device
    bgp_file: str  # path on the device
    keeps_communities: bool
    """Whether routes are announced with their communities."""
    router_id: str
    router_id_mark: Mark
    asn: int
    asn_mark: Mark
    max_paths: int
    """Limit on equal paths, 0 for none."""
    max_paths_mark: Mark
    ports: tuple[Port, ...]
    own_addresses: tuple[tuple[Prefix, bytes], ...]
    """Its addresses, each with its subnet."""
    sessions: tuple[Session, ...]
    networks: tuple[tuple[Prefix, Mark], ...]
    """The prefixes originated by the switch."""
    policies: Mapping[str, Policy]
    qos: QosMap | None
    defaults: tuple[Mark, ...] = ()
    """Places of configured default routes for traffic."""
    discards: frozenset[Prefix] = frozenset()
    """Prefixes with a discard route."""
    leaks: tuple[tuple[Mark, str], ...] = ()
    """Places importing foreign routes into BGP, with their effect."""
    spreads_by: str | None = None
    """Fields hashed for equal paths beyond addresses and ports; None if not in the text."""
    spread_mark: Mark = ()
    hash_function: HashFunction | None = None
    """None if not in the text."""
    seed_mark: Mark = ()
    pools: tuple[HeadroomPool, ...] = ()
    """Pools of headroom sized by the text, none if the chip sizes them."""
    role: str = ""
    """The switch's role in the spec, empty without a spec."""
    advertised: frozenset[Prefix] = frozenset()
    """Subnets with router advertisements pointing hosts to DHCPv6."""
    relayed: frozenset[Prefix] = frozenset()
    """Subnets with a DHCP relay."""
    relay_sources: Mapping[Prefix, bytes] = field(default_factory=dict)
    """Source address of the relay by subnet; without one, it is the address of the outgoing port."""

    def has_route_for(self, prefix: Prefix) -> bool:
        """True if the switch has a route for announcing a prefix: a subnet of its own, or a discard route."""
        return prefix in self.discards or any(subnet == prefix for subnet, _ in self.own_addresses)

    @property
    def stem(self) -> str:
        """The switch's role; without a spec, the beginning of its name."""
        return self.role or stem_of(self.device)

    @property
    def is_silent(self) -> bool:
        """True for a switch announcing nothing to any neighbour, such as a drained one."""
        if not self.sessions:
            return False
        for name in {session.out_of for session in self.sessions}:
            if any(term.permit for term in self.policy(name)):
                return False
        return True

    def policy(self, name: str) -> Policy:
        """The policy of that name; an empty name permits everything, a missing policy nothing."""
        return self.policies.get(name, ()) if name else PERMIT_ALL


@lru_cache(maxsize=1 << 14)
def stem_of(device: str) -> str:
    """A device's name without the numbered parts at its end, such as ``rail-leaf`` of ``rail-leaf-p00r00-01``."""
    return re.sub(r"(-[^-]*\d[^-]*)+$", "", device)


def thresholds(low_bytes: int, high_bytes: int, percent: int | None) -> str:
    """A queue's ECN thresholds, in one wording for all systems."""
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
    """An address in its usual text form."""
    return socket.inet_ntop(socket.AF_INET6 if len(address) == 16 else socket.AF_INET, address)


def shown_prefix(prefix: Prefix) -> str:
    """A prefix in its usual text form."""
    return f"{shown(prefix[0])}/{prefix[1]}"


@lru_cache(maxsize=65536)
def prefix_of(text: str) -> Prefix:
    """``address/length`` as a network, host bits cleared. Raises ValueError."""
    address, _, length = text.partition("/")
    return network_of(packed(address), int(length))


def network_of(address: bytes, length: int) -> Prefix:
    """The network of an address. Raises ValueError for an impossible length."""
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
    """The decision of a prefix list on a prefix: the first matching entry's, or a refusal without one."""
    for rule in rules:
        if rule.low <= prefix[1] <= rule.high and covers(rule.within, prefix):
            return rule.permit
    return False


def apply_policy(policy: Policy, prefix: Prefix, communities: frozenset[str]) -> frozenset[str] | None:
    """The communities of a route after a policy, None for a refused route."""
    for term in policy:
        if term.prefixes is not None and not list_permits(term.prefixes, prefix):
            continue
        if term.communities is not None and not term.communities & communities:
            continue
        if not term.permit:
            return None
        return changed(term, communities)
    return None


def changed(term: Term, communities: frozenset[str]) -> frozenset[str]:
    """A route's communities after a term."""
    if term.change == "set":
        return term.values
    if term.change == "add":
        return communities | term.values
    if term.change == "remove":
        return communities - term.values
    return communities


def line_of(text: str, mark: Mark) -> int:
    """The line of a mark in a text, from 1; 0 for a mark not in the text."""
    if not mark:
        return 0
    offset = end = 0
    for needle in mark:
        offset = text.find(needle, end)
        if offset < 0:
            return 0
        end = offset + len(needle)
    if mark[-1].startswith("\n"):
        offset += 1
    return text.count("\n", 0, offset) + 1


def leads_outside(router: Router, session: Session, devices: frozenset[str]) -> bool:
    """True for a neighbour outside the tree: on a port of the switch cabled to none of the tree's devices."""
    port_by_subnet = {port.subnet: port for port in router.ports if port.address is not None}
    port = port_by_subnet.get(network_of(session.peer, 8 * len(session.peer) - 1))
    if port is None:
        return False
    device = port.peer.partition(" ")[0]
    return device not in devices
