"""Reading a node's network files: systemd's .network of each NIC, the script for the lossless class, nccl.conf."""

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
    """A NIC with an address, or one member of a bond with its address, ``aggregate``.

    ``peer`` is the switch and port in its description, ``mtu_bytes`` its longest packet. ``routes`` are destinations
    with their gateway in the text, None for one on the link; ``defaults`` are the places of default routes, ``faults``
    obstacles to the routes' use.
    """

    device: str
    file: str
    name: str
    address: bytes
    length: int
    peer: str
    routes: tuple[tuple[Prefix, bytes | None], ...]
    defaults: tuple[Mark, ...]
    mark: Mark
    mtu_bytes: int
    faults: tuple[tuple[Mark, str], ...]
    aggregate: Aggregate | None = None

    @property
    def link(self) -> str:
        """The interface with the address: the NIC, or its bond."""
        return self.name if self.aggregate is None else self.aggregate.name


class ConfiguredQos(NamedTuple):
    """Settings made by the script on its interfaces.

    ``priority_of`` has the priority of each DSCP; the NIC's own map takes the upper three bits. ``lossless`` are the
    priorities with PFC. ``connection_class`` is the traffic class byte of the RDMA connection manager, None if it is
    left alone. ``congestion_control`` has the priorities with DCQCN switched on or off, at both of its ends;
    ``cable_m`` is the length of cable for the NICs' headroom, ``devices`` are the RDMA devices whose connections get
    the class.
    """

    interfaces: frozenset[str]
    trusts_dscp: bool
    lossless: frozenset[int]
    priority_of: tuple[int, ...]
    connection_class: int | None
    congestion_control: tuple[tuple[int, bool], ...]
    cable_m: int
    devices: frozenset[str]
    marks: tuple[tuple[str, Mark], ...]
    is_adaptive: bool = False
    """Whether its packets may take another way each, and are taken in any order."""


_NAME = re.compile(r"\nName=(.+)")
_DESCRIPTION = re.compile(r"\nDescription=(.*)")
_ADDRESS = re.compile(r"\nAddress=(\S+)/(\d+)$", re.M)
_MEMBER = re.compile(r"^Bond=(\S+)$", re.M)
_SETTING = re.compile(r"^(\w+)=(.*)$", re.M)
IPOIB = re.compile(r"^Kind=ipoib$", re.M)
_LACP = {"802.3ad": "active"}  # Linux asks by itself, unless LACPActive= says otherwise, which nothing here reads
_MTU = re.compile(r"\nMTUBytes=(\d+)$", re.M)
_DESTINATION = re.compile(r"\nDestination=(\S+)$", re.M)
_GATEWAY = re.compile(r"\nGateway=(\S+)$", re.M)
_TABLE = re.compile(r"\nTable=(\d+)$", re.M)
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
        made = texts.get(f"{DEVICES}{nic.name}.netdev")
        if made is not None and IPOIB.search(made):
            continue  # no packet of Ethernet: a claim of its own reads it
        if made is None and nic.name not in members:
            yield nic
            continue
        aggregate = _aggregate(nic.name, made or "")
        for member_file, part in members.get(nic.name, ()):
            name, peer = _NAME.search(part), _DESCRIPTION.search(part)
            yield nic._replace(
                file=nic.file,
                name=name[1] if name else member_file,
                peer=peer[1].rpartition(", to ")[2] if peer else "",
                aggregate=aggregate,
            )


def _bond(text: str) -> re.Match[str] | None:
    return _MEMBER.search(text) if "Bond=" in text else None


def _aggregate(name: str, text: str) -> Aggregate:
    """The device of a .netdev file; systemd.netdev(5): the default mode takes links in turn, with slow LACP."""
    settings: dict[str, str] = dict(_SETTING.findall(text))
    mode = settings.get("Mode", "balance-rr") if settings.get("Kind") == "bond" else settings.get("Kind", "of no kind")
    return Aggregate(
        name=name, mode=_LACP.get(mode, mode), rate=settings.get("LACPTransmitRate", "slow"), mark=("Mode=",)
    )


