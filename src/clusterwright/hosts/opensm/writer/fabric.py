"""The planned fabric beside the subnet manager's files, in the syntax of ibnetdiscover's output.

Operators compare it with ibnetdiscover's, proofs read the cabling from it, and ibsim starts a fabric from it. Only port
GUIDs are planned. An adapter's node GUID is written as its port GUID less one, because ibsim gives port ``n`` of an
adapter the node GUID plus ``n``; a comparison goes by the port GUID in parentheses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from clusterwright.artifact import Artifact
from clusterwright.hosts.opensm.writer.configuration import (
    FOLDER_OF_UFM,
    place_of,
    subnet_of_ufm,
    subnets_managed,
)
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.chips import Chip, chip_ports, chips_of, internal_links
from clusterwright.plan.model import Device, Interface, Plan
from clusterwright.plan.service import OUT_OF_SERVICE, cabled

KIND = "opensm-fabric"
FILE = "fabric.net"


@dataclass(frozen=True, slots=True)
class FabricFile:
    """The file's text, and how many adapters, switch chips and ports (with each chip's port 0) are in it."""

    text: str
    adapters: int
    chips: int
    ports: int


def applies(plan: Plan, device: Device) -> bool:
    """The hosts that a subnet's manager runs on, whichever it is."""
    return next(_managed(plan, device), None) is not None


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The planned cabling of each subnet that a host manages, beside the files of its manager."""
    for subnet, folder in _managed(plan, device):
        text = fabric_file(plan, subnet).text
        yield Artifact(device=device.name, path=f"{folder}/{FILE}", source=text.encode(), kind=KIND)


@per_plan
def fabric_file(plan: Plan, subnet: str) -> FabricFile:
    """One InfiniBand subnet of a plan with its plugged-in parts: drained ones included, those out of service not.

    The chips of a director have its GUID as their system image GUID in common, as in a real one.
    """
    names = plan.ib_subnets[subnet].switches
    all_switches = [device for device in plan.devices if device.name in names and device.guid is not None]
    switches = [device for device in all_switches if device.state != OUT_OF_SERVICE]
    chips: dict[str, tuple[Chip, ...]] = {device.name: chips_of(plan, device) for device in switches}
    models = {device.name: device.model for device in switches}
    places = {}
    for model in set(models.values()):
        places[model] = chip_ports(plan.spec.catalogue[model], split=model in plan.split_models)
    lines: dict[int, list[tuple[int, str]]] = defaultdict(list)
    adapters: list[str] = []

    def end(interface: Interface) -> tuple[Chip, int]:
        index, port = places[models[interface.device]][interface.port]
        return chips[interface.device][index], port

    for cable in cabled(plan, subnet):
        upper, upper_port = end(cable.b)
        if cable.a.guid is not None:
            adapters.append(_adapter(cable.a, cable.a.guid, upper, upper_port))
            lines[upper.guid].append((upper_port, f'"H-{cable.a.guid - 1:016x}"[1]'))
        else:
            lower, lower_port = end(cable.a)
            _join(lines, lower, lower_port, upper, upper_port)
    for device in switches:
        for link in internal_links(plan.spec.catalogue[device.model]):
            inside = chips[device.name]
            _join(lines, inside[link.leaf], link.leaf_port, inside[link.spine], link.spine_port)

    head = f"# Written by clusterwright: the planned cabling of the fabric {subnet}, as ibnetdiscover would show it.\n"
    parts: list[str] = []
    for device in switches:
        parts.extend(_switch(chip, device.guid or 0, lines[chip.guid]) for chip in chips[device.name])
    ports = sum(chip.ports + 1 for chip in chain.from_iterable(chips.values())) + 2 * len(adapters)
    return FabricFile(text="\n".join([head, *parts, *adapters]), adapters=len(adapters), chips=len(parts), ports=ports)


def _managed(plan: Plan, device: Device) -> Iterator[tuple[str, str]]:
    """The subnets that a host manages, and the folder of the manager's files."""
    for subnet in subnets_managed(plan, device):
        yield subnet.name, place_of(plan, subnet).folder
    of_ufm = subnet_of_ufm(plan, device)
    if of_ufm is not None:
        yield of_ufm.name, FOLDER_OF_UFM


def _join(lines: dict[int, list[tuple[int, str]]], one: Chip, one_port: int, other: Chip, other_port: int) -> None:
    lines[one.guid].append((one_port, f'"S-{other.guid:016x}"[{other_port}]'))
    lines[other.guid].append((other_port, f'"S-{one.guid:016x}"[{one_port}]'))


def _switch(chip: Chip, system: int, links: list[tuple[int, str]]) -> str:
    head = (
        f"sysimgguid=0x{system:x}\nswitchguid=0x{chip.guid:x}\n"
        f'Switch\t{chip.ports} "S-{chip.guid:016x}"\t\t# "{chip.name}"\n'
    )
    ports = "".join(f"[{port}]\t{peer}\n" for port, peer in sorted(links))
    return head + ports


def _adapter(nic: Interface, port_guid: int, chip: Chip, port: int) -> str:
    guid = port_guid - 1
    return (
        f'caguid=0x{guid:x}\nHca\t1 "H-{guid:016x}"\t\t# "{nic.device} {nic.port}"\n'
        f'[1]({port_guid:x})\t"S-{chip.guid:016x}"[{port}]\n'
    )
