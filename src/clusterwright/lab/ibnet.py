"""An InfiniBand fabric as a net file for ibsim, so that a real subnet manager can route the planned cabling.

The syntax is that of ibnetdiscover's output, which ibsim reads. ibsim gives port ``n`` of an adapter the GUID of the
adapter plus ``n``; an adapter's node GUID is therefore written as its planned port GUID less one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from clusterwright.plan.chips import Chip, chip_ports, chips_of, internal_links
from clusterwright.plan.model import Device, Interface, Plan


@dataclass(frozen=True, slots=True)
class SimulatedFabric:
    """A net file and the limits that ibsim must be started with: adapters and switches, switches, ports of all."""

    text: str
    nodes: int
    switches: int
    ports: int


def simulate_fabric(plan: Plan, fabric: str) -> SimulatedFabric:
    """The net file of one InfiniBand fabric of a plan. Cables out of service are left out, as if unplugged."""
    switches = [d for d in plan.devices if d.kind == "switch" and d.fabric == fabric and d.guid is not None]
    chips: dict[str, tuple[Chip, ...]] = {device.name: chips_of(plan, device) for device in switches}
    places = {model: chip_ports(plan.spec.catalogue[model]) for model in {device.model for device in switches}}
    by_name = {device.name: device for device in switches}
    lines: dict[int, list[tuple[int, str]]] = defaultdict(list)
    adapters: list[str] = []

    def end(interface: Interface) -> tuple[Chip, int]:
        device = by_name[interface.device]
        index, port = places[device.model][interface.port]
        return chips[device.name][index], port

    for cable in plan.cables:
        if cable.fabric != fabric or not cable.in_service:
            continue
        upper, upper_port = end(cable.b)
        if cable.a.guid is not None:
            adapters.append(_adapter(plan.by_name[cable.a.device], cable.a, upper, upper_port))
            lines[upper.guid].append((upper_port, f'"H-{cable.a.guid - 1:016x}"[1]'))
        else:
            lower, lower_port = end(cable.a)
            _join(lines, lower, lower_port, upper, upper_port)
    for device in switches:
        for link in internal_links(plan.spec.catalogue[device.model]):
            own = chips[device.name]
            _join(lines, own[link.leaf], link.leaf_port, own[link.spine], link.spine_port)

    every = [chip for device in switches for chip in chips[device.name]]
    parts = [_switch(chip, lines[chip.guid]) for chip in every]
    ports = sum(chip.ports + 1 for chip in every) + 2 * len(adapters)
    return SimulatedFabric("\n".join([*parts, *adapters]), len(every) + len(adapters), len(every), ports)


def _join(lines: dict[int, list[tuple[int, str]]], one: Chip, one_port: int, other: Chip, other_port: int) -> None:
    lines[one.guid].append((one_port, f'"S-{other.guid:016x}"[{other_port}]'))
    lines[other.guid].append((other_port, f'"S-{one.guid:016x}"[{one_port}]'))


def _switch(chip: Chip, links: list[tuple[int, str]]) -> str:
    head = f'switchguid=0x{chip.guid:x}\nSwitch\t{chip.ports} "S-{chip.guid:016x}"\t\t# "{chip.name}"\n'
    return head + "".join(f"[{port}]\t{peer}\n" for port, peer in sorted(links))


def _adapter(node: Device, nic: Interface, chip: Chip, port: int) -> str:
    assert nic.guid is not None  # noqa: S101 - told apart by the caller; narrows the type
    guid = nic.guid - 1
    return (
        f'caguid=0x{guid:x}\nHca\t1 "H-{guid:016x}"\t\t# "{node.name} {nic.port}"\n[1]\t"S-{chip.guid:016x}"[{port}]\n'
    )
