"""Reading the interfaces of an EOS startup-config, their QoS profiles, and the switch's map of classes."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from clusterwright.facts.router import (
    DSCPS,
    STRICT,
    Aggregate,
    Mark,
    Port,
    PortQos,
    Prefix,
    QosMap,
    Watchdog,
    network_of,
    packed,
    thresholds,
)
from clusterwright.switches.eos.reader.sections import EosSection

Body = tuple[str, str]
_SPEED = re.compile(r"   speed (?:forced )?(\d+)(g|full)?(?:-(\d+))?")
_ADDRESS = re.compile(r"^   ip(?:v6)? address (\S+)/(\d+)$", re.M)
_NO_DROP = re.compile(r"^   priority-flow-control priority (\d) no-drop$", re.M)
_QUEUE = re.compile(r"^   ((?:uc-)?tx-queue) (\d+)\n((?:      .*\n)*)", re.M)
_BANDWIDTH = re.compile(r"^      bandwidth percent (\d+)$", re.M)
_LIST = re.compile(r"   (?:ip|ipv6|mac) access-group ")
_DEFAULT_MTU = 1500  # of EOS, in bytes
_MTU = re.compile(r"^   mtu (\d+)$", re.M)
_MARKS = re.compile(
    r"^      random-detect ecn minimum-threshold (\d+) (\w+) maximum-threshold (\d+) \2"
    r"(?: max-mark-probability (\d+))?",
    re.M,
)
_BYTES = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}
_WATCHDOG_DEFAULT = "priority-flow-control pause watchdog default"
_WATCHDOG = {
    "detection": f"{_WATCHDOG_DEFAULT} timeout ",
    "recovery": f"{_WATCHDOG_DEFAULT} recovery-time ",
    "manner": f"{_WATCHDOG_DEFAULT} polling-interval ",
}
_ACTION = "priority-flow-control pause watchdog action "
SwitchWatchdog = tuple[Watchdog, tuple[tuple[str, Mark], ...]]
CHANNEL = "Port-Channel"
_VLAN = "interface Vlan"
JOINS = re.compile(r"^   channel-group (\d+) mode (\S+)$", re.M)
_OF_A_PART = ("   description ", "   shutdown", "   speed ", "   error-correction ", "   mac security ")
_DESCRIPTION = "   description "
_ADDRESSES = ("   ip address ", "   ipv6 address ")


class _Settings(NamedTuple):
    """An interface's settings common to many others: all but its description and its address."""

    speed_gbps: float
    speed_line: str
    mtu_bytes: int
    fec: str
    profile_line: str
    own_qos: PortQos
    is_foreign: bool
    is_routed: bool
    lanes: int
    vlan: str
    filtered: tuple[str, ...]
    macsec: str


class _PortLines(NamedTuple):
    """The lines in which interfaces differ from each other, and all others as ``common`` text."""

    description: str
    address: bytes | None
    length: int
    address_line: str
    common: str


def _port_lines(body: str) -> _PortLines:
    """Separate the lines of an interface. Raises ValueError for an unreadable address."""
    description, address, length, address_line = "", None, 0, ""
    common_lines = []
    for line in body.split("\n"):
        if line.startswith(_DESCRIPTION):
            description = line.removeprefix(_DESCRIPTION)
        elif line.startswith(_ADDRESSES):
            text, _, bits = line.rsplit(" ", 1)[1].partition("/")
            address, length, address_line = packed(text), int(bits), line[3:]
        else:
            common_lines.append(line)
    return _PortLines(
        description=description,
        address=address,
        length=length,
        address_line=address_line,
        common="\n".join(common_lines),
    )


