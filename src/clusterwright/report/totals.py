"""Totals of a plan: tiers with their bandwidth, racks by kind with their power, the bill of cabling."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.bandwidth import oversubscription
from clusterwright.report.ports import available_ports, used_ports

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.plan.model import Device, Plan
    from clusterwright.spec.hardware.models import HardwareModel


@dataclass(frozen=True, slots=True)
class TierTotals:
    """One tier of a fabric."""

    fabric: str
    index: int
    role: str
    model: str
    switches: int
    links: int
    """Links down."""
    speeds: tuple[tuple[int, int], ...]
    bisection_tbps: float
    """Traffic between two halves of the cluster through this tier: half of the smallest sum of links up to here,
    because the links of a Clos spread evenly."""
    bisection_share: float
    """Its ratio to half of all NICs, which is full bisection; at most 1."""
    oversubscription: float | None
    """Bandwidth of all NICs at or below the tier over that of its uplinks; None at the top."""
    ports_used: int
    ports_available: int


@dataclass(frozen=True, slots=True)
class Occupant:
    """A place in a rack: lowest unit, height in rack units, role and model of its device."""

    unit: float
    units: float
    role: str
    model: str


@dataclass(frozen=True, slots=True)
class RackKind:
    """Racks with the same contents: their number, the first one's name, the contents from the bottom up.

    Power and weight are those of one rack's equipment; ``assumed`` marks contents with an assumed figure.
    """

    count: int
    example: str
    occupants: tuple[Occupant, ...]
    power_w: int
    weight_kg: float
    assumed: bool


@dataclass(frozen=True, slots=True)
class CableTotals:
    """Cables to order as one line."""

    fabric: str
    medium: str
    speed_gbps: int
    length_m: float
    count: int


def tier_totals(plan: Plan) -> tuple[TierTotals, ...]:
    """The tiers of every fabric, fabrics in the spec's order, tiers from the bottom."""
    by_name = plan.by_name
    speeds: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    nics: dict[tuple[str, int], int] = defaultdict(int)
    for cable in plan.cables:
        speeds[cable.fabric, by_name[cable.b.device].role][cable.speed_gbps] += 1
        if cable.a.side != "up":
            nics[cable.fabric, cable.tier] += cable.speed_gbps
    ports, ratios = _ports_by_role(plan), oversubscription(plan, plan.cables)
    totals: list[TierTotals] = []
    for fabric in plan.spec.fabrics:
        order = plan.tier_orders[fabric.name]
        narrowest: list[int] = []
        for index, tier in enumerate(fabric.tiers):
            # NICs of the tiers below or above this one; those of tiers beside it take other paths.
            on_path = [position for position in range(len(fabric.tiers)) if order.is_on_way(index, position)]
            all_nics = sum(nics[fabric.name, position] for position in on_path)
            links = speeds[fabric.name, tier.role]
            gbps = sum(speed * count for speed, count in links.items())
            # NICs attached higher up are not limited by the tiers below them.
            lowers = order.next_below(index)
            climbing = sum(narrowest[lower] for lower in lowers) + nics[fabric.name, index]
            narrowest.append(min(gbps, climbing) if lowers else gbps)
            switches, used, available = ports[fabric.name, tier.role]
            totals.append(
                TierTotals(
                    fabric=fabric.name,
                    index=index,
                    role=tier.role,
                    model=tier.model.name,
                    switches=switches,
                    links=links.total(),
                    speeds=tuple(sorted(links.items(), reverse=True)),
                    bisection_tbps=narrowest[index] / 2 / 1000,
                    bisection_share=min(1.0, narrowest[index] / all_nics) if all_nics else 0.0,
                    oversubscription=ratios.get((fabric.name, tier.role)),
                    ports_used=used,
                    ports_available=available,
                )
            )
    return tuple(totals)


def rack_kinds(plan: Plan) -> tuple[RackKind, ...]:
    """Racks by their contents, the most frequent first; devices without a rack are left out."""
    contents: dict[str, list[Device]] = defaultdict(list)
    for device in plan.devices:
        if device.rack:
            contents[device.rack].append(device)
    kinds: dict[tuple[Occupant, ...], list[str]] = defaultdict(list)
    for rack, devices in contents.items():
        occupants = sorted((_occupant(plan, device) for device in devices), key=_from_bottom)
        kinds[tuple(occupants)].append(rack)
    kinds_of_racks = [_rack_kind(plan.spec.catalogue, occupants, racks) for occupants, racks in kinds.items()]
    return tuple(sorted(kinds_of_racks, key=lambda kind: -kind.count))


def cable_totals(plan: Plan) -> tuple[CableTotals, ...]:
    """The bill of cabling: fabrics in the spec's order, then by medium, speed and length."""
    counts = Counter((cable.fabric, cable.medium, cable.speed_gbps, cable.length_m) for cable in plan.cables)
    order = {fabric.name: index for index, fabric in enumerate(plan.spec.fabrics)}
    keys = sorted(counts, key=lambda key: (order[key[0]], key[1:]))
    return tuple(CableTotals(*key, counts[key]) for key in keys)


def power_w(plan: Plan) -> int:
    """The rated power of all devices together, in watts."""
    counts = Counter(device.model for device in plan.devices)
    return sum(plan.spec.catalogue[model].power_w * count for model, count in counts.items())


def _ports_by_role(plan: Plan) -> Mapping[tuple[str, str], tuple[int, int, int]]:
    """(fabric, role) to switches, ports used, ports available."""
    in_use = used_ports(plan)
    sums: dict[tuple[str, str], tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
    offered: dict[tuple[str, frozenset[tuple[str, int]]], int] = {}
    for device in plan.devices:
        if device.kind != "switch":
            continue
        ports = in_use.get(device.name, {})
        pattern = (device.model, frozenset(ports.items()))
        if pattern not in offered:
            offered[pattern] = available_ports(plan.spec.catalogue[device.model], ports)
        switches, used, available = sums[device.fabric, device.role]
        sums[device.fabric, device.role] = (switches + 1, used + len(ports), available + offered[pattern])
    return sums


def _occupant(plan: Plan, device: Device) -> Occupant:
    return Occupant(
        unit=device.unit, units=plan.spec.catalogue[device.model].units, role=device.role, model=device.model
    )


def _from_bottom(occupant: Occupant) -> tuple[float, str, str]:
    return (occupant.unit, occupant.role, occupant.model)


def _rack_kind(catalogue: Mapping[str, HardwareModel], occupants: tuple[Occupant, ...], racks: list[str]) -> RackKind:
    models = [catalogue[occupant.model] for occupant in occupants]
    return RackKind(
        count=len(racks),
        example=racks[0],
        occupants=occupants,
        power_w=sum(model.power_w for model in models),
        weight_kg=sum(model.weight_kg for model in models),
        assumed=any(model.assumed for model in models),
    )
