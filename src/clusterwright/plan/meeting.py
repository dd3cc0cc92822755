"""Reachability in a fabric: paths climb from switch to switch and then descend, and never climb again.

So two ports meet if one switch lies above both of theirs, or if their switch is the same. A piece is a set of switches
joined by cables in any direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain
from operator import or_
from typing import NamedTuple

from clusterwright.plan.attaching import nic_ports
from clusterwright.plan.layout import Layout
from clusterwright.plan.model import Cable
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.spec.model import ClusterSpec


class AttachedEnd(NamedTuple):
    """A device's port at a switch of the fabric: a node's NIC, or a management port."""

    device: str
    port: str
    switch: str

    def __str__(self) -> str:
        return f"{self.device} {self.port} (at {self.switch})"


class DevicePorts(NamedTuple):
    """A device's ports on a fabric, and the switch at each."""

    ports: Sequence[str]
    switches: tuple[str, ...]


@dataclass(frozen=True)
class Wiring:
    """A fabric as joints alone: the switches right above each switch, and by their names the devices attached."""

    above: Mapping[str, frozenset[str]]
    devices: Mapping[str, DevicePorts]

    def ends_of(self, device: str) -> Iterator[AttachedEnd]:
        """The ends of a device."""
        return (AttachedEnd(device, *end) for end in zip(*self.devices[device], strict=True))

    @property
    def ends(self) -> Iterator[AttachedEnd]:
        """Every end, device by device: tens of thousands."""
        return chain.from_iterable(map(self.ends_of, self.devices))

    @cached_property
    def kind_of(self) -> Mapping[str, int]:
        """One number for all devices at the same switches, an index into ``kinds`` with the first of them."""
        number_by_switches: dict[tuple[str, ...], int] = {}
        kind_of: dict[str, int] = {}
        for device, wired in self.devices.items():
            kind_of[device] = number_by_switches.setdefault(wired.switches, len(number_by_switches))
        return kind_of

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The first device of each kind: a few of very many."""
        first: dict[int, str] = {}
        for device, kind in self.kind_of.items():
            first.setdefault(kind, device)
        return tuple(first.values())

    @cached_property
    def ends_at(self) -> Mapping[str, AttachedEnd]:
        """The first of these ends at each switch, in their order."""
        ends: dict[str, AttachedEnd] = {}
        for device in self.kinds:
            for port, switch in zip(*self.devices[device], strict=True):
                if switch not in ends:
                    ends[switch] = AttachedEnd(device, port, switch)
        return ends

    @cached_property
    def piece_of(self) -> Mapping[str, int]:
        """The piece of every switch: pieces with ends are numbered in the order of their first end, others -1."""
        joined: dict[str, list[str]] = {switch: [] for switch in (*self.above, *self.ends_at)}
        below: dict[frozenset[str], list[str]] = {}
        for lower, uppers in self.above.items():
            below.setdefault(uppers, []).append(lower)
        for uppers, lowers in below.items():
            if not uppers:
                continue
            for switch in (*lowers, *uppers):  # by way of the first: that joins the same ones
                joined.setdefault(switch, []).append(lowers[0])
                joined[lowers[0]].append(switch)
        piece_numbers: dict[str, int] = {}
        pieces = 0
        for first in self.ends_at:
            if first in piece_numbers:
                continue
            piece_numbers[first] = pieces
            queue = [first]
            for switch in queue:
                new = [neighbour for neighbour in joined[switch] if neighbour not in piece_numbers]
                piece_numbers |= dict.fromkeys(new, pieces)
                queue += new
            pieces += 1
        return {switch: piece_numbers.get(switch, -1) for switch in joined}

    @cached_property
    def piece_count(self) -> int:
        """How many pieces have ends."""
        return max(self.piece_of.values(), default=-1) + 1

    @cached_property
    def pieces(self) -> tuple[tuple[AttachedEnd, ...], ...]:
        """The ends of each piece with any."""
        pieces: dict[int, list[AttachedEnd]] = {}
        for end in self.ends:
            pieces.setdefault(self.piece_of[end.switch], []).append(end)
        return tuple(map(tuple, pieces.values()))

    def apart(self, one: int = 0, other: int = 1) -> tuple[AttachedEnd, AttachedEnd]:
        """A port of each of two pieces, of different devices if possible. Raises IndexError for one piece."""
        near = self.pieces[one][0]
        return near, next((end for end in self.pieces[other] if end.device != near.device), self.pieces[other][0])

    @cached_property
    def tops(self) -> Mapping[str, int]:
        """Bits of everything above each switch, or of the switch itself if nothing is."""
        bit = {switch: 1 << number for number, switch in enumerate(self.piece_of)}
        over: dict[str, int] = {}
        over_uppers: dict[frozenset[str], int] = {}  # of switches below the same ones
        for start in self.piece_of:
            waiting = [start]
            while waiting:
                switch = waiting[-1]
                uppers = self.above.get(switch, frozenset())
                unknown = [upper for upper in uppers if upper not in over]
                if unknown:
                    waiting += unknown
                    continue
                waiting.pop()
                if uppers not in over_uppers:
                    over_uppers[uppers] = 0
                    for upper in uppers:
                        over_uppers[uppers] |= bit[upper] | over[upper]
                over[switch] = over_uppers[uppers]
        return {switch: over[switch] or bit[switch] for switch in over}

    @cached_property
    def parted(self) -> tuple[AttachedEnd, AttachedEnd] | None:
        """Two devices without a path between any of their ports, each by one of them; None if all devices meet.

        Devices at different switches of the uppermost tier are ``beside`` each other and do not count.
        """
        has_tiers = any(self.above.values())
        pair = self._search(lambda switch: bool(self.above.get(switch)) or not has_tiers)
        if pair is None and self.piece_count > 1:
            pair = self._search()
        return pair

    @cached_property
    def beside(self) -> tuple[AttachedEnd, AttachedEnd] | None:
        """Two devices at uppermost switches joined by lower ones: a path would go down and climb again."""
        return self._search() if self.parted is None and self.piece_count == 1 else None

    @cached_property
    def joined(self) -> Mapping[str, int]:
        """The piece of every switch with uplinks: two ends at such switches of one piece should meet."""
        return {switch: self.piece_of[switch] for switch, uppers in self.above.items() if uppers}

    def torn(self, joined: Mapping[str, int]) -> tuple[AttachedEnd, AttachedEnd] | None:
        """Two ends of one piece without a path; None if all meet.

        ``joined`` are the pieces: this wiring's own, or those with everything in service.
        """
        pieces: dict[int, dict[int, AttachedEnd]] = {}
        for switch, end in self.ends_at.items():
            if switch in joined:
                pieces.setdefault(joined[switch], {}).setdefault(self.tops[switch], end)
        for kinds in pieces.values():
            pair = _apart(kinds)
            if pair is not None:
                return pair
        return None

    def above_all(self, switches: Iterable[str]) -> int:
        """Bits of everything above any of these switches, as in ``tops``."""
        return reduce(or_, map(self.tops.__getitem__, set(switches)), 0)

    def _search(self, counts: Callable[[str], bool] | None = None) -> tuple[AttachedEnd, AttachedEnd] | None:
        """Two devices without a path between their ends at counted switches; None counts all."""
        kinds: dict[int, AttachedEnd] = {}
        for device in self.kinds:
            switches = self.devices[device].switches
            reachable = switches if counts is None else tuple(filter(counts, switches))
            if not reachable:
                continue
            bits = self.above_all(reachable)
            if bits not in kinds:
                port = self.devices[device].ports[switches.index(reachable[0])]
                kinds[bits] = AttachedEnd(device, port, reachable[0])
        return _apart(kinds)


def _apart(kinds: Mapping[int, AttachedEnd]) -> tuple[AttachedEnd, AttachedEnd] | None:
    """Two ends with nothing in common above them, by the bits of the switches there."""
    if _common(kinds):
        return None
    ends = list(kinds.items())
    for index, (bits, end) in enumerate(ends):
        for earlier_bits, earlier_end in ends[:index]:
            if not bits & earlier_bits:
                return earlier_end, end
    return None


def _common(kinds: Iterable[int]) -> int:
    """The switches above all of them."""
    bits = -1
    for kind in kinds:
        bits &= kind
    return bits


def wiring_of_ends(above: Mapping[str, Iterable[str]], ends: Iterable[tuple[str, str, str]]) -> Wiring:
    """The wiring of switches with others above them, and of ends: device, port and switch of each, in any order."""
    by_device: dict[str, tuple[list[str], list[str]]] = {}
    for device, port, switch in ends:
        if device not in by_device:
            by_device[device] = ([], [])
        ports, switches = by_device[device]
        ports.append(port)
        switches.append(switch)
    devices = {device: DevicePorts(ports, tuple(switches)) for device, (ports, switches) in by_device.items()}
    return Wiring({switch: frozenset(uppers) for switch, uppers in above.items()}, devices)


def wiring_of_cables(cables: Iterable[Cable]) -> Wiring:
    """The wiring of one fabric's cables."""
    above: dict[str, set[str]] = {}
    ends = []
    for cable in cables:
        if cable.a.side == "up":
            above.setdefault(cable.a.device, set()).add(cable.b.device)
        else:
            ends.append((cable.a.device, cable.a.port, cable.b.device))
    return wiring_of_ends(above, ends)


