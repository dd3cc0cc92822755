"""NICs that go wherever a tier has ports left: managers, storage and services on a rail-optimised fabric.

NVIDIA's reference design leaves one node out of four scalable units and gives the eight leaf ports that this frees to
the fabric's managers (DGX SuperPOD H100: 127 nodes in four units).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.plan.attaching import SeatChoice
from clusterwright.plan.layout import Layout
from clusterwright.plan.ports import capacity
from clusterwright.plan.seats import NodeSeats, Seat, nic_speeds
from clusterwright.spec.allocated.facts import StandingCable
from clusterwright.spec.fabric import Attach, Fabric, Tier
from clusterwright.spec.model import ClusterSpec


@dataclass(frozen=True, slots=True)
class Crowded:
    """A node group whose NICs do not all find a port: they want ``wanted`` ports of ``speed_gbps`` Gb/s on ``tier``.

    ``free`` were left to them on its ``switches`` switches, beside the ports that the tier keeps spare.
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
    """Append a seat for each NIC of ``nodes`` (by index, with what says which tier), one switch after another.

    A NIC stays at the switch of the tier where its cable stands. Any other goes to the switch with the most free ports,
    the first of them when several are equal, and never to a switch that another NIC of its node has while there is one
    without. Ports that the tier keeps spare stay free. Returns the node groups for which too few were left.
    """
    free: dict[str, dict[int, int]] = {}
    wanted: dict[tuple[str, str, int], int] = {}
    there: dict[tuple[str, str, int], int] = {}
    short: dict[tuple[str, str, int], None] = {}
    standing = {
        (number, nic): known
        for number, _ in nodes
        for nic in choice.nics(number)
        if (known := choice.standing(number, nic)) is not None
    }
    for number, attach in nodes:
        group = spec.node_groups[layout.nodes[number].node_group]
        speeds = nic_speeds(group, attach)
        tier = attach.to or ""
        if tier not in free:
            free[tier] = _free(fabric, seats, tier, speeds[0], node_seats)
            for known in standing.values():
                if known[0] in free[tier]:
                    free[tier][known[0]] -= 1
        left = free[tier]
        key = (group.name, tier, speeds[0])
        wanted[key] = wanted.get(key, 0) + len(speeds)
        there.setdefault(key, sum(max(0, ports) for ports in left.values()))
        used: set[int] = set()
        chosen: list[tuple[int, StandingCable | None]] = []
        for nic in range(len(speeds)):
            at, cable = standing.get((number, nic), (-1, None))
            if at in left:
                used.add(at)
                chosen.append((at, cable))
                continue
            seat = max(left, key=lambda at: (left[at] > 0, at not in used, left[at], -at), default=None)
            if seat is None or left[seat] <= 0:
                short[key] = None
                break
            left[seat] -= 1
            used.add(seat)
            chosen.append((seat, None))
        if chosen:
            taken, cables = zip(*chosen, strict=True)
            node_seats.append(NodeSeats(number, taken, speeds[0], standing=cables))
    return [Crowded(*key, wanted[key], there[key], len(free[key[1]])) for key in short]


def _free(
    fabric: Fabric, seats: Sequence[Seat], role: str, speed_gbps: int, node_seats: Sequence[NodeSeats]
) -> dict[int, int]:
    """Ports that each switch of a tier has left at a speed, by seat."""
    tier = fabric.tier(role)
    if tier is None:
        return {}
    depth = fabric.tiers.index(tier)
    capacity_below = _capacity_below(tier, speed_gbps)
    left = {number: capacity_below for number, seat in enumerate(seats) if seat.tier == depth}
    for seat in (seat for node in node_seats for seat in node.seats):
        if seat in left:
            left[seat] -= 1
    return left


def _capacity_below(tier: Tier, speed_gbps: int) -> int:
    """Ports of one switch for links from below, at one speed: what the uplinks and the spare ones leave."""
    model, up = tier.model, tier.up
    reserved = up.side.blocks if up is not None else ()
    blocks = tier.down.blocks or tuple(block.name for block in model.blocks if block.name not in reserved)
    capacity_below = capacity(model, blocks, speed_gbps, tier.down.mode)
    if up is not None and not reserved:
        elsewhere = capacity(model, (), up.speed_gbps, up.side.mode) - capacity(model, blocks, up.speed_gbps)
        capacity_below -= max(0, up.links - elsewhere)
    return capacity_below - tier.down.spare