def read_nic(device: str, file: str, text: str) -> ConfiguredNic | None:
    """The NIC of a .network file, None for one without an address. Raises VerifyError for unreadable text."""
    lines = f"\n{text}"  # so that each line begins with a character that is quickly found
    name, description, address = _NAME.search(lines), _DESCRIPTION.search(lines), _ADDRESS.search(lines)
    if address is None or name is None:
        return None
    mtu = _MTU.search(lines)
    network_lines, _, behind = lines.partition("\n[Route]")
    routes, defaults = _routes(behind, name[1])
    if "\nGateway=" in network_lines:
        defaults = (*defaults, ("\nGateway=",))
    try:
        return ConfiguredNic(
            device=device,
            file=file,
            name=name[1],
            address=packed(address[1]),
            length=int(address[2]),
            peer=description[1].rpartition(", to ")[2] if description else "",
            routes=tuple((prefix_of(to), packed(hop) if hop else None) for to, hop in routes),
            defaults=defaults,
            mark=(f"Address={address[1]}/{address[2]}",),
            mtu_bytes=int(mtu[1] if mtu else _DEFAULT_MTU),
            faults=tuple(_faults(text, behind, address[1])),
        )
    except ValueError as error:
        raise VerifyError(f"{device}:/{file}: {error}. Render the spec again.") from None


def _faults(text: str, routes: str, address: str) -> Iterator[tuple[Mark, str]]:
    """Tables without a rule to them, and routers believed without being configured."""
    for table in dict.fromkeys(_TABLE.findall(routes)):
        length = 128 if ":" in address else 32
        if f"\nFrom={address}/{length}\nTable={table}\n" not in text:
            yield (f"Table={table}",), f"no rule leads packets from {address} to table {table}, which has the routes"
    if ":" in address and "\nIPv6AcceptRA=no\n" not in text:
        yield ("[Network]",), "takes addresses and default routes from any router that sends advertisements"


def _routes(text: str, nic: str) -> tuple[tuple[tuple[str, str | None], ...], tuple[Mark, ...]]:
    """Routes of the sections from the first ``[Route]`` on; hops over other NICs are theirs to answer for."""
    routes, defaults = [], []
    for section in text.split("\n[Route]"):
        body = section.split("\n[", 1)[0]
        destination, gateway = _DESTINATION.search(body), _GATEWAY.search(body)
        if destination is None or destination[1] in {"0.0.0.0/0", "::/0"}:
            place = destination or gateway
            defaults.append((place[0][1:],) if place else ("[Route]",))
            continue
        hops = re.findall(rf"^(?:Gateway|MultiPathRoute)=([^@\s]+)(?:@{re.escape(nic)})?$", body, re.M) or [None]
        routes += [(destination[1], hop) for hop in hops]
    return tuple(routes), tuple(defaults)


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
    chosen = re.search(r"cma_roce_tos .*-t (\d+)", text)
    if chosen:
        marks["connection"] = (chosen[0],)
    return ConfiguredQos(
        interfaces=frozenset(interfaces[1].split()) if interfaces else frozenset(),
        trusts_dscp="--trust dscp" in text,
        lossless=frozenset(priority for priority, bit in enumerate(pfc[1].split(",")) if bit == "1"),
        priority_of=tuple(priority_of),
        connection_class=int(chosen[1]) if chosen else None,
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
    return mark if not mark or mark == block else (*block, *mark)


def _congestion_control(text: str) -> dict[int, bool]:
    """DCQCN by priority: on if both the receiver's and the sender's part are, off if both are off."""
    values_by_priority: dict[int, set[tuple[str, str]]] = {}
    for numbers, body in re.findall(r"for priority in ([\d ]+); do\n((?:.*echo .*\n)*)", text):
        switched = set(re.findall(r"echo ([01]) > .*/ecn/roce_(np|rp)/enable/\$priority", body))
        for number in map(int, numbers.split()):
            values_by_priority.setdefault(number, set()).update(switched)
    whole = {on: {(on, "np"), (on, "rp")} for on in "01"}
    return {number: parts == whole["1"] for number, parts in values_by_priority.items() if parts in whole.values()}
