"""Packets through a twin: reachability between nodes, paths, and losses during a fault.

Datagrams go to a port opened between nodes by the spec's flows, so that the rendered packet filters permit them.
"""

from __future__ import annotations

import re
import select
import socket
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, product

from clusterwright.child_environment import child_environment
from clusterwright.extras.lab.namespaces import inside
from clusterwright.extras.lab.twin import Twin
from clusterwright.intent.zone_networks import contacts_of
from clusterwright.plan.model import Device, format_address

_ANY_PORT = 4791
_SETTLE_S = 0.5  # without a datagram, before the next attempt
_LAST_S = 1.5  # for the last ones of a stream, possibly delayed by two neighbour requests
_ATTEMPTS = 3  # neighbour discovery drops the first packets
_HOP = re.compile(r"^\s*(\d+)\s+(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A NIC of a node: its namespace, interface and address."""

    node: Device
    namespace: str
    interface: str
    address: str
    rail: int | None


@dataclass(frozen=True, slots=True)
class Trace:
    """The path of a packet between two endpoints: switches in order; ``arrived`` if the target answered."""

    source: Endpoint
    target: Endpoint
    switches: tuple[str, ...]
    arrived: bool


@dataclass(slots=True)
class DatagramStream:
    """Datagrams sent and received so far by ``streaming``."""

    sent: int = 0
    received: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)


def probe_port(twin: Twin) -> int | None:
    """A UDP port opened by the spec between all nodes of the twin on its fabric; None without one.

    Without a port the nodes' packet filters would drop every probe, so they are not loaded.
    """
    kinds = {(node.node_group, node.zones) for node in twin.nodes}
    if len(kinds) != 1:
        return None
    group, zones = kinds.pop()
    for contact in contacts_of(twin.plan, group):
        if contact.flow.protocol == "udp" and contact.peer.name in zones and twin.fabric in contact.fabrics:
            return contact.flow.ports[0][0] if contact.flow.ports else _ANY_PORT
    return None


def endpoints(twin: Twin) -> tuple[Endpoint, ...]:
    """The NICs of the twin's nodes with a cable in service, in the order of the cables."""
    nodes = {node.name: node for node in twin.nodes}
    return tuple(
        Endpoint(
            node=nodes[cable.a.device],
            namespace=twin.namespace(cable.a.device),
            interface=twin.interface(cable.a),
            address=format_address(cable.a.address, twin.version),
            rail=cable.a.rail,
        )
        for cable in twin.cables
        if cable.a.device in nodes and cable.in_service and cable.a.address is not None
    )


def pairs(ends: Sequence[Endpoint]) -> list[tuple[Endpoint, Endpoint]]:
    """Every NIC with the NIC of its rail on every other node."""
    return [(a, b) for a, b in product(ends, repeat=2) if a.node is not b.node and a.rail == b.rail]


def unreached(twin: Twin, end_pairs: Sequence[tuple[Endpoint, Endpoint]]) -> list[tuple[Endpoint, Endpoint]]:
    """The pairs without an arriving datagram after all attempts."""
    port = probe_port(twin) or _ANY_PORT
    missing = list(end_pairs)
    with ExitStack() as stack:
        sockets = {end: stack.enter_context(_socket(twin, end, port)) for end in _ends(end_pairs)}
        by_address = {end.address: end for end in sockets}
        for _ in range(_ATTEMPTS):
            for source, target in missing:
                _send(sockets[source], target, port, b"reach")
            received = _receive(sockets, b"reach", _SETTLE_S)
            arrived = {(by_address[peer], end) for end, peer in received if peer in by_address}
            missing = [pair for pair in missing if pair not in arrived]
            if not missing:
                break
    return missing


@contextmanager
def streaming(
    twin: Twin, end_pairs: Sequence[tuple[Endpoint, Endpoint]], interval_s: float
) -> Iterator[DatagramStream]:
    """Exchange a datagram between each pair every ``interval_s`` seconds; at the end the stream's counts are final."""
    port = probe_port(twin) or _ANY_PORT
    stream = DatagramStream()
    mark = b"%d" % time.monotonic_ns()  # datagrams of an earlier stream may still arrive
    with ExitStack() as stack:
        sockets = {end: stack.enter_context(_socket(twin, end, port)) for end in _ends(end_pairs)}

        def send() -> None:
            while not stream._stop.wait(interval_s):
                for source, target in end_pairs:
                    _send(sockets[source], target, port, mark)
                    stream.sent += 1

        def receive() -> None:
            while not stream._stop.is_set():
                stream.received += sum(1 for _ in _receive(sockets, mark, _SETTLE_S))

        threads = [threading.Thread(target=work, daemon=True) for work in (send, receive)]
        for thread in threads:
            thread.start()
        try:
            yield stream
        finally:
            stream._stop.set()
            for thread in threads:
                thread.join()
            stream.received += sum(1 for _ in _receive(sockets, mark, _LAST_S))


def trace(twin: Twin, source: Endpoint, target: Endpoint) -> Trace:
    """The switches between two endpoints, from the answers to packets with a low hop limit."""
    port = probe_port(twin) or _ANY_PORT
    command = ["traceroute", f"-{twin.version}", "-n", "-U", "-q", "1", "-w", "1", "-m", "16", "-p", str(port)]
    with inside(source.namespace):
        text = subprocess.run(
            [*command, "-s", source.address, target.address],
            capture_output=True,
            text=True,
            check=False,
            env=child_environment(),
        ).stdout
    owners = twin.owner_of()
    hops = [match[2] for match in _HOP.finditer(text.partition("\n")[2])]
    return Trace(
        source=source,
        target=target,
        switches=tuple(owners.get(hop, hop) for hop in hops if hop != target.address),
        arrived=target.address in hops,
    )


def _ends(end_pairs: Sequence[tuple[Endpoint, Endpoint]]) -> Iterable[Endpoint]:
    return dict.fromkeys(chain.from_iterable(end_pairs))


@contextmanager
def _socket(twin: Twin, end: Endpoint, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if twin.version == 6 else socket.AF_INET
    with inside(end.namespace):
        made = socket.socket(family, socket.SOCK_DGRAM)
    with made:
        made.setblocking(False)
        made.bind((end.address, port))
        yield made


def _send(sender: socket.socket, target: Endpoint, port: int, mark: bytes) -> None:
    with suppress(OSError):  # currently no route: sent and lost
        sender.sendto(mark, (target.address, port))


def _receive(sockets: dict[Endpoint, socket.socket], mark: bytes, quiet_s: float) -> Iterator[tuple[Endpoint, str]]:
    """Packets with this mark until none arrives for ``quiet_s``: the receiver, and the source address."""
    ends = {made: end for end, made in sockets.items()}
    deadline = time.monotonic() + quiet_s
    while (wait := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select(list(ends), [], [], wait)
        for made in ready:
            try:
                content, peer = made.recvfrom(64)
            except OSError:  # an ICMP error for an earlier datagram
                continue
            if content == mark:
                deadline = time.monotonic() + quiet_s
                yield ends[made], peer[0]
