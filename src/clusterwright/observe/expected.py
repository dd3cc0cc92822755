"""The planned subnet in ibnetdiscover's terms: switch chips and adapters, and the links between their ports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.finding import ClusterwrightError
from clusterwright.observe.difference import Place
from clusterwright.plan.chips import chip_places, chip_ports, chips_of, internal_links
from clusterwright.plan.model import Cable, Device, Interface, Plan


@dataclass(frozen=True, slots=True)
class ExpectedNode:
    """A node of the planned subnet: a switch chip (its device may have several) or one port of a node's adapter.

    ``guid`` is the chip's node GUID or the adapter's port GUID; ``scanned`` is True for a real one, not a stand-in.
    ``names`` are its possible node descriptions; ``port_names`` its front-panel ports, by number; ``unit`` is the
    device moved or exchanged as a whole, and ``slot`` counts within it; ``rail`` is its rail or plane.
    """

    names: tuple[str, ...]
    device: Device
    guid: int
    scanned: bool
    switch: bool
    ports: int
    port_names: Mapping[int, str]
    unit: str
    slot: int
    rail: int | None

    def place(self, port: int | None = None) -> Place:
        """The port with this number, or the whole site."""
        if port is None:
            port = 0 if self.switch else 1  # an adapter is named after its port, a switch has port 0 for itself
        name = self.port_names.get(port, str(port or ""))
        is_inside_device = self.switch and port not in self.port_names
        device_name = self.names[0] if is_inside_device else self.device.name
        return Place(device=device_name, port=name, rack=self.device.rack, unit=self.device.unit)


@dataclass(frozen=True, slots=True)
class ExpectedLink:
    """A planned link between two sites (by index) and port numbers; ``a`` is the lower end.

    ``speed_gbps`` is 0 for the traces inside a director, which are no cables. ``required`` is False for links that the
    spec has drained or taken out of service.
    """

    a: int
    a_port: int
    b: int
    b_port: int
    speed_gbps: int
    required: bool


@dataclass(frozen=True, slots=True)
class ExpectedSubnet:
    """The planned subnet: sites (switch chips first) and links."""

    sites: tuple[ExpectedNode, ...]
    links: tuple[ExpectedLink, ...]


def expected_subnet(plan: Plan, fabric: str) -> ExpectedSubnet:
    """The nodes and links of an InfiniBand fabric. Raises ClusterwrightError for any other fabric."""
    ib_fabric = plan.spec.fabric(fabric)
    if ib_fabric is None or ib_fabric.technology != "infiniband":
        ib_names = [item.name for item in plan.spec.fabrics if item.technology == "infiniband"]
        listed = ", ".join(ib_names) or "none"
        raise ClusterwrightError(f'"{fabric}" is no InfiniBand fabric of {plan.name}; there are: {listed}.')
    builder = _SubnetBuilder(plan, ib_fabric.guids.by_end if ib_fabric.guids else {})
    for device in plan.devices:
        if device.kind == "switch" and device.fabric == fabric and device.guid is not None:
            builder.add_switch(device)
    for cable in plan.cables:
        if cable.fabric == fabric:
            builder.add_cable(cable)
    return ExpectedSubnet(tuple(builder.sites), tuple(builder.links))


class _SubnetBuilder:
    """Collects the sites and links of a fabric: first all switches, then the cables with the adapters at them."""

    def __init__(self, plan: Plan, scanned_guids: Mapping[tuple[str, str], int]) -> None:
        self.plan = plan
        self.scanned_guids = scanned_guids
        self.sites: list[ExpectedNode] = []
        self.links: list[ExpectedLink] = []
        self.first_chips: dict[str, int] = {}
        self.adapter_counts: Counter[str] = Counter()
        self.ports_by_model: dict[str, dict[str, tuple[int, int]]] = {}
        self.panels_by_model: dict[str, dict[int, dict[int, str]]] = {}
        self.adapter_names = _adapter_names(plan)

    def add_switch(self, switch: Device) -> None:
        """Add the chips of a switch and the links between them."""
        model = self.plan.spec.catalogue[switch.model]
        if switch.model not in self.ports_by_model:
            ports = chip_ports(model, split=switch.model in self.plan.split_models)
            self.ports_by_model[switch.model] = ports
            self.panels_by_model[switch.model] = _panels(ports)
        first_chip = len(self.sites)
        self.first_chips[switch.name] = first_chip
        boards = chip_places(model.chips) if model.chips else ()
        for slot, chip in enumerate(chips_of(self.plan, switch)):
            names = (chip.name, f"{switch.name}/{boards[slot]}") if boards else (chip.name,)
            self.sites.append(
                ExpectedNode(
                    names=names,
                    device=switch,
                    guid=chip.guid,
                    scanned=(chip.name, "") in self.scanned_guids,
                    switch=True,
                    ports=chip.ports,
                    port_names=self.panels_by_model[switch.model].get(slot, {}),
                    unit=switch.name,
                    slot=slot,
                    rail=switch.rail,
                )
            )
        for trace in internal_links(model):
            self.links.append(
                ExpectedLink(
                    a=first_chip + trace.leaf,
                    a_port=trace.leaf_port,
                    b=first_chip + trace.spine,
                    b_port=trace.spine_port,
                    speed_gbps=0,
                    required=switch.state == "active",
                )
            )

    def add_cable(self, cable: Cable) -> None:
        """Add a cable, and the adapter at its lower end."""
        lower, upper = self.plan.by_name[cable.a.device], self.plan.by_name[cable.b.device]
        b, b_port = self._switch_end(cable.b)
        if cable.a.guid is None:
            a, a_port = self._switch_end(cable.a)
        else:
            a, a_port = len(self.sites), 1
            self._add_adapter(lower, cable.a, cable.a.guid)
        self.links.append(
            ExpectedLink(
                a=a,
                a_port=a_port,
                b=b,
                b_port=b_port,
                speed_gbps=cable.speed_gbps,
                required=cable.in_service and lower.state == upper.state == "active",
            )
        )

    def _switch_end(self, end: Interface) -> tuple[int, int]:
        """The chip's site and its port number."""
        chip, port = self.ports_by_model[self.plan.by_name[end.device].model][end.port]
        return self.first_chips[end.device] + chip, port

    def _add_adapter(self, node: Device, end: Interface, guid: int) -> None:
        self.adapter_counts[node.name] += 1
        adapter_names = self.adapter_names.get((node.model, end.port), (end.port,))
        self.sites.append(
            ExpectedNode(
                names=tuple(f"{node.name} {name}" for name in adapter_names),
                device=node,
                guid=guid,
                scanned=(node.name, end.port) in self.scanned_guids,
                switch=False,
                ports=1,
                port_names={1: end.port},
                unit=node.name,
                slot=self.adapter_counts[node.name],
                rail=end.rail,
            )
        )


def _panels(ports: Mapping[str, tuple[int, int]]) -> dict[int, dict[int, str]]:
    """Names of the front-panel ports by chip and number; a splittable cage has the name of the whole cage."""
    panels: dict[int, dict[int, str]] = {}
    for name, (chip, number) in ports.items():
        panels.setdefault(chip, {}).setdefault(number, name)
    return panels


def _adapter_names(plan: Plan) -> dict[tuple[str, str], tuple[str, ...]]:
    """Names of an adapter in node descriptions, by node model and port: its interface and its verbs device."""
    names: dict[tuple[str, str], tuple[str, ...]] = {}
    for model in plan.spec.catalogue.values():
        for group in model.nic_groups:
            for nic in group.nics:
                names[model.name, nic.interface] = (
                    (nic.interface, nic.rdma_device) if nic.rdma_device else (nic.interface,)
                )
    return names
