"""Reading a node's network files: systemd's .network of each NIC, and the script for the lossless class."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from clusterwright.facts.router import DSCPS, Aggregate, Mark, Prefix, packed, prefix_of
from clusterwright.finding import VerifyError

NETWORKS = "etc/systemd/network/20-"
DEVICES = "etc/systemd/network/10-"
SCRIPT = "usr/local/sbin/roce-qos"
PRIORITIES = 8
_DEFAULT_MTU = "1500"  # of Linux, in bytes


class ConfiguredNic(NamedTuple):
    """A NIC with an address, or one member of a bond with the bond's address."""

    device: str
    file: str
    name: str
    address: bytes
    length: int
    """Prefix length of the address."""
    peer: str
    """Switch and port in its description."""
    routes: tuple[tuple[Prefix, bytes | None], ...]
    """Destinations with their gateway; None for a destination on the link."""
    defaults: tuple[Mark, ...]
    """Places of default routes."""
    mark: Mark
    mtu_bytes: int
    faults: tuple[tuple[Mark, str], ...]
    """Obstacles to the use of the routes."""
    aggregate: Aggregate | None = None
    """The bond of a member."""

    @property
    def link(self) -> str:
        """The interface with the address: the NIC, or its bond."""
        return self.name if self.aggregate is None else self.aggregate.name


class ConfiguredQos(NamedTuple):
    """Settings made by the script on its interfaces."""

    interfaces: frozenset[str]
    trusts_dscp: bool
    lossless: frozenset[int]
    """The priorities with PFC."""
    priority_of: tuple[int, ...]
    """The priority of each DSCP; the NIC's own map takes the upper three bits."""
    connection_class: int | None
    """Traffic class byte of the RDMA connection manager; None without a setting."""
    congestion_control: tuple[tuple[int, bool], ...]
    """The priorities with DCQCN switched on or off, at both of its ends."""
    cable_m: int
    """Length of cable for the NICs' headroom."""
    devices: frozenset[str]
    """The RDMA devices whose connections get the class."""
    marks: tuple[tuple[str, Mark], ...]
    is_adaptive: bool = False
    """Whether packets of a flow may take different paths, and are accepted in any order."""


_NAME = re.compile(r"\nName=(.+)")
_DESCRIPTION = re.compile(r"\nDescription=(.*)")
_ADDRESS = re.compile(r"\nAddress=(\S+)/(\d+)$", re.M)
_MEMBER = re.compile(r"^Bond=(\S+)$", re.M)
_SETTING = re.compile(r"^(\w+)=(.*)$", re.M)
IPOIB = re.compile(r"^Kind=ipoib$", re.M)
_LACP = {"802.3ad": "active"}  # Linux speaks LACP actively by default; LACPActive= is an unread line
_MTU = re.compile(r"\nMTUBytes=(\d+)$", re.M)
_DESTINATION = re.compile(r"\nDestination=(\S+)$", re.M)
_GATEWAY = re.compile(r"\nGateway=(\S+)$", re.M)
_TABLE = re.compile(r"\nTable=(\d+)$", re.M)
# The value of DCQCN at the receiver (np, the notification point) and at the sender (rp, the reaction point).
_DCQCN_ON = {("1", "np"), ("1", "rp")}
_DCQCN_OFF = {("0", "np"), ("0", "rp")}
_MOVES = re.compile(r'for dscp in ([\d ]+); do\n.*--dscp2prio "set,\$dscp,(\d)"')


def read_nics(device: str, texts: Mapping[str, str]) -> Iterator[ConfiguredNic]:
    """The NICs of a node's .network files by path, members of a bond with the bond's settings.

    Raises VerifyError for unreadable text.
    """
    members: dict[str, list[tuple[str, str]]] = {}
    for file, text in texts.items():
        membership = _bond(text)
        if membership is not None:
            members.setdefault(membership[1], []).append((file, text))
    for file, text in texts.items():
        nic = None if _bond(text) else read_nic(device, file, text)
        if nic is None:
            continue
        netdev = texts.get(f"{DEVICES}{nic.name}.netdev")
        if netdev is not None and IPOIB.search(netdev):
            continue  # it carries no Ethernet; the claim about IP over InfiniBand reads it
        if netdev is None and nic.name not in members:
            yield nic
            continue
        aggregate = _aggregate(nic.name, netdev or "")
        for member_file, member_text in members.get(nic.name, ()):
            name = _NAME.search(member_text)
            yield nic._replace(
                file=nic.file,
                name=name[1] if name else member_file,
                peer=_peer_of(_DESCRIPTION.search(member_text)),
                aggregate=aggregate,
            )


