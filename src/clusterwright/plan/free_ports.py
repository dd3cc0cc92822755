"""NICs at the free ports of a tier: managers, storage and services on a rail-optimised fabric.

NVIDIA's reference design leaves one node out of four scalable units and gives the eight freed leaf ports to the
fabric's managers (DGX SuperPOD H100: 127 nodes in four units).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from clusterwright.plan.attaching import SeatChoice
from clusterwright.plan.layout import Layout
from clusterwright.plan.ports import capacity
from clusterwright.plan.seats import NodeSeats, Seat, nic_speeds
from clusterwright.spec.allocated.facts import StandingCable
from clusterwright.spec.fabric import Attach, Fabric, Tier
from clusterwright.spec.model import ClusterSpec


@dataclass(frozen=True, slots=True)
class Crowded:
    """A node group with too few free ports for its NICs: ``wanted`` ports of ``speed_gbps`` Gb/s on ``tier``.

    ``free`` were available on its ``switches`` switches, beside the tier's spare ports.
    """

    nodes: str
    tier: str
    speed_gbps: int
    wanted: int
    free: int
    switches: int


def fill_free_ports(
    spec: ClusterSpec,
    layout: Layout,
    fabric: Fabric,
    *,
    seats: Sequence[Seat],
    nodes: Sequence[tuple[int, Attach]],
    node_seats: list[NodeSeats],
    choice: SeatChoice,
) -> list[Crowded]:
    """Append a seat for each NIC of ``nodes`` (by index, with the attachment), one switch after another.

    A NIC stays at its allocated switch of the tier. Any other goes to the switch with the most free ports, the first of
    them when several are equal, and never to a switch with another NIC of its node while there is one without. The
    tier's spare ports stay free. Returns the node groups with too few ports.
    """
    free: dict[str, dict[int, int]] = {}
    wanted: dict[tuple[str, str, int], int] = {}
    there: dict[tuple[str, str, int], int] = {}
    short: dict[tuple[str, str, int], None] = {}
    standing = _allocated_seats(nodes, choice)
    for number, attach in nodes:
        group = spec.node_groups[layout.nodes[number].node_group]
        speeds = nic_speeds(group, attach)
        tier = attach.to or ""
        if tier not in free:
            free[tier] = _free(fabric, seats, tier, speeds[0], node_seats)
            for allocated_seat, _ in standing.values():
                if allocated_seat in free[tier]:
                    free[tier][allocated_seat] -= 1
        remaining = free[tier]
        key = (group.name, tier, speeds[0])
        wanted[key] = wanted.get(key, 0) + len(speeds)
        there.setdefault(key, sum(max(0, ports) for ports in remaining.values()))
        chosen = _seats_of_node([standing.get((number, nic)) for nic in range(len(speeds))], remaining)
        if len(chosen) < len(speeds):
            short[key] = None
        if chosen:
            taken, cables = zip(*chosen, strict=True)
            node_seats.append(NodeSeats(number, taken, speeds[0], standing=cables))
    return [Crowded(*key, wanted[key], there[key], len(free[key[1]])) for key in short]


def _allocated_seats(
    nodes: Sequence[tuple[int, Attach]], choice: SeatChoice
) -> dict[tuple[int, int], tuple[int, StandingCable]]:
    """The allocated seat and cable of NICs, by node and NIC."""
    allocated_seats: dict[tuple[int, int], tuple[int, StandingCable]] = {}
    for number, _ in nodes:
        for nic in choice.nics(number):
            allocated = choice.standing(number, nic)
            if allocated is not None:
                allocated_seats[number, nic] = allocated
    return allocated_seats


def _seats_of_node(
    allocated_seats: Sequence[tuple[int, StandingCable] | None], remaining: dict[int, int]
) -> list[tuple[int, StandingCable | None]]:
    """A seat for each NIC of a node, with its allocated cable, as far as ``remaining`` ports go; lowers these."""
    used: set[int] = set()
    chosen: list[tuple[int, StandingCable | None]] = []
    for allocated in allocated_seats:
        if allocated is not None and allocated[0] in remaining:
            used.add(allocated[0])
            chosen.append(allocated)
            continue
        seat = _freest(remaining, used)
        if seat is None or remaining[seat] <= 0:
            break
        remaining[seat] -= 1
        used.add(seat)
        chosen.append((seat, None))
    return chosen


def _freest(remaining: Mapping[int, int], used: Container[int]) -> int | None:
    """The seat with the most remaining ports, without another NIC of the node if possible, the first of several."""
    return max(
        remaining,
        key=lambda seat: (remaining[seat] > 0, seat not in used, remaining[seat], -seat),
        default=None,
    )


def _free(
    fabric: Fabric, seats: Sequence[Seat], role: str, speed_gbps: int, node_seats: Sequence[NodeSeats]
) -> dict[int, int]:
    """Remaining ports of each switch of a tier at a speed, by seat."""
    tier = fabric.tier(role)
    if tier is None:
        return {}
    depth = fabric.tiers.index(tier)
    capacity_below = _capacity_below(tier, speed_gbps)
    remaining = {number: capacity_below for number, seat in enumerate(seats) if seat.tier == depth}
    for node_seat in chain.from_iterable(node.seats for node in node_seats):
        if node_seat in remaining:
            remaining[node_seat] -= 1
    return remaining


def _capacity_below(tier: Tier, speed_gbps: int) -> int:
    """Ports of one switch for links from below, at one speed: all but uplinks and spare ones."""
    model, up = tier.model, tier.up
    reserved = up.side.blocks if up is not None else ()
    blocks = tier.down.blocks or tuple(block.name for block in model.blocks if block.name not in reserved)
    capacity_below = capacity(model, blocks, speed_gbps, tier.down.mode)
    if up is not None and not reserved:
        elsewhere = capacity(model, (), up.speed_gbps, up.side.mode) - capacity(model, blocks, up.speed_gbps)
        capacity_below -= max(0, up.links - elsewhere)
    return capacity_below - tier.down.spare
