"""Record a plan's allocations for its allocation file, with the ports and addresses freed since then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from itertools import chain

from clusterwright.plan.allocation.standing import Standing
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.allocated.facts import (
    Allocated,
    Cables,
    End,
    Freed,
    GroupKey,
    StandingCable,
    StandingGroups,
    StandingNode,
    StandingSwitch,
)

FabricAddress = tuple[str, int]


def record(plan: Plan, day: date, before: Allocated | None = None) -> Allocated:
    """Everything allocated by a plan; ``before`` is the former record, by default the spec's own file.

    A port without a cable and an address without an owner rest from ``day`` on, for the spec's quarantine.
    """
    standing = Standing(plan.spec, plan.spec.allocated if before is None else before)
    cables: dict[str, dict[End, StandingCable]] = {fabric.name: {} for fabric in plan.spec.fabrics}
    planned = {device.name: device.planned_name for device in plan.devices}
    for cable in plan.cables:
        lower, upper = planned[cable.a.device], planned[cable.b.device]
        standing_cable = StandingCable(
            device=lower, port=cable.a.port, upper=upper, upper_port=cable.b.port, address=cable.a.address, line=0
        )
        cables[cable.fabric][standing_cable.device, standing_cable.port] = standing_cable
    hosts = {device: subnet.network for (_, device), subnet in plan.host_subnet_of.items()}
    nodes: dict[str, StandingNode] = {}
    switches: dict[str, StandingSwitch] = {}
    for device in plan.devices:
        name = device.planned_name
        if device.node_group:
            nodes[name] = StandingNode(
                name=name, group=device.node_group, number=device.index, unit=device.unit, line=0
            )
        if device.kind == "switch":
            switches[name] = _switch(device, hosts.get(device.name))
    allocated = Allocated(
        groups=_groups(plan, standing),
        nodes=nodes,
        switches=switches,
        cables=cables,
    )
    ports = _freed_ports(plan, standing, allocated, day)
    addresses = _freed_addresses(plan, standing, allocated, day)
    return Allocated(
        groups=allocated.groups,
        nodes=allocated.nodes,
        switches=allocated.switches,
        cables=allocated.cables,
        freed_ports=ports,
        freed_addresses=addresses,
        former={now: was for now, was in standing.former.items() if now in nodes or now in switches},
    )


def addresses_of(switches: Mapping[str, StandingSwitch], cables: Mapping[str, Cables]) -> Iterator[FabricAddress]:
    """Every allocated address: loopbacks, host subnets, and the lower end of every cable."""
    for switch in switches.values():
        for address in (switch.loopback, switch.hosts):
            if address is not None:
                yield switch.fabric, address
    for fabric, fabric_cables in cables.items():
        for cable in fabric_cables.values():
            if cable.address is not None:
                yield fabric, cable.address


def _groups(plan: Plan, standing: Standing) -> dict[GroupKey, StandingGroups]:
    """Names of groups in their order, with those left out by the spec at their place."""
    names: dict[GroupKey, list[str]] = {}
    for group in plan.groups:
        if group.node_group:
            names.setdefault((group.node_group, group.level, group.parent), []).append(group.name)
    left_out = {group.name: group.left_out for group in plan.spec.node_groups}
    groups: dict[GroupKey, StandingGroups] = {}
    for key, planned_names in names.items():
        node_group, _, _ = key
        possible_names = {*planned_names, *left_out[node_group]}
        standing_names = [name for name in standing.groups.get(key, ()) if name in possible_names]
        new_names = [name for name in planned_names if name not in standing_names]
        stem = _stem(planned_names[0])
        numbered = [name for name in left_out[node_group] if name != stem]
        unrecorded = [name for name in numbered if name not in standing_names]
        missing = [name for name in unrecorded if _stem(name) == stem]
        if missing:
            new_names = sorted([*new_names, *missing], key=lambda name: int(name.removeprefix(stem)))
        groups[key] = StandingGroups((*standing_names, *new_names), 0)
    return groups


def _stem(name: str) -> str:
    """A group's name without its number."""
    return name.rstrip("0123456789")


def _switch(device: Device, hosts: int | None) -> StandingSwitch:
    return StandingSwitch(
        name=device.planned_name,
        model=device.model,
        fabric=device.fabric,
        tier=device.role,
        group=device.group,
        plane=device.plane or 0,
        position=device.position,
        number=device.index,
        rack=device.rack,
        unit=device.unit,
        asn=device.asn,
        loopback=device.loopback,
        hosts=hosts,
        line=0,
    )


def _freed_ports(plan: Plan, standing: Standing, now: Allocated, day: date) -> dict[End, Freed]:
    """Resting ports of switches: earlier ones until their quarantine ends, and new ones."""
    switches = {device.name: device.planned_name for device in plan.devices if device.kind == "switch"}
    since: dict[End, Freed] = {}
    for (name, port), freed in standing.allocated.freed_ports.items():
        if standing.name(name) in switches:
            since[switches[standing.name(name)], port] = freed
    used: set[End] = set()
    for cables in now.cables.values():
        used.update(chain.from_iterable(map(_ends, cables.values())))
    for cables in standing.cables.values():
        for cable in cables.values():
            for name, port in _ends(cable):
                if name in switches and (switches[name], port) not in used:
                    since.setdefault((switches[name], port), Freed(day, 0))
    unused = {end: freed for end, freed in since.items() if end not in used}
    return {end: freed for end, freed in unused.items() if _rests(plan, freed, day)}


def _freed_addresses(plan: Plan, standing: Standing, now: Allocated, day: date) -> dict[FabricAddress, Freed]:
    """Resting addresses: earlier ones until their quarantine ends, and new ones."""
    gone: dict[FabricAddress, Freed] = {}
    for (fabric, address), freed in standing.allocated.freed_addresses.items():
        gone[standing.fabric(fabric), address] = freed
    taken = set(addresses_of(now.switches, now.cables))
    for fabric, address in addresses_of(standing.allocated.switches, standing.allocated.cables):
        gone.setdefault((standing.fabric(fabric), address), Freed(day, 0))
    addressed = {fabric.name for fabric in plan.spec.fabrics if fabric.addressing is not None}
    resting: dict[FabricAddress, Freed] = {}
    for (fabric, address), freed in gone.items():
        is_free = fabric in addressed and (fabric, address) not in taken
        if is_free and _rests(plan, freed, day):
            resting[fabric, address] = freed
    return resting


def _rests(plan: Plan, freed: Freed, day: date) -> bool:
    return (day - freed.day).days < plan.spec.allocation.quarantine_days


def _ends(cable: StandingCable) -> tuple[End, End]:
    return (cable.device, cable.port), (cable.upper, cable.upper_port)
