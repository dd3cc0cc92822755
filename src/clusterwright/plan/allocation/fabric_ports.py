"""Ports of every switch of a fabric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.plan.allocation.kept_ports import CagePlaces, allocate_beside
from clusterwright.plan.ports import Allocation, PortShortage, allocate, moved
from clusterwright.plan.seats import Seat, SeatLink
from clusterwright.plan.service import dead_ports
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.spec.fabric import Tier
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.model import ClusterSpec


@dataclass(frozen=True, slots=True)
class _PortDemand:
    """Links of one switch: ``tier`` is its index, ``is_loose`` a switch whose uplinks lead nowhere."""

    tier: int
    down_speeds: tuple[int, ...]
    is_loose: bool
    standing_down: tuple[str, ...]
    """Allocated ports of the downlinks, "" for new ones."""
    standing_up: tuple[str, ...]
    resting: frozenset[str]

    @property
    def has_allocated_ports(self) -> bool:
        """Whether an allocation file limits the choice of ports."""
        return any(self.standing_down) or any(self.standing_up) or bool(self.resting)


def allocate_fabric(spec: ClusterSpec, skeleton: FabricSkeleton) -> list[Allocation]:
    """Allocate the ports of every switch of a fabric, in seat order; equal demands share one allocation.

    Allocated links keep their ports, and ports given up recently stay free. Raises PortShortage when a model has too
    few. A port out of service is replaced by the first spare port of its speed; without one, its cable stays where it
    is, out of service.
    """
    dead = dead_ports(spec)
    places = CagePlaces()
    allocation_by_demand: dict[_PortDemand, Allocation] = {}
    allocations: list[Allocation] = []
    for seat, demand in zip(skeleton.seats, _port_demands(spec, skeleton, places), strict=True):
        tier = skeleton.fabric.tiers[seat.tier]
        allocation = allocation_by_demand.get(demand)
        if allocation is None:
            try:
                allocation = _allocate_switch(tier, demand, places)
            except PortShortage as shortage:
                raise shortage.at(seat.name, seat.tier) from None
            allocation_by_demand[demand] = allocation
        if seat.name in dead:
            allocation = moved(allocation, tier.model, dead[seat.name], demand.down_speeds, _up_speed_gbps(tier))
        allocations.append(allocation)
    return allocations


def _port_demands(spec: ClusterSpec, skeleton: FabricSkeleton, places: CagePlaces) -> Iterator[_PortDemand]:
    """The demand of each switch, in seat order."""
    loose = frozenset(skeleton.loose)
    standing_down_by_seat = skeleton.standing_down() if spec.allocated else None
    for index, (seat, speeds) in enumerate(zip(skeleton.seats, skeleton.links_down, strict=True)):
        tier = skeleton.fabric.tiers[seat.tier]
        standing_down = standing_down_by_seat[index] if standing_down_by_seat else []
        uplinks = skeleton.standing.get(index, ())
        standing_up = [_standing_port(link) for link in uplinks]
        former_model = _former_model(spec, seat, tier)
        if former_model is not None:
            up_speeds = [_up_speed_gbps(tier)] * len(standing_up)
            standing_down = places.handed_on_all(standing_down, speeds, before=former_model, now=tier.model)
            standing_up = places.handed_on_all(standing_up, up_speeds, before=former_model, now=tier.model)
        yield _PortDemand(
            tier=seat.tier,
            down_speeds=tuple(speeds),
            is_loose=index in loose,
            standing_down=tuple(standing_down),
            standing_up=tuple(standing_up),
            resting=skeleton.resting.ports.get(seat.name, frozenset()),
        )


def _standing_port(link: SeatLink) -> str:
    return link.standing.port if link.standing else ""


def _former_model(spec: ClusterSpec, seat: Seat, tier: Tier) -> HardwareModel | None:
    """Model of the allocated switch in a seat, if the tier has another one now."""
    if seat.standing is None:
        return None
    former_model = spec.catalogue.get(seat.standing.model)
    if former_model is None or former_model.name == tier.model.name:
        return None
    return former_model


def _up_speed_gbps(tier: Tier) -> int:
    return tier.up.speed_gbps if tier.up else 0


def _allocate_switch(tier: Tier, demand: _PortDemand, places: CagePlaces) -> Allocation:
    """Allocate the ports of one switch. Raises PortShortage."""
    up = None if demand.is_loose else tier.up
    if demand.has_allocated_ports:
        return allocate_beside(
            places,
            tier.model,
            tier.down,
            down_speeds=demand.down_speeds,
            below=demand.standing_down,
            up=up,
            above=demand.standing_up,
            resting=demand.resting,
        )
    return allocate(
        tier.model,
        tier.down,
        demand.down_speeds,
        up=up.side if up else None,
        up_speed_gbps=up.speed_gbps if up else 0,
        up_links=up.links if up else 0,
    )
