"""Choose the switch of each NIC: the allocated one, else in turn; beside allocated ones, the least used."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property

from clusterwright.plan.layout import Layout
from clusterwright.plan.seats import Attachment, NodeSeats, Seat
from clusterwright.spec.allocated.facts import Cables, StandingCable
from clusterwright.spec.attachment import TierOrder, attached_tier
from clusterwright.spec.fabric import Attach, Fabric
from clusterwright.spec.model import ClusterSpec, NodeGroup

PORT = "port"


class SeatChoice:
    """Choose among the switches around a node, counting their NICs.

    ``cables`` are the fabric's allocated ones. Switches without any are taken in turn.
    """

    def __init__(
        self, spec: ClusterSpec, layout: Layout, fabric: Fabric, seats: Sequence[Seat], cables: Cables
    ) -> None:
        self._spec, self._layout, self._fabric, self._seats, self._cables = spec, layout, fabric, seats, cables
        self._taken: dict[int, int] = defaultdict(int)  # NICs in turn, by the first of the switches around
        self._planes: dict[tuple[int, int], list[frozenset[int]]] = {}  # of the switches around, by the first of them
        self._in_turn: dict[tuple[int, tuple[int, ...], int], tuple[int, ...]] = {}
        self._ports = [nic_ports(group, _attach_of(fabric, group)) for group in spec.node_groups]
        self._of_gpu = [ports_of_nics(group, _attach_of(fabric, group)) for group in spec.node_groups]

    @cached_property
    def _by_name(self) -> dict[str, int]:
        return {seat.name: number for number, seat in enumerate(self._seats)}

    @cached_property
    def _standing_load(self) -> dict[int, int]:
        """How many cables from nodes and management ports stand at each switch."""
        load: dict[int, int] = defaultdict(int)
        lowers = self._by_name
        for cable in self._cables.values():
            seat = lowers.get(cable.upper)
            if seat is not None and cable.device not in lowers:
                load[seat] += 1
        return load

    def nics(self, node: int) -> range:
        """The NICs of a node on the fabric."""
        return range(len(self._ports[self._layout.nodes[node].node_group]))

    def standing(self, node: int, nic: int) -> tuple[int, StandingCable] | None:
        """The seat of a NIC's allocated cable, if it still exists."""
        slot = self._layout.nodes[node]
        ports = self._ports[slot.node_group]
        return self._stands(slot.name, ports[nic], ports)

    @cached_property
    def _of_device(self) -> dict[str, list[StandingCable]]:
        cables_by_port: dict[str, list[StandingCable]] = {}
        for cable in self._cables.values():
            cables_by_port.setdefault(cable.device, []).append(cable)
        return cables_by_port

    def _handed_on(self, device: str, port: str, ports: Sequence[str]) -> StandingCable | None:
        """The cable taken over by a port of a new model: its first new port follows the first one gone."""
        gone = [cable for cable in self._of_device.get(device, ()) if cable.port not in ports]
        new = [port for port in ports if (device, port) not in self._cables]
        return dict(zip(new, gone, strict=False)).get(port)

    def _stands(self, device: str, port: str, ports: Sequence[str]) -> tuple[int, StandingCable] | None:
        cable = None
        if self._cables:
            cable = self._cables.get((device, port)) or self._handed_on(device, port, ports)
        seat = self._by_name.get(cable.upper) if cable else None
        return (seat, cable) if cable is not None and seat is not None else None

    def of_node(self, node: int, speeds: Sequence[int], choices: Sequence[int]) -> NodeSeats:
        """The NICs of a node on the switches ``choices`` around it, on their own plane if there are several."""
        first = self._seats[choices[0]]
        tier = self._fabric.tiers[first.tier]
        plane_of: tuple[int, ...] = (0,) * len(speeds)
        if first.rail is not None:
            plane_of = tuple(nic % (len(choices) // tier.count) for nic in range(len(speeds)))
        elif tier.join == PORT and first.plane is not None:
            plane_of = self._of_gpu[self._layout.nodes[node].node_group]
        is_apart = first.rail is not None or tier.join == PORT
        size = tier.count if is_apart else len(choices)
        in_turn = self._seats_in_turn(choices, plane_of, size, by_node=first.rail is not None)
        if not self._cables:
            return NodeSeats(node, in_turn, speeds[0])
        slot = self._layout.nodes[node]
        ports = self._ports[slot.node_group]
        stand = tuple([self._cables.get((slot.name, port)) for port in ports])
        seats = tuple([self._upper_seat(cable) for cable in stand])
        planes = self._planes.get((choices[0], size))
        if planes is None:
            planes = [frozenset(choices[start : start + size]) for start in range(0, len(choices), size)]
            self._planes[choices[0], size] = planes
        stands_as_planned = all(seat in planes[plane] for plane, seat in zip(plane_of, seats, strict=True))
        if stands_as_planned:  # most nodes do
            return NodeSeats(node, seats, speeds[0], standing=stand)
        used: set[int] = set()
        chosen: list[tuple[int, StandingCable | None]] = []
        for nic, next_seat in enumerate(in_turn):
            plane = plane_of[nic]
            of_plane = choices[plane * size : (plane + 1) * size]
            chosen.append(self._choose(self.standing(node, nic), of_plane, next_seat, used))
            used.add(chosen[-1][0])
        seats, stand = zip(*chosen, strict=True)
        return NodeSeats(node, seats, speeds[0], standing=stand)

    def _upper_seat(self, cable: StandingCable | None) -> int:
        """Seat of the switch at an allocated cable; -1 without one."""
        return -1 if cable is None else self._by_name.get(cable.upper, -1)

    def _seats_in_turn(
        self, choices: Sequence[int], plane_of: tuple[int, ...], size: int, *, by_node: bool
    ) -> tuple[int, ...]:
        """The seats of a node's NICs without allocations, among the ``size`` switches of each plane.

        Many nodes have the same. Turns are taken NIC by NIC, or ``by_node``.
        """
        nics = len(plane_of)
        planes = len(choices) // size
        before = self._taken[choices[0]]
        self._taken[choices[0]] += nics
        turn = (before // nics if by_node else before // planes) % size
        key = (choices[0], plane_of, turn)
        if key not in self._in_turn:
            seats = []
            for nic, plane in enumerate(plane_of):
                step = 0 if by_node else plane_of[:nic].count(plane)
                seats.append(choices[plane * size + (turn + step) % size])
            self._in_turn[key] = tuple(seats)
        return self._in_turn[key]

    def of_switch(self, switch: str, port: str, speed_gbps: int, choices: Sequence[int]) -> Attachment:
        """The management port of another fabric's switch."""
        turn = self._taken[choices[0]]
        self._taken[choices[0]] += 1
        standing_seat = self._stands(switch, port, (port,))
        seat, cable = self._choose(standing_seat, choices, choices[turn % len(choices)], set())
        return Attachment(node=-1, nic=0, seat=seat, speed_gbps=speed_gbps, switch=switch, port=port, standing=cable)

    def _choose(
        self, standing_seat: tuple[int, StandingCable] | None, choices: Sequence[int], in_turn: int, used: set[int]
    ) -> tuple[int, StandingCable | None]:
        if standing_seat is not None and standing_seat[0] in choices:
            return standing_seat
        if self._cables and any(seat in self._standing_load for seat in choices):
            load = self._standing_load
            seat = min(choices, key=lambda choice: (choice in used, load.get(choice, 0), choice))
            load[seat] = load.get(seat, 0) + 1
            return seat, None
        return in_turn, None


def ports_of_nics(group: NodeGroup | None, attach: Attach | None) -> tuple[int, ...]:
    """For each NIC of an attachment its port number at the GPU: 0 for a GPU's first NIC, 1 for the second.

    Without GPUs, and on a management network, all are first ports.
    """
    nics = group.model.nic_group(attach.nics or "") if group is not None and attach is not None else None
    if nics is None:
        return (0,)
    ports: list[int] = []
    nics_of_gpu = Counter[int]()
    for nic in nics.nics:
        if nic.gpu is None:
            ports.append(0)
            continue
        ports.append(nics_of_gpu[nic.gpu])
        nics_of_gpu[nic.gpu] += 1
    return tuple(ports)


def gpu_ports(spec: ClusterSpec, fabric: Fabric, order: TierOrder, depth: int) -> tuple[int, ...]:
    """For each rail of a tier, which port of its GPU it is: 0 for the first NIC beside a GPU, 1 for the second.

    Rails are the NICs of the first group that is attached to the tier or below it; without GPUs, and on a management
    network, all are first ports.
    """
    roles = {fabric.tiers[lower].role for lower in order.at_or_below(depth)}
    for attach in fabric.attach:
        group = spec.node_group(attach.nodes or "")
        tier = None if group is None else attached_tier(fabric, attach, group)
        if tier is not None and tier.role in roles:
            return ports_of_nics(group, attach)
    first = fabric.attach[0]
    return ports_of_nics(spec.node_group(first.nodes or ""), first)


def nic_ports(group: NodeGroup, attach: Attach | None) -> tuple[str, ...]:
    """The names of an attachment's ports on each node of a group, in NIC order."""
    if attach is None:
        return ()
    if attach.is_management:
        return group.model.management_names
    nics = group.model.nic_group(attach.nics or "")
    return tuple(nic.interface for nic in nics.nics) if nics else ()


def _attach_of(fabric: Fabric, group: NodeGroup) -> Attach | None:
    attached = {attach.nodes: attach for attach in fabric.attach}
    return attached.get(group.name) or attached.get(None)