def wiring_of_skeleton(spec: ClusterSpec, layout: Layout, skeleton: FabricSkeleton) -> Wiring:
    """The wiring of a skeleton with everything planned in service."""
    names = [seat.name for seat in skeleton.seats]
    names_of_uppers: dict[frozenset[int], frozenset[str]] = {}  # of switches below the same ones
    above: dict[str, frozenset[str]] = {}
    for lower, uppers in skeleton.uppers_of.items():
        key = frozenset(uppers)
        if key not in names_of_uppers:
            names_of_uppers[key] = frozenset([names[upper] for upper in key])
        above[names[lower]] = names_of_uppers[key]
    ports = _ports(spec, skeleton)
    alike: dict[tuple[int, tuple[int, ...]], DevicePorts] = {}
    devices: dict[str, DevicePorts] = {}
    for attached in skeleton.nodes:
        node = layout.nodes[attached.node]
        kind = (node.node_group, attached.seats)
        if kind not in alike:
            switches = tuple([names[seat] for seat in attached.seats])
            alike[kind] = DevicePorts(ports[node.node_group][: len(switches)], switches)
        devices[node.name] = alike[kind]
    for port in skeleton.management:
        devices[port.switch] = DevicePorts((port.port,), (names[port.seat],))
    return Wiring(above, devices)


def _ports(spec: ClusterSpec, skeleton: FabricSkeleton) -> list[tuple[str, ...]]:
    """For each node group, the names of its ports on a fabric."""
    attached = {attach.nodes: attach for attach in skeleton.fabric.attach}
    return [nic_ports(group, attached.get(group.name) or attached.get(None)) for group in spec.node_groups]
