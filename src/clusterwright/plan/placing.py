"""Devices: nodes and switches with their names, places, AS numbers, GUIDs and ranks."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.plan.addressing import fabric_addresses
from clusterwright.plan.guids import switch_guid
from clusterwright.plan.model import Device
from clusterwright.plan.racking import Racks
from clusterwright.plan.seats import Seat
from clusterwright.plan.service import state_of, stated
from clusterwright.plan.skeleton import FabricSkeleton, Skeleton
from clusterwright.spec.fabric import Fabric, Tier
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import zones_of


def place_nodes(spec: ClusterSpec, skeleton: Skeleton, racks: Racks) -> tuple[Device, ...]:
    """All nodes in order, each on top of its rack's pile."""
    layout = skeleton.layout
    images = _images(spec)
    states = stated(spec)
    zones = {group.name: zones_of(spec, group.name) for group in spec.node_groups}
    placed: list[Device] = []
    rank = 0
    for number, slot in enumerate(layout.nodes):
        group = spec.node_groups[slot.node_group]
        around = tuple(layout.groups[at].name for at in slot.groups)
        rack = next((layout.groups[at].name for at in slot.groups if layout.groups[at].level == "rack"), around[0])
        gpus = group.model.gpus
        override = next((images[name] for name in (slot.name, *around) if name in images), group.image)
        placed.append(
            Device(
                name=slot.name,
                kind="node",
                role=group.role,
                model=group.model.name,
                node_group=group.name,
                fabric="",
                tier=-1,
                rack=rack,
                unit=racks.place(rack, group.model.units),
                pod=around[-1],
                group=around[0],
                groups=around,
                index=number,
                position=slot.slot,
                plane=None,
                rail=None,
                rank=rank if gpus else None,
                asn=None,
                loopback=None,
                guid=None,
                zones=zones[group.name],
                image=override,
                state=state_of(states, slot.name, around),
            )
        )
        rank += gpus.count if gpus else 0
    return tuple(placed)


def place_switches(spec: ClusterSpec, skeleton: Skeleton, racks: Racks) -> tuple[tuple[Device, ...], ...]:
    """The switches of each fabric, in the skeleton's order."""
    states = stated(spec)
    return tuple(
        tuple(_switch(skeleton, fabric, number, seat, racks, states) for number, seat in enumerate(fabric.seats))
        for fabric in skeleton.fabrics
    )


def _switch(
    skeleton: Skeleton, fabric: FabricSkeleton, number: int, seat: Seat, racks: Racks, states: Mapping[str, str]
) -> Device:
    layout = skeleton.layout
    tier = fabric.fabric.tiers[seat.tier]
    around = tuple(layout.groups[at].name for at in layout.around[seat.group]) if seat.group >= 0 else ()
    rack, unit = racks.place_switch(seat.group, tier.model.units)
    addressing = fabric.fabric.addressing
    return Device(
        name=seat.name,
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
        asn=_asn(tier, seat, fabric),
        loopback=fabric_addresses(addressing).loopback(number) if addressing else None,
        guid=_guid(fabric.fabric, seat),
        zones=(),
        image=None,
        state=state_of(states, seat.name, around),
    )


def _guid(fabric: Fabric, seat: Seat) -> int | None:
    """The scanned GUID of a switch, or the one that is planned for it."""
    manager = fabric.subnet_manager
    if manager is None:
        return None
    planned = switch_guid(manager.guid_prefix, seat.tier, seat.index)
    return fabric.guids.by_end.get((seat.name, ""), planned) if fabric.guids else planned


def _asn(tier: Tier, seat: Seat, fabric: FabricSkeleton) -> int | None:
    if tier.asn is None:
        return None
    if tier.asn.per == "tier":
        return tier.asn.base
    if tier.asn.per == "switch":
        return tier.asn.base + seat.index
    per_group = tier.count * fabric.planes[seat.tier]
    return tier.asn.base + seat.index // per_group


def _images(spec: ClusterSpec) -> Mapping[str, str]:
    """Image overrides by device or group name."""
    return {item.device or item.group or "": item.image for item in spec.exceptions if item.image}
