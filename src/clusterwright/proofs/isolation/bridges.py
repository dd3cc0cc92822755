"""Bridges of containers: the packets that a node forwards for them, takes for them, and sends to them.

Packets are compared as they are before other programs write another destination into them: what the filter lets in at
prerouting holds for ports that Docker publishes, and what it forwards to a bridge asks for no destination again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from clusterwright.packets.boxes import (
    CT,
    FOREIGN,
    INVALID,
    NEW,
    SRC,
    UNREACHABLE,
    V4,
    V6,
    WHOLE,
    Box,
    PacketSet,
    box,
    meet,
)
from clusterwright.packets.filters import InterfaceNumbers
from clusterwright.packets.ranges import Ranges, values
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.declared_bridges import DeclaredBridge
from clusterwright.proofs.isolation.expected import KNOWN, STATEFUL_PACKETS, Nics, contacts, dropped_sources, errors

_FAMILIES = {4: V4, 6: V6}


def to_containers(bridges: Sequence[DeclaredBridge], nics: Nics, interfaces: InterfaceNumbers) -> PacketSet:
    """New packets from outside to addresses of containers, which answer at published ports of their node alone."""
    outside = _outside(nics, interfaces)
    boxes = []
    for bridge in bridges:
        for version, addresses in bridge.addresses:
            boxes.append(box(family=_FAMILIES[version], iif=outside, ct=values(NEW), dst=addresses))
    return PacketSet(tuple(boxes))


def sent_to_containers(bridges: Sequence[DeclaredBridge], interfaces: InterfaceNumbers) -> PacketSet:
    """The packets of a node to its own containers."""
    boxes = []
    for bridge in bridges:
        for version, addresses in bridge.addresses:
            boxes.append(box(family=_FAMILIES[version], oif=interfaces.of(bridge.interface), dst=addresses))
    return PacketSet(tuple(boxes)) & STATEFUL_PACKETS


def forwarded(
    declared: DeclaredIsolation,
    bridges: Sequence[DeclaredBridge],
    zones: Sequence[str],
    nics: Nics,
    interfaces: InterfaceNumbers,
) -> PacketSet:
    """The packets that a node should forward; none without a bridge."""
    inner = [*_inward(declared, bridges, zones, nics, interfaces)]
    for bridge in bridges:
        inner += _of_bridge(declared, bridge, zones, nics, interfaces)
    foreign = []
    for version, family in _FAMILIES.items():
        sources = WHOLE[SRC] - dropped_sources(declared, version)
        foreign.append(box(family=family, origin=values(FOREIGN, UNREACHABLE), src=sources))
    packets = PacketSet(tuple(inner)) & PacketSet(tuple(foreign)) & STATEFUL_PACKETS
    return packets - to_containers(bridges, nics, interfaces)


def _inward(
    declared: DeclaredIsolation,
    bridges: Sequence[DeclaredBridge],
    zones: Sequence[str],
    nics: Nics,
    interfaces: InterfaceNumbers,
) -> Iterator[Box]:
    """What flows open towards the node, to any of its bridges: the port is the one that the node publishes."""
    if not bridges:
        return
    inside = interfaces.of(*(bridge.interface for bridge in bridges))
    outside = _outside(nics, interfaces)
    side = box(ct=values(NEW), iif=outside, oif=inside)
    taken = [*errors(values(NEW)), *contacts(declared, zones, nics, interfaces, boots=False, outbound=False)]
    for packets in taken:
        both = meet(packets, side)
        if both is not None:
            yield both


def _of_bridge(
    declared: DeclaredIsolation,
    bridge: DeclaredBridge,
    zones: Sequence[str],
    nics: Nics,
    interfaces: InterfaceNumbers,
) -> Iterator[Box]:
    """Known connections of containers, packets among them, and what they open as their node may."""
    inside = interfaces.of(bridge.interface)
    yield box(ct=KNOWN, iif=inside)
    yield box(ct=KNOWN, oif=inside)
    yield from _within([bridge], interfaces).boxes
    opened = list(contacts(declared, zones, nics, interfaces, boots=False, outbound=True))
    for version, addresses in bridge.addresses:
        side = box(family=_FAMILIES[version], iif=inside, src=addresses)
        for packets in opened:
            both = meet(packets, side)
            if both is not None:
                yield both


def _within(bridges: Sequence[DeclaredBridge], interfaces: InterfaceNumbers) -> PacketSet:
    """The packets from a bridge to the same one, which its containers send each other."""
    valid = WHOLE[CT] - values(INVALID)
    boxes = []
    for bridge in bridges:
        number = interfaces.of(bridge.interface)
        boxes.append(box(ct=valid, iif=number, oif=number))
    return PacketSet(tuple(boxes))


def _outside(nics: Nics, interfaces: InterfaceNumbers) -> Ranges:
    """The numbers of a node's interfaces on fabrics."""
    return interfaces.of(*chain.from_iterable(nics.values()))
