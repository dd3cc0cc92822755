"""Devices: nodes and switches with their names, places, AS numbers, GUIDs and ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.plan.addressing import FabricAddresses, fabric_addresses
from clusterwright.plan.allocation.standing import Numbers
from clusterwright.plan.chips import fabric_number, switch_guid
from clusterwright.plan.model import Device
from clusterwright.plan.racks.filling import Racks
from clusterwright.plan.seats import Seat
from clusterwright.plan.service import state_of, stated
from clusterwright.plan.skeleton import FabricSkeleton, Skeleton
from clusterwright.spec.fabric import AsnPlan, Fabric
from clusterwright.spec.hardware.models import DEVICE
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import zones_of


def place_nodes(spec: ClusterSpec, skeleton: Skeleton, racks: Racks) -> tuple[Device, ...]:
    """All nodes in order, each at its place in ``racks``."""
    layout = skeleton.layout
    images = {item.device or item.group or "": item.image for item in spec.exceptions if item.image}
    states = stated(spec)
    zones = {group.name: zones_of(spec, group.name) for group in spec.node_groups}
    placed: list[Device] = []
    rank = 0
    for slot in layout.nodes:
        group = spec.node_groups[slot.node_group]
        around = tuple(layout.groups[group_index].name for group_index in slot.groups)
        rack, unit = racks.places[slot.name]
        gpus = group.model.gpus
        # What stands in the racks of others without an image has none because their rack has another.
        places = (slot.name, *around) if group.inside is None or group.image is not None else (slot.name,)
        override = next((images[name] for name in places if name in images), group.image)
        placed.append(
            Device(
                name=slot.name,
                planned_name=slot.planned_name,
                kind=DEVICE if group.model.kind == DEVICE else "node",
                role=group.role,
                model=group.model.name,
                node_group=group.name,
                fabric="",
                tier=-1,
                rack=rack,
                unit=unit,
                pod=around[-1],
                group=around[0],
                groups=around,
                index=slot.number,
                position=slot.slot,
                plane=None,
                rail=None,
                rank=rank if gpus else None,
                asn=None,
                loopback=None,
                guid=None,
                zones=zones[group.name],
                image=None if group.model.kind == DEVICE else override,
                state=state_of(states, slot.name, around),
            )
        )
        rank += gpus.count if gpus else 0
    return tuple(placed)


def place_switches(spec: ClusterSpec, skeleton: Skeleton, racks: Racks) -> tuple[tuple[Device, ...], ...]:
    """The switches of each fabric, in the skeleton's order."""
    states = stated(spec)
    return tuple(tuple(_switches(skeleton, fabric, racks, states)) for fabric in skeleton.fabrics)


def _switches(skeleton: Skeleton, fabric: FabricSkeleton, racks: Racks, states: Mapping[str, str]) -> Iterator[Device]:
    numbers = as_numbers(fabric)
    addressing = fabric.fabric.addressing
    if addressing is None:
        for seat, asn in zip(fabric.seats, numbers, strict=True):
            yield _switch(skeleton, fabric, seat, racks=racks, states=states, asn=asn, loopback=None)
        return
    addresses = fabric_addresses(addressing)
    resting_numbers = [addresses.loopback_number(address) for address in fabric.resting.addresses]
    standing_numbers = [_standing_loopback(seat, addresses) for seat in fabric.seats]
    loopbacks = Numbers(number for number in (*resting_numbers, *standing_numbers) if number >= 0)
    for seat, asn, number in zip(fabric.seats, numbers, standing_numbers, strict=True):
        loopback = addresses.loopback(loopbacks.take(number if number >= 0 else None))
        yield _switch(skeleton, fabric, seat, racks=racks, states=states, asn=asn, loopback=loopback)


def _standing_loopback(seat: Seat, addresses: FabricAddresses) -> int:
    """Number of a switch's allocated loopback in its pool; negative without one there."""
    if seat.standing is None or seat.standing.loopback is None:
        return -1
    return addresses.loopback_number(seat.standing.loopback)


def _switch(
    skeleton: Skeleton,
    fabric: FabricSkeleton,
    seat: Seat,
    *,
    racks: Racks,
    states: Mapping[str, str],
    asn: int | None,
    loopback: int | None,
) -> Device:
    layout = skeleton.layout
    tier = fabric.fabric.tiers[seat.tier]
    group_indexes = layout.around[seat.group] if seat.group >= 0 else ()
    around = tuple(layout.groups[group_index].name for group_index in group_indexes)
    rack, unit = racks.places[seat.name]
    return Device(
        name=seat.name,
        planned_name=seat.planned_name,
        kind="switch",
        role=tier.role,
        model=tier.model.name,
        node_group="",
        fabric=fabric.fabric.name,
        tier=seat.tier,
        rack=rack,
        unit=unit,
        pod=around[-1] if around else "",
        group=around[0] if around else "",
        groups=around,
        index=seat.index,
        position=seat.position,
        plane=seat.plane,
        rail=seat.rail,
        rank=None,
        asn=asn,
        loopback=loopback,
        guid=_guid(skeleton, fabric.fabric, seat),
        zones=(),
        image=None,
        state=state_of(states, seat.name, around),
    )


def _guid(skeleton: Skeleton, fabric: Fabric, seat: Seat) -> int | None:
    """The scanned GUID of a switch, or its planned one."""
    manager = fabric.subnet_manager
    if manager is None:
        return None
    number = fabric_number((other.fabric for other in skeleton.fabrics), fabric)
    planned = switch_guid(manager.guid_prefix, number, seat.tier, seat.index)
    return fabric.guids.by_end.get((seat.name, ""), planned) if fabric.guids else planned


def as_numbers(fabric: FabricSkeleton) -> list[int | None]:
    """The AS number of every switch of a fabric, in the order of its seats.

    An allocated number counts from the tier's base on; one number is shared by a switch alone, by the switches of one
    group or by the tier.
    """
    asn_by_seat: list[int | None] = [None] * len(fabric.seats)
    for depth, tier in enumerate(fabric.fabric.tiers):
        plan = tier.asn
        if plan is None:
            continue
        seats = [(seat_index, seat) for seat_index, seat in enumerate(fabric.seats) if seat.tier == depth]
        kept: list[tuple[Seat, int]] = []
        for _, seat in seats:
            standing_asn = seat.standing.asn if seat.standing else None
            if standing_asn is not None and standing_asn >= plan.base:
                kept.append((seat, standing_asn - plan.base))
        numbers = Numbers([number for _, number in kept])
        given: dict[int, int] = {}
        if plan.per == "tier":
            given = {_sharing(plan, seat): 0 for _, seat in seats}
        else:
            for seat, number in kept:
                given.setdefault(_sharing(plan, seat), number)
        for seat_index, seat in seats:
            sharing = _sharing(plan, seat)
            if sharing not in given:
                given[sharing] = numbers.take()
            asn_by_seat[seat_index] = plan.base + given[sharing]
    return asn_by_seat


def _sharing(plan: AsnPlan, seat: Seat) -> int:
    """Key of the switches with a common AS number in a tier."""
    return {"tier": 0, "switch": seat.index, "group": seat.group}[plan.per]