def read_ports(
    interfaces: Iterable[EosSection],
    profiles: Mapping[str, str],
    watchdog: SwitchWatchdog | None,
    macsec: Mapping[str, str],
    vlans: Container[str],
    *,
    reserves_counters: bool,
) -> tuple[tuple[Port, ...], tuple[tuple[Prefix, bytes], ...]]:
    """Ports in service of the default VRF, and the addresses of all its interfaces by subnet.

    ``profiles`` are those of QoS by name, ``watchdog`` is the result of ``read_watchdog``, ``macsec`` has cipher and
    keys by profile, and ``vlans`` are the switch's: an interface of any other is down. ``reserves_counters``: counters
    of ECN marks are set aside, else chips with ``tx-queue`` count none. Raises ValueError for addresses and for marking
    in other units than bytes.
    """
    ports, own_addresses = [], []
    interfaces = [interface for interface in interfaces if _has_vlan(interface, vlans)]
    bodies = [(interface.header, interface.body) for interface in interfaces]
    own_vlans = [body for body in bodies if body[0].startswith(_VLAN)]
    subnet_of, mtu_of = dict(_vlan_subnets(own_vlans)), dict(_vlan_mtus(own_vlans))
    channels = {header[10:]: body for header, body in bodies if header.startswith(f"interface {CHANNEL}")}
    qos_by_profile_line: dict[str, PortQos] = {}
    for name, body in profiles.items():
        qos = _port_qos(body, watchdog, profile=name, reserves_counters=reserves_counters)
        qos_by_profile_line[f"   service-profile {name}"] = qos
    for interface in interfaces:
        header, body = interface.header, interface.body
        joined = JOINS.search(body)
        if joined is not None:
            body = _in_channel(body, channels.get(f"{CHANNEL}{joined[1]}", ""))
        if "\n   shutdown\n" in f"\n{body}":
            continue
        name = header[10:]
        description, address, length, address_line, common = _port_lines(body)
        settings = _settings(common, watchdog, reserves_counters)
        if settings.is_foreign:
            continue
        subnet = None if address is None else network_of(address, length)
        if address is not None and subnet is not None:
            own_addresses.append((subnet, address))
        if not name.startswith(("Ethernet", "Et")):
            continue
        start, speed_mark, qos_mark, cable_mark = _places(
            header, settings.speed_line, settings.profile_line, "   description " if description else ""
        )
        mtu_bytes = settings.mtu_bytes
        if not settings.is_routed:
            # EOS heeds an MTU on routed interfaces alone: the hop's is that of the VLAN's interface.
            address, length, mtu_bytes = None, 0, mtu_of.get(settings.vlan, 0)
            subnet = subnet_of.get(settings.vlan)
        ports.append(
            Port(
                name=name,
                address=address,
                length=length,
                speed_gbps=settings.speed_gbps,
                peer=description.removeprefix("to "),
                qos=qos_by_profile_line.get(settings.profile_line, settings.own_qos),
                mtu_bytes=mtu_bytes,
                fec=settings.fec,
                lanes=settings.lanes,
                mark=(*start, address_line) if address_line else start,
                start=start,
                speed_mark=speed_mark,
                qos_mark=qos_mark,
                cable_mark=cable_mark,
                subnet=subnet_of.get(settings.vlan) if subnet is None else subnet,
                filtered=settings.filtered,
                macsec=macsec.get(settings.macsec, ""),
                aggregate=None if joined is None else _aggregate(start, joined, interface.body),
            )
        )
    return tuple(ports), tuple(own_addresses)


def _has_vlan(interface: EosSection, vlans: Container[str]) -> bool:
    """False for the interface of a missing VLAN, which is down."""
    if not interface.header.startswith(_VLAN):
        return True
    return interface.header.removeprefix(_VLAN) in vlans


@lru_cache(maxsize=1 << 14)
def _places(header: str, *lines: str) -> tuple[Mark, ...]:
    """Places of an interface and of its lines, equal on many switches; a missing line has the interface's place."""
    start = f"{header}\n"
    return (start,), *(_place(start, line) for line in lines)


def _place(start: str, line: str) -> Mark:
    return (start, line) if line else (start,)


def _in_channel(body: str, channel: str) -> str:
    """Settings of a channel's member port: those of the link from the port, all others from the channel."""
    lines = [line for line in body.splitlines() if line.startswith(_OF_A_PART)]
    shared = [line for line in channel.splitlines() if not line.startswith("   description ")]
    return "".join(f"{line}\n" for line in (*lines, *shared))


def _aggregate(start: Mark, joined: re.Match[str], body: str) -> Aggregate:
    rate = "fast" if "   lacp timer fast\n" in body else "slow"
    return Aggregate(name=f"{CHANNEL}{joined[1]}", mode=joined[2], rate=rate, mark=(*start, joined[0][3:]))


@lru_cache(maxsize=4096)
def _settings(body: str, watchdog: SwitchWatchdog | None, reserves_counters: bool) -> _Settings:
    """The settings of an interface beside its description and address, equal on many interfaces."""
    lines = body.split("\n")
    by_word = {line.split()[0]: line for line in lines if line.strip()}
    speed_gbps, speed_line, lanes = 0.0, "", 0
    speed = _SPEED.match(by_word.get("speed", ""))
    if speed is not None:
        units_per_gbps = 1 if speed[2] == "g" else 1000
        speed_gbps, speed_line, lanes = float(speed[1]) / units_per_gbps, speed[0], int(speed[3] or 0)
    mtu = by_word.get("mtu", "").split()
    fec = by_word.get("error-correction", "").split()
    return _Settings(
        speed_gbps=speed_gbps,
        speed_line=speed_line,
        mtu_bytes=int(mtu[1]) if mtu else _DEFAULT_MTU,
        fec=fec[-1] if fec and fec[0] == "error-correction" else "",
        profile_line=by_word.get("service-profile", ""),
        own_qos=_port_qos(f"{body}\n", watchdog, profile="", reserves_counters=reserves_counters),
        is_foreign="vrf" in by_word,
        is_routed="   no switchport" in lines,
        lanes=lanes,
        vlan=_last_word(lines, "   switchport access vlan "),
        filtered=tuple(sorted({line.split()[-1] for line in lines if _LIST.match(line)})),
        macsec=_last_word(lines, "   mac security profile "),
    )


def _last_word(lines: Iterable[str], start: str) -> str:
    """The last word of the first line that begins so, "" without one."""
    for line in lines:
        if line.startswith(start):
            return line.split()[-1]
    return ""


