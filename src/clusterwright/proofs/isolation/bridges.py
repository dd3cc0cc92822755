"""Container bridges of a node: packets forwarded, received and sent for them.

Packets are compared as they are before other programs rewrite their destination: packets accepted at prerouting reach
ports published by Docker, and no rule for forwarding to a bridge checks a destination again.
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
    """New packets from outside to container addresses; containers answer only at published ports of their node."""
    outside = _outside(nics, interfaces)
    boxes = []
    for bridge in bridges:
        for version, addresses in bridge.addresses:
            boxes.append(box(family=_FAMILIES[version], iif=outside, ct=values(NEW), dst=addresses))
    return PacketSet(tuple(boxes))


def sent_to_containers(bridges: Sequence[DeclaredBridge], interfaces: InterfaceNumbers) -> PacketSet:
    """Packets from a node to its own containers."""
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
    """Packets that a node should forward; none without a bridge."""
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
    """Packets permitted by flows towards the node, to any of its bridges, at the port published by the node."""
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
    """Established connections of containers, packets between them, and connections permitted to their node."""
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
    """Packets between containers of the same bridge."""
    valid = WHOLE[CT] - values(INVALID)
    boxes = []
    for bridge in bridges:
        number = interfaces.of(bridge.interface)
        boxes.append(box(ct=valid, iif=number, oif=number))
    return PacketSet(tuple(boxes))


def _outside(nics: Nics, interfaces: InterfaceNumbers) -> Ranges:
    """Numbers of a node's interfaces on fabrics."""
    return interfaces.of(*chain.from_iterable(nics.values()))
