"""Which switch a NIC goes to: where its cable stands, or in turn; beside what stands, to the switch with the fewest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import count, cycle, repeat
from operator import contains

from clusterwright.plan.layout import Layout
from clusterwright.plan.seats import Attachment, Seat
from clusterwright.spec.allocated.facts import Cables, StandingCable
from clusterwright.spec.fabric import Attach, Fabric
from clusterwright.spec.model import ClusterSpec, NodeGroup

_attachment = partial(tuple.__new__, Attachment)  # its own constructor takes twice as long, of tens of thousands


class SeatChoice:
    """Chooses among the switches around a node; counts what they have.

    ``cables`` are those of the fabric that stand. Switches around which nothing stands are taken in turn.
    """

    def __init__(
        self, spec: ClusterSpec, layout: Layout, fabric: Fabric, seats: Sequence[Seat], cables: Cables
    ) -> None:
        self._spec, self._layout, self._fabric, self._seats, self._cables = spec, layout, fabric, seats, cables
        self._taken: dict[int, int] = defaultdict(int)  # NICs in turn, by the first of the switches around
        self._planes: dict[tuple[int, int], list[frozenset[int]]] = {}  # of the switches around, by the first of them
        self._ports = [nic_ports(group, _attach_of(fabric, group)) for group in spec.node_groups]

    @cached_property
    def _by_name(self) -> dict[str, int]:
        return {seat.name: at for at, seat in enumerate(self._seats)}

    @cached_property
    def _standing_load(self) -> dict[int, int]:
        """How many cables from nodes and management ports stand at each switch."""
        found: dict[int, int] = defaultdict(int)
        lowers = self._by_name
        for cable in self._cables.values():
            if cable.device not in lowers and (seat := lowers.get(cable.upper)) is not None:
                found[seat] += 1
        return found

    def nics(self, node: int) -> range:
        """The NICs of a node on the fabric."""
        return range(len(self._ports[self._layout.nodes[node].node_group]))

    def standing(self, node: int, nic: int) -> tuple[int, StandingCable] | None:
        """The seat at which a NIC's cable stands, if that is still there."""
        slot = self._layout.nodes[node]
        ports = self._ports[slot.node_group]
        return self._stands(slot.name, ports[nic], ports)

    @cached_property
    def _of_device(self) -> dict[str, list[StandingCable]]:
        found: dict[str, list[StandingCable]] = {}
        for cable in self._cables.values():
            found.setdefault(cable.device, []).append(cable)
        return found

    def _handed_on(self, device: str, port: str, ports: Sequence[str]) -> StandingCable | None:
        """The cable that a port takes over: a new model has other ports, and its first that is new follows the first
        that is gone.
        """
        gone = [cable for cable in self._of_device.get(device, ()) if cable.port not in ports]
        new = [each for each in ports if (device, each) not in self._cables]
        return dict(zip(new, gone, strict=False)).get(port)

    def _stands(self, device: str, port: str, ports: Sequence[str]) -> tuple[int, StandingCable] | None:
        cable = None
        if self._cables:
            cable = self._cables.get((device, port)) or self._handed_on(device, port, ports)
        seat = self._by_name.get(cable.upper) if cable else None
        return (seat, cable) if cable is not None and seat is not None else None

    def of_node(self, node: int, speeds: Sequence[int], choices: Sequence[int]) -> Iterator[Attachment]:
        """The NICs of a node on the switches ``choices`` around it; on those of their rail where planes are rails."""
        per_plane = self._fabric.tiers[self._seats[choices[0]].tier].count
        by_rail = self._seats[choices[0]].rail is not None
        before = self._taken[choices[0]]
        self._taken[choices[0]] += len(speeds)
        blank, none = repeat(""), repeat(None)
        if not self._cables:
            turn, rails = before // len(speeds) % per_plane, len(choices) // per_plane
            seats = [
                choices[nic % rails * per_plane + turn if by_rail else (before + nic) % len(choices)]
                for nic in range(len(speeds))
            ]
            nics = zip(repeat(node), count(), seats, speeds, blank, blank, none, none, strict=False)
            yield from map(_attachment, nics)
            return
        slot = self._layout.nodes[node]
        by_name, ports = self._by_name, self._ports[slot.node_group]
        stand = [self._cables.get((slot.name, port)) for port in ports]
        seats = [by_name.get(cable.upper, -1) if cable is not None else -1 for cable in stand]
        size = per_plane if by_rail else len(choices)
        planes = self._planes.get((choices[0], size))
        if planes is None:
            planes = [frozenset(choices[at : at + size]) for at in range(0, len(choices), size)]
            self._planes[choices[0], size] = planes
        if all(map(contains, cycle(planes), seats)):  # most nodes stand as a whole
            yield from map(
                _attachment, zip(repeat(node), count(), seats, speeds, blank, blank, stand, none, strict=False)
            )
            return
        used: set[int] = set()
        for nic, speed in enumerate(speeds):
            if by_rail:
                plane = nic % (len(choices) // per_plane)
                own = choices[plane * per_plane : (plane + 1) * per_plane]
                turn = before // len(speeds)
            else:
                own, turn = choices, before + nic
            seat, cable = self._choose(self.standing(node, nic), own, turn, used)
            used.add(seat)
            yield Attachment(node, nic, seat, speed, standing=cable)

    def of_switch(self, switch: str, port: str, speed_gbps: int, choices: Sequence[int]) -> Attachment:
        """The management port of another fabric's switch."""
        turn = self._taken[choices[0]]
        self._taken[choices[0]] += 1
        seat, cable = self._choose(self._stands(switch, port, (port,)), choices, turn, set())
        return Attachment(-1, 0, seat, speed_gbps, switch, port, cable)

    def _choose(
        self, known: tuple[int, StandingCable] | None, choices: Sequence[int], turn: int, used: set[int]
    ) -> tuple[int, StandingCable | None]:
        if known is not None and known[0] in choices:
            return known
        if self._cables and any(seat in self._standing_load for seat in choices):
            load = self._standing_load
            seat = min(choices, key=lambda at: (at in used, load.get(at, 0), at))
            load[seat] = load.get(seat, 0) + 1
            return seat, None
        return choices[turn % len(choices)], None


def nic_ports(group: NodeGroup, attach: Attach | None) -> tuple[str, ...]:
    """The names of the ports that an attachment takes of each node of a group, in NIC order."""
    if attach is None:
        return ()
    if attach.is_management:
        return (group.model.management.name,) if group.model.management else ()
    nics = group.model.nic_group(attach.nics or "")
    return tuple(nic.interface for nic in nics.nics) if nics else ()


def _attach_of(fabric: Fabric, group: NodeGroup) -> Attach | None:
    attached = {attach.nodes: attach for attach in fabric.attach}
    return attached.get(group.name) or attached.get(None)
