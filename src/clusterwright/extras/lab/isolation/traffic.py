"""Exchange of probes over raw sockets, which receive packets after the kernel's packet filter."""

from __future__ import annotations

import json
import selectors
import socket
import struct
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from clusterwright.child_environment import child_environment
from clusterwright.extras.lab.isolation.members import Member, Stage
from clusterwright.extras.lab.isolation.probes import SEQUENCE, SPACE, Probe, number_in
from clusterwright.extras.lab.isolation.raw_packets import ICMP4, ICMP6, SYN, TCP, UDP, reset_of, wire
from clusterwright.extras.lab.namespaces import inside
from clusterwright.extras.lab.twin import interface_name

_BUFFER_BYTES = 32 << 20
_AT_ONCE = 128  # packets sent between two reads
_QUIET_S = 0.25
_MOST_BYTES = 4096
_PROTOCOLS = {4: (TCP, UDP, ICMP4), 6: (TCP, UDP, ICMP6)}
_ETHERTYPES = {4: 0x0800, 6: 0x86DD}


@dataclass(slots=True)
class ObservedProbes:
    """Numbers of arrived probes, and of probes with a refusal from the receiver's kernel back at the sender."""

    arrived: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)


class StageSockets:
    """Open sockets of all members of a stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._stack = ExitStack()
        self._selector = selectors.DefaultSelector()
        self._senders: dict[tuple[str, int], socket.socket] = {}
        self._frames: dict[str, socket.socket] = {}
        self._links = _hardware_addresses(stage)

    def exchange(self, probes: Iterable[Probe]) -> ObservedProbes:
        """Send probes one after the other, and read until no more packets arrive."""
        seen = ObservedProbes()
        sent = {}
        for count, probe in enumerate(probes, start=1):
            sent[probe.number] = probe
            self._send(probe)
            if count % _AT_ONCE == 0:
                self._watch(sent, seen, 0)
        while self._watch(sent, seen, _QUIET_S):
            pass
        return seen

    def open(self) -> None:
        """Open the sockets of every namespace."""
        for member in self.stage.members:
            if (member.namespace, 4) in self._senders:
                continue
            with inside(member.namespace):
                for version, family in ((4, socket.AF_INET), (6, socket.AF_INET6)):
                    sender = self._stack.enter_context(socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW))
                    if not member.is_outside:
                        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, member.interface.encode())
                    self._senders[member.namespace, version] = sender
                    for protocol in _PROTOCOLS[version]:
                        receiver = self._stack.enter_context(socket.socket(family, socket.SOCK_RAW, protocol))
                        receiver.setblocking(False)
                        receiver.setsockopt(socket.SOL_SOCKET, 33, _BUFFER_BYTES)  # SO_RCVBUFFORCE
                        self._selector.register(
                            receiver, selectors.EVENT_READ, (receiver, member.namespace, version, protocol)
                        )
                if member.running is not None:
                    frames = self._stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
                    frames.bind((member.interface, 0))
                    self._frames[member.namespace] = frames

    def close(self) -> None:
        """Close all sockets."""
        self._stack.close()
        self._selector.close()

    def _send(self, probe: Probe) -> None:
        sender, packet = probe.trip.sender, probe.trip.packet
        for text in wire(packet):
            if probe.trip.past_filter:
                target, source_mac = self._hop(sender, probe.trip.receiver)
                frame = target + source_mac + struct.pack("!H", _ETHERTYPES[packet.version])
                self._frames[sender.namespace].send(frame + text)
                continue
            family, size = (socket.AF_INET, 4) if packet.version == 4 else (socket.AF_INET6, 16)
            end = socket.inet_ntop(family, packet.target.to_bytes(size, "big"))
            try:
                self._senders[sender.namespace, packet.version].sendto(text, (end, 0))
            except OSError:  # refused by the sender's own filter, or an ICMP error for an earlier packet
                continue

    def _hop(self, sender: Member, receiver: Member) -> tuple[bytes, bytes]:
        """Hardware addresses of the next hop and of the sender."""
        source_mac = self._links[sender.namespace][sender.interface]
        cable, receiver_cable = sender.cable, receiver.cable
        if cable is None:
            raise ValueError(f"{sender.name} stands outside")
        switch = self.stage.twin.view_of[cable.b.device]
        if switch.shares_subnet and receiver_cable is not None and receiver_cable.b.device == cable.b.device:
            return self._links[receiver.namespace][receiver.interface], source_mac
        links = self._links[self.stage.twin.namespace(cable.b.device)]
        return links["hosts" if switch.shares_subnet else interface_name(cable.b.port)], source_mac

    def _watch(self, sent: Mapping[int, Probe], seen: ObservedProbes, wait_s: float) -> bool:
        """Read arrived packets; False after ``wait_s`` without any."""
        ready = self._selector.select(wait_s)
        for key, _ in ready:
            receiver, where, version, protocol = key.data
            while True:
                try:
                    text = receiver.recv(_MOST_BYTES)
                except BlockingIOError:
                    break
                message = text[(text[0] & 15) * 4 :] if version == 4 else text
                self._note(sent, seen, where=where, version=version, protocol=protocol, text=message)
        return bool(ready)

    def _note(
        self, sent: Mapping[int, Probe], seen: ObservedProbes, *, where: str, version: int, protocol: int, text: bytes
    ) -> None:
        number = number_in(text)
        probe = sent.get(number) if number is not None else None
        if probe is not None and number is not None:
            packet = probe.trip.packet
            kind = text[0] if protocol in {ICMP4, ICMP6} else packet.icmp
            expected = (probe.trip.receiver.namespace, packet.version, packet.protocol, packet.icmp)
            if expected == (where, version, protocol, kind):
                seen.arrived.add(number)
        elif protocol == TCP:
            self._note_reset(sent, seen, where, text)

    def _note_reset(self, sent: Mapping[int, Probe], seen: ObservedProbes, where: str, text: bytes) -> None:
        """Record the refusal of a connection, if ``text`` is one of a sent probe."""
        reset = reset_of(text)
        if reset is None:
            return
        sport, dport, acknowledged = reset
        request = sent.get((acknowledged - SEQUENCE) // SPACE)
        if request is None or request.trip.sender.namespace != where:
            return
        packet = request.trip.packet
        if (packet.dport, packet.sport, packet.flags) == (sport, dport, SYN):
            seen.refused.add(request.number)


@contextmanager
def listening(stage: Stage) -> Iterator[StageSockets]:
    """Open sockets in all namespaces of a stage."""
    traffic = StageSockets(stage)
    try:
        traffic.open()
        yield traffic
    finally:
        traffic.close()


def _hardware_addresses(stage: Stage) -> dict[str, dict[str, bytes]]:
    """Hardware addresses by namespace and interface."""
    hardware_addresses = {}
    switches = [stage.twin.namespace(name) for name in stage.twin.view_of]
    for namespace in dict.fromkeys([*switches, *(member.namespace for member in stage.members)]):
        text = subprocess.run(
            ["ip", "-j", "-n", namespace, "link", "show"],
            capture_output=True,
            text=True,
            check=True,
            env=child_environment(),
        ).stdout
        hardware_addresses[namespace] = {
            row["ifname"]: bytes.fromhex(row["address"].replace(":", ""))
            for row in json.loads(text)
            if "address" in row
        }
    return hardware_addresses