def _peer_of(description: re.Match[str] | None) -> str:
    """Switch and port in a description such as ``fabric, to SWITCH PORT``; "" without a description."""
    if description is None:
        return ""
    return description[1].rpartition(", to ")[2]


def _bond(text: str) -> re.Match[str] | None:
    return _MEMBER.search(text) if "Bond=" in text else None


def _aggregate(name: str, text: str) -> Aggregate:
    """The device of a .netdev file; systemd.netdev(5): the default mode takes links in turn, with slow LACP."""
    settings: dict[str, str] = dict(_SETTING.findall(text))
    mode = settings.get("Kind", "of no kind")
    if mode == "bond":
        mode = settings.get("Mode", "balance-rr")
    return Aggregate(
        name=name, mode=_LACP.get(mode, mode), rate=settings.get("LACPTransmitRate", "slow"), mark=("Mode=",)
    )


def read_nic(device: str, file: str, text: str) -> ConfiguredNic | None:
    """The NIC of a .network file, None for one without an address. Raises VerifyError for unreadable text."""
    lines = f"\n{text}"  # a search for a line end is much faster than one for a beginning of a line
    name, description, address = _NAME.search(lines), _DESCRIPTION.search(lines), _ADDRESS.search(lines)
    if address is None or name is None:
        return None
    mtu = _MTU.search(lines)
    network_lines, _, behind = lines.partition("\n[Route]")
    routes, defaults = _routes(behind, name[1])
    if "\nGateway=" in network_lines:
        defaults = [*defaults, ("\nGateway=",)]
    try:
        return ConfiguredNic(
            device=device,
            file=file,
            name=name[1],
            address=packed(address[1]),
            length=int(address[2]),
            peer=_peer_of(description),
            routes=tuple(_packed_route(destination, hop) for destination, hop in routes),
            defaults=tuple(defaults),
            mark=(f"Address={address[1]}/{address[2]}",),
            mtu_bytes=int(mtu[1] if mtu else _DEFAULT_MTU),
            faults=tuple(_faults(text, behind, address[1])),
        )
    except ValueError as error:
        raise VerifyError(f"{device}:/{file}: {error}. Render the spec again.") from None


def _packed_route(destination: str, hop: str | None) -> tuple[Prefix, bytes | None]:
    return prefix_of(destination), None if hop is None else packed(hop)


def _faults(text: str, routes: str, address: str) -> Iterator[tuple[Mark, str]]:
    """Tables without a rule to them, and routes learnt from unconfigured routers."""
    length = 128 if ":" in address else 32
    for table in dict.fromkeys(_TABLE.findall(routes)):
        if f"\nFrom={address}/{length}\nTable={table}\n" not in text:
            yield (f"Table={table}",), f"no rule leads packets from {address} to table {table}, which has the routes"
    if ":" in address and "\nIPv6AcceptRA=no\n" not in text:
        yield ("[Network]",), "takes addresses and default routes from any router that sends advertisements"


def _routes(text: str, nic: str) -> tuple[list[tuple[str, str | None]], list[Mark]]:
    """Destinations with their hops over ``nic``, and places of default routes, from the first ``[Route]`` on.

    Hops over other NICs belong to the routes of those.
    """
    routes: list[tuple[str, str | None]] = []
    defaults: list[Mark] = []
    hop_over_nic = re.compile(rf"^(?:Gateway|MultiPathRoute)=([^@\s]+)(?:@{re.escape(nic)})?$", re.M)
    for section in text.split("\n[Route]"):
        body = section.split("\n[", 1)[0]
        destination, gateway = _DESTINATION.search(body), _GATEWAY.search(body)
        if destination is None or destination[1] in {"0.0.0.0/0", "::/0"}:
            setting = destination or gateway
            defaults.append((setting[0][1:],) if setting else ("[Route]",))
            continue
        hops = hop_over_nic.findall(body) or [None]
        routes += [(destination[1], hop) for hop in hops]
    return routes, defaults