def _vlan_subnets(bodies: Iterable[Body]) -> Iterator[tuple[str, Prefix]]:
    """The subnet of each VLAN with an address in service, by the interfaces of VLANs."""
    for header, body in bodies:
        match = _ADDRESS.search(body)
        if match is not None and "   shutdown\n" not in body:
            yield header.removeprefix(_VLAN), network_of(packed(match[1]), int(match[2]))


def _vlan_mtus(bodies: Iterable[Body]) -> Iterator[tuple[str, int]]:
    """The MTU in bytes of each VLAN's interface."""
    for header, body in bodies:
        match = _MTU.search(body)
        yield header.removeprefix(_VLAN), int(match[1]) if match else _DEFAULT_MTU


@lru_cache(maxsize=4096)
def _port_qos(body: str, watchdog: SwitchWatchdog | None, *, profile: str, reserves_counters: bool) -> PortQos:
    """Classes in a profile, or in an interface if ``profile`` is empty."""
    lines = set(body.split("\n"))
    queues, marking, counted, places = [], [], [], []
    for word, number, queue in _QUEUE.findall(body):
        if profile:
            ecn = ("\n      random-detect ecn ",) if "      random-detect ecn " in queue else ()
            places.append((f"queue {number}", (f"qos profile {profile}\n", f"{word} {number}\n", *ecn)))
        if "      random-detect ecn count\n" in queue and (reserves_counters or word == "uc-tx-queue"):
            counted.append(int(number))
        for low, unit, high, chance in _MARKS.findall(queue):
            if unit not in _BYTES:
                raise ValueError(f"marking in {unit} cannot be compared with other switches")
            marks = thresholds(int(low) * _BYTES[unit], int(high) * _BYTES[unit], int(chance) if chance else None)
            marking.append((int(number), marks))
        bandwidth = _BANDWIDTH.search(queue)
        if bandwidth:
            queues.append((int(number), float(bandwidth[1])))
        elif "      priority strict\n" in queue:
            queues.append((int(number), STRICT))
    return PortQos(
        classifies="   qos trust dscp" in lines,
        lossless=frozenset(_paused(body)),
        watchdog=watchdog[0] if watchdog and "   priority-flow-control pause watchdog" in lines else None,
        shares=tuple(sorted(queues)),
        marking=tuple(sorted(marking)),
        counted=tuple(sorted(counted)),
        places=(*places, *(watchdog[1] if watchdog else ())),
    )


def read_watchdog(statements: tuple[str, ...]) -> SwitchWatchdog | None:
    """The switch's PFC watchdog with the places of its times; None without a time for stuck queues.

    Raises ValueError for times other than numbers of seconds.
    """
    statement_by_key: dict[str, str] = {}
    for key, start in _WATCHDOG.items():
        statement_by_key[key] = next((line for line in statements if line.startswith(start)), "")
    detection_ms = _ms(statement_by_key["detection"])
    if detection_ms is None:
        return None
    polls = statement_by_key["manner"].rpartition(" ")[2]
    action = next((line for line in statements if line.startswith(_ACTION)), "").rpartition(" ")[2]
    manner = f"looks every {polls or 'unstated number of'} s and takes the action {action or 'of the system'}"
    places = tuple((key, (line or statement_by_key["detection"],)) for key, line in statement_by_key.items())
    watchdog = Watchdog(detection_ms, _ms(statement_by_key["recovery"]), manner)
    return watchdog, places


def _ms(statement: str) -> int | None:
    """The time at the end of a statement; None for a missing statement, or for no time."""
    if not statement:
        return None
    seconds = float(statement.rpartition(" ")[2])
    return round(1000 * seconds) or None


def _paused(body: str) -> list[int]:
    """The priorities paused by a profile or an interface."""
    if "   priority-flow-control on\n" not in body:
        return []
    return [int(priority) for priority in _NO_DROP.findall(body)]


@lru_cache(maxsize=256)
def read_qos_map(statements: tuple[Body, ...], profiles: tuple[str, ...]) -> QosMap:
    """The switch's map from DSCP to class and queue, and the priorities paused by any of its profiles."""
    class_of: list[int | None] = [None] * DSCPS
    queue_of = {number: number for number in range(8)}  # EOS's default, which it does not print
    marks: dict[str, Mark] = {}
    for header, _ in statements:
        if match := re.fullmatch(r"qos map dscp ([\d ]+) to traffic-class (\d+)", header):
            for dscp in map(int, match[1].split()):
                if dscp < DSCPS:
                    class_of[dscp] = int(match[2])
                    marks[f"dscp {dscp}"] = (header,)
        elif match := re.fullmatch(r"qos map traffic-class ([\d ]+) to (?:uc-)?tx-queue (\d+)", header):
            for number in map(int, match[1].split()):
                queue_of[number] = int(match[2])
                marks[f"class {number}"] = (header,)
    lossless = frozenset(chain.from_iterable(map(_paused, profiles)))
    for priority in lossless:
        marks[f"priority {priority}"] = (f"   priority-flow-control priority {priority} no-drop",)
    return QosMap(
        class_of=tuple(class_of), queue_of=queue_of, lossless=lossless, marks=marks, group_of={}, paused=lossless
    )
