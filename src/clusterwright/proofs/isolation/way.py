"""Path of one packet through a cluster: the places on it, the decision of each, and its line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from clusterwright.packets.boxes import (
    DST,
    FAMILY,
    FOREIGN,
    FRAGMENT,
    IIF,
    OIF,
    ORIGIN,
    OWN,
    SRC,
    WHOLE,
    Box,
    Packet,
    PacketSet,
    box,
)
from clusterwright.packets.filters import InterfaceNumbers
from clusterwright.packets.passage import Decision
from clusterwright.packets.phrases import version_of
from clusterwright.packets.ranges import values
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.edges import HOSTS, PortGroup
from clusterwright.proofs.isolation.nodes import RUNNING, NodeFilter

_NO_INTERFACE = 1023
_TRIED = 16  # boxes of a set tried for a real address


@dataclass(frozen=True)
class FilterPlaces:
    """Every filter of a cluster by the place of packets meeting it."""

    declared: DeclaredIsolation
    interfaces: InterfaceNumbers
    nodes: Mapping[str, NodeFilter]
    groups: Mapping[tuple[str, str], PortGroup]

    def way(self, packet: Packet, fabric: str = "", hook: str = "") -> str:
        """Devices crossed by a packet and the decision of each, in one line, up to the first that stops it.

        At ``hook`` the packet was checked: there it keeps its origin, elsewhere it has the usual origin.
        """
        version = version_of(packet)
        sender = self.declared.addresses.get((version, packet[SRC]))
        receiver = self.declared.addresses.get((version, packet[DST]))
        steps: list[str] = []
        for name, decision in self._steps(packet, sender, receiver, fabric, hook):
            if decision is None:
                steps.append(name)
                continue
            verdict = "passes" if decision.passes else "stops it"
            steps.append(f"{name} {verdict} ({_line(decision)})")
            if not decision.passes:
                break
        return "Way: " + ", ".join(steps) if steps else ""

    def _steps(
        self,
        packet: Packet,
        sender: tuple[str, str] | None,
        receiver: tuple[str, str] | None,
        fabric: str,
        hook: str,
    ) -> Iterable[tuple[str, Decision | None]]:
        if sender is not None:
            node_filter = self.nodes.get(sender[0])
            sent = packet[ORIGIN] if hook == "output" else OWN
            moved = _with(packet, {IIF: _NO_INTERFACE, OIF: self._number(sender[1]), ORIGIN: sent, FRAGMENT: 0})
            decision = node_filter.decide("output", moved) if node_filter is not None else None
            yield f"{sender[0]} {sender[1]} output", decision
            yield from self._edge(sender, packet)
        else:
            yield "from outside", None
        if receiver is not None:
            node_filter = self.nodes.get(receiver[0])
            got = packet[ORIGIN] if hook == "input" else FOREIGN
            moved = _with(packet, {OIF: _NO_INTERFACE, IIF: self._number(receiver[1]), ORIGIN: got, FRAGMENT: 0})
            decision = node_filter.decide("input", moved) if node_filter is not None else None
            yield f"{receiver[0]} {receiver[1]} input", decision
        else:
            yield f"to outside over {fabric}" if fabric else "to outside", None

    def _edge(self, sender: tuple[str, str], packet: Packet) -> Iterable[tuple[str, Decision | None]]:
        for edge in self.declared.edges:
            for port, end in edge.ports.items():
                if end == sender:
                    group = self.groups.get((edge.switch, port))
                    decision = None
                    port_filters = group.filters() if group is not None else ()
                    for port_filter in port_filters:
                        if port in port_filter.ports:
                            decision = port_filter.decide(packet)
                            break
                    yield f"{edge.switch} {port}", decision

    def _number(self, name: str) -> int:
        return self.interfaces.of(name).bounds[0][0]

    def concrete(self, packets: PacketSet, far: int, near: Iterable[Box], device: str) -> Packet:
        """A packet of a set, if possible with addresses of real hosts.

        ``near`` are boxes of the device's own NICs, in the order of trying; on the ``far`` side another host is
        preferred. Raises IndexError for the empty set.
        """
        name, side = ("src", DST) if far == SRC else ("dst", SRC)
        for limit in (*near, WHOLE):
            part = packets.limited(limit)
            if not part:
                continue
            for candidate in part.ordinary().boxes[:_TRIED]:
                for (version, number), (host, _) in self.declared.addresses.items():
                    is_near = limit is not WHOLE and number in limit[side]
                    is_far = number in candidate[far] and int(version == 6) in candidate[FAMILY]
                    if host != device and is_far and not is_near:
                        exact = box(family=values(int(version == 6)), **{name: values(number)})
                        return PacketSet((candidate,)).limited(exact).witness()
            return part.witness()
        return packets.witness()


def places_of(
    declared: DeclaredIsolation, interfaces: InterfaceNumbers, nodes: Iterable[NodeFilter], groups: Iterable[PortGroup]
) -> FilterPlaces:
    """All filters, by node and by port."""
    filter_by_node: dict[str, NodeFilter] = {}
    for node in nodes:
        if node.file == RUNNING:
            filter_by_node.update(dict.fromkeys(node.nodes, node))
    group_by_port: dict[tuple[str, str], PortGroup] = {}
    for group in groups:
        if group.kind == HOSTS:
            group_by_port.update(((group.device, port), group) for port in group.ports)
    return FilterPlaces(declared=declared, interfaces=interfaces, nodes=filter_by_node, groups=group_by_port)


def _with(packet: Packet, changed: Mapping[int, int]) -> Packet:
    return tuple(changed.get(index, value) for index, value in enumerate(packet))


def _line(decision: Decision) -> str:
    return f"line {decision.line}" + (f", {decision.name}" if decision.name else "")
