"""The planned cabling for ibdm's tools (ibtopodiff, ibdmchk, ibdiagnet): a topology file, a netlist by model.

A netlist has a system's chips, their links inside, and the panel names of its ports; the topology names systems and
joins their ports (ibdm-ibnl-file(1), ibdm-topo-file(1)).
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from itertools import chain

from clusterwright.artifact import Artifact
from clusterwright.hosts.opensm.writer.configuration import subnet_of_ufm, subnets_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.chips import chip_ports, internal_links
from clusterwright.plan.model import Device, Plan, fabric_of
from clusterwright.plan.service import cabled
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.text.templates import template

KIND = "subnet-topology"
FOLDER = "etc/opensm/topology"
# Device types that tools print; the netlist's only need is that a type is named.
SWITCH_TYPE = "SWITCH"
ADAPTER_TYPE = "ADAPTER"


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """A chip or adapter in a system: ``ports`` are lines of a port's number and its far end."""

    kind: str
    width: int
    type: str
    name: str
    ports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopologySystem:
    """A device of the topology with its cables, each as local port, far system type, far system and far port."""

    type: str
    name: str
    cables: tuple[tuple[str, str, str, str], ...]


def applies(plan: Plan, device: Device) -> bool:
    """The hosts that a subnet's manager runs on."""
    return bool(_managed(plan, device))


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The topology of each subnet that the host manages, and a netlist for each model in them."""
    for path, content in _files(plan, _managed(plan, device)):
        yield Artifact(device=device.name, path=path, source=content, kind=KIND)


def _managed(plan: Plan, device: Device) -> tuple[str, ...]:
    """The subnets that a host manages, whichever program does."""
    names = [subnet.name for subnet in subnets_managed(plan, device)]
    of_ufm = subnet_of_ufm(plan, device)
    if of_ufm is not None:
        names.append(of_ufm.name)
    return tuple(names)


@per_plan
def _files(plan: Plan, subnets: tuple[str, ...]) -> tuple[tuple[str, bytes], ...]:
    files = []
    models: set[str] = set()
    for subnet in subnets:
        systems = _systems(plan, subnet)
        files.append((f"{FOLDER}/{subnet}.topo", template("ibdm/fabric.topo.j2").render(systems=systems).encode()))
        models.update(system.type for system in systems)
    fabrics = {plan.ib_subnets[subnet].fabric.name for subnet in subnets}
    for name in sorted(models):
        model = plan.spec.catalogue[name]
        if model.kind == "node" or model.nic_groups:
            nodes = _adapters(plan, fabrics, model)
        else:
            nodes = _chips(model, split=name in plan.split_models)
        text = template("ibdm/model.ibnl.j2").render(name=name, nodes=nodes)
        files.append((f"{FOLDER}/{name}.ibnl", text.encode()))
    return tuple(files)


def _systems(plan: Plan, subnet: str) -> tuple[TopologySystem, ...]:
    """Every device of the subnet, each cable at its upper end only."""
    cables: dict[str, list[tuple[str, str, str, str]]] = {}
    for cable in cabled(plan, subnet):
        far = plan.by_name[cable.a.device]
        cables.setdefault(far.name, [])
        line = (port_name(cable.b.port), far.model, far.name, port_name(cable.a.port))
        cables.setdefault(cable.b.device, []).append(line)
    systems = []
    for device in plan.devices:
        if device.name in cables:
            system = TopologySystem(type=device.model, name=device.name, cables=tuple(cables[device.name]))
            systems.append(system)
    return tuple(systems)


def port_name(port: str) -> str:
    """A port as ibdm's files call it: its name on the panel, with a P before a bare number."""
    return f"P{port}" if port[0].isdigit() else port


def _adapters(plan: Plan, fabrics: Set[str], model: HardwareModel) -> list[TopologyNode]:
    """The adapters of a node model on these fabrics: each a node of one port, called by its interface."""
    attached: set[str | None] = set()
    for name in fabrics:
        for attach in fabric_of(plan, name).attach:
            group = plan.spec.node_group(attach.nodes or "")
            if group is not None and group.model.name == model.name:
                attached.add(attach.nics)
    nics = chain.from_iterable(group.nics for group in model.nic_groups if group.name in attached)
    return [_adapter(nic.interface) for nic in nics]


def _adapter(interface: str) -> TopologyNode:
    return TopologyNode(kind="CA", width=1, type=ADAPTER_TYPE, name=interface, ports=(f"1 -> {interface}",))


def _chips(model: HardwareModel, *, split: bool) -> list[TopologyNode]:
    """The chips of a switch: front ports by their panel names, and the traces inside a director."""
    inside = model.chips
    names = ["U1"]
    if inside is not None:
        names = [f"leaf{index}" for index in range(inside.leaves)]
        names += [f"spine{index}" for index in range(inside.spines)]
    ports: list[dict[int, str]] = [{} for _ in names]
    for port, (chip, number) in chip_ports(model, split=split).items():
        ports[chip].setdefault(number, f"{number} -> {port_name(port)}")
    for link in internal_links(model):
        ports[link.leaf][link.leaf_port] = f"{link.leaf_port} -> {names[link.spine]} {link.spine_port}"
        ports[link.spine].setdefault(link.spine_port, "")
    nodes = []
    for name, chip_lines in zip(names, ports, strict=True):
        lines = tuple(line for _, line in sorted(chip_lines.items()) if line)
        node = TopologyNode(kind="SW", width=max(chip_lines), type=SWITCH_TYPE, name=name, ports=lines)
        nodes.append(node)
    return nodes
