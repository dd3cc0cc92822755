"""What stands once a plan is built: the facts that its allocation file holds from then on, and what nothing has any
more since then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date

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
    """Everything that stands by a plan. ``before`` is what stood, the spec's own file where that is left out.

    What has no cable or no owner any more has rested since ``day``, and rests for the spec's quarantine.
    """
    standing = Standing(plan.spec, plan.spec.allocated if before is None else before)
    cables: dict[str, dict[End, StandingCable]] = {fabric.name: {} for fabric in plan.spec.fabrics}
    planned = {device.name: device.planned_name for device in plan.devices}
    for cable in plan.cables:
        lower, upper = planned[cable.a.device], planned[cable.b.device]
        own = StandingCable(
            device=lower, port=cable.a.port, upper=upper, upper_port=cable.b.port, address=cable.a.address, line=0
        )
        cables[cable.fabric][own.device, own.port] = own
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
    ports, addresses = _freed(plan, standing, allocated, day)
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
    """Every address that stands: loopbacks, host subnets, and the lower end of every cable."""
    for switch in switches.values():
        yield from ((switch.fabric, each) for each in (switch.loopback, switch.hosts) if each is not None)
    for fabric, own in cables.items():
        yield from ((fabric, cable.address) for cable in own.values() if cable.address is not None)


def _groups(plan: Plan, standing: Standing) -> dict[GroupKey, StandingGroups]:
    """Names in their order, those that the spec leaves out at their place."""
    names: dict[GroupKey, list[str]] = {}
    for group in plan.groups:
        if group.node_group:
            names.setdefault((group.node_group, group.level, group.parent), []).append(group.name)
    left_out = {group.name: group.left_out for group in plan.spec.node_groups}
    groups = {}
    for key, names_of_group in names.items():
        standing_names = [
            name for name in standing.groups.get(key, ()) if name in names_of_group or name in left_out[key[0]]
        ]
        stem = names_of_group[0].rstrip("0123456789")
        missing = [
            name
            for name in left_out[key[0]]
            if name not in standing_names and name.rstrip("0123456789") == stem and len(name) > len(stem)
        ]
        rest = [name for name in names_of_group if name not in standing_names]
        if missing:
            rest = sorted([*rest, *missing], key=lambda name: int(name.removeprefix(stem)))
        groups[key] = StandingGroups((*standing_names, *rest), 0)
    return groups


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


def _freed(
    plan: Plan, standing: Standing, now: Allocated, day: date
) -> tuple[dict[End, Freed], dict[FabricAddress, Freed]]:
    """Ports of switches and addresses that rest: those that rested before, while they have to, and new ones."""
    switches = {device.name: device.planned_name for device in plan.devices if device.kind == "switch"}
    since: dict[End, Freed] = {}
    for (name, port), freed in standing.allocated.freed_ports.items():
        if standing.name(name) in switches:
            since[switches[standing.name(name)], port] = freed
    used = {end for cables in now.cables.values() for cable in cables.values() for end in _ends(cable)}
    for cables in standing.cables.values():
        for cable in cables.values():
            for name, port in _ends(cable):
                if name in switches and (switches[name], port) not in used:
                    since.setdefault((switches[name], port), Freed(day, 0))
    gone: dict[FabricAddress, Freed] = {
        (standing.fabric(fabric), address): freed
        for (fabric, address), freed in standing.allocated.freed_addresses.items()
    }
    taken = set(addresses_of(now.switches, now.cables))
    for fabric, address in addresses_of(standing.allocated.switches, standing.allocated.cables):
        gone.setdefault((standing.fabric(fabric), address), Freed(day, 0))
    known = {fabric.name for fabric in plan.spec.fabrics if fabric.addressing is not None}
    days = plan.spec.allocation.quarantine_days

    def rests(freed: Freed) -> bool:
        return (day - freed.day).days < days

    return (
        {end: freed for end, freed in since.items() if end not in used and rests(freed)},
        {each: freed for each, freed in gone.items() if each not in taken and each[0] in known and rests(freed)},
    )


def _ends(cable: StandingCable) -> tuple[End, End]:
    return (cable.device, cable.port), (cable.upper, cable.upper_port)