@lru_cache(maxsize=256)
def read_qos_script(text: str) -> tuple[ConfiguredQos, ...]:
    """Settings of each group of interfaces in the script's loops.

    Raises ValueError if it does not set PFC at all.
    """
    if len(re.findall(r"\(\) \{$", text, re.M)) != len(re.findall(r"^\}$", text, re.M)):
        raise ValueError("a function is not closed, so the shell runs nothing")
    starts = [match.start() for match in re.finditer(r"^for interface in ", text, re.M)] or [0]
    ends = [*starts[1:], len(text)]
    return tuple(_nic_qos(text[start:end]) for start, end in zip(starts, ends, strict=True))


def _nic_qos(text: str) -> ConfiguredQos:
    pfc = re.search(r"--pfc ([01](?:,[01]){7})", text)
    if pfc is None:
        raise ValueError("no PFC setting is made")
    if len(re.findall(r"; do$", text, re.M)) != len(re.findall(r"^ *done$", text, re.M)):
        raise ValueError("a loop is not closed, so the shell runs none of it")
    marks: dict[str, Mark] = {"pfc": (pfc[0],)}
    priority_of = [dscp * PRIORITIES // DSCPS for dscp in range(DSCPS)]
    for match in _MOVES.finditer(text):
        for dscp in map(int, match[1].split()):
            if dscp < DSCPS:
                priority_of[dscp] = int(match[2])
                marks[f"dscp {dscp}"] = (match[0].split("\n")[0],)
    interfaces = re.search(r"for interface in (.+); do", text)
    marks["interfaces"] = (interfaces[0],) if interfaces else ()
    devices = re.search(r"^for device in (.+); do\n(?:.*\n)*?.*cma_roce_tos .* -p 1 ", text, re.M)
    cable = re.search(r"--cable_len (\d+)", text)
    marks["cable"] = (cable[0],) if cable else marks["interfaces"]
    marks["congestion"] = ("/ecn/roce_",)
    traffic_class = re.search(r"cma_roce_tos .*-t (\d+)", text)
    if traffic_class:
        marks["connection"] = (traffic_class[0],)
    return ConfiguredQos(
        interfaces=frozenset(interfaces[1].split()) if interfaces else frozenset(),
        trusts_dscp="--trust dscp" in text,
        lossless=frozenset(priority for priority, is_on in enumerate(pfc[1].split(",")) if is_on == "1"),
        priority_of=tuple(priority_of),
        connection_class=int(traffic_class[1]) if traffic_class else None,
        congestion_control=tuple(sorted(_congestion_control(text).items())),
        cable_m=int(cable[1]) if cable else 0,
        devices=frozenset(devices[1].split()) if devices else frozenset(),
        marks=tuple((key, _within(marks["interfaces"], mark)) for key, mark in marks.items()),
        is_adaptive=_is_adaptive(text),
    )


def _is_adaptive(text: str) -> bool:
    """Whether the last setting of the adapter's RoCE accelerations lets packets be routed adaptively."""
    settings = re.findall(r'^ *mstreg -d "\$address" --yes --reg_name ROCE_ACCL --set "([^"]*)"$', text, re.M)
    if not settings:
        return False
    values = dict(item.split("=") for item in settings[-1].split(",") if item.count("=") == 1)
    return values.get("adaptive_routing_forced_en") == "0x1"


def _within(block: Mark, mark: Mark) -> Mark:
    """The place of a mark behind the first line of its block."""
    if not mark or mark == block:
        return mark
    return (*block, *mark)


def _congestion_control(text: str) -> dict[int, bool]:
    """DCQCN by priority: on if both the receiver's and the sender's part are, off if both are off."""
    values_by_priority: dict[int, set[tuple[str, str]]] = {}
    for numbers, body in re.findall(r"for priority in ([\d ]+); do\n((?:.*echo .*\n)*)", text):
        switched = set(re.findall(r"echo ([01]) > .*/ecn/roce_(np|rp)/enable/\$priority", body))
        for number in map(int, numbers.split()):
            values_by_priority.setdefault(number, set()).update(switched)
    state_by_priority = {}
    for number, values in values_by_priority.items():
        if values in (_DCQCN_ON, _DCQCN_OFF):
            state_by_priority[number] = values == _DCQCN_ON
    return state_by_priority
