"""The planned subnet as ibnetdiscover will list it: switch chips and adapters, and the links between their ports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.finding import ClusterwrightError
from clusterwright.observe.difference import Place
from clusterwright.plan.chips import chip_places, chip_ports, chips_of, internal_links
from clusterwright.plan.model import Device, Interface, Plan


@dataclass(frozen=True, slots=True)
class ExpectedNode:
    """A node of the planned subnet: a switch chip (its device may have several) or one port of a node's adapter.

    ``guid`` is the chip's node GUID or the adapter's port GUID; ``scanned`` says that it is a real one, not a stand-in.
    ``names`` are the descriptions by which it may answer; ``port_names`` its ports on the panel, by number; ``unit`` is
    the device that is moved or exchanged as a whole, and ``slot`` counts within it; ``rail`` is its rail or plane.
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
            port = 0 if self.switch else 1  # an adapter is known by its port, a switch has port 0 for itself
        name = self.port_names.get(port, str(port or ""))
        inside = self.names[0] if self.switch and port not in self.port_names else self.device.name
        return Place(device=inside, port=name, rack=self.device.rack, unit=self.device.unit)


@dataclass(frozen=True, slots=True)
class ExpectedLink:
    """A planned link between two sites (by index) and port numbers; ``a`` is the lower end.

    ``speed_gbps`` is 0 for the traces inside a director, which are no cables. ``required`` is False for what the spec
    has drained or taken out of service.
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
    """What a scan of this InfiniBand fabric should find. Raises ClusterwrightError for a fabric that is none."""
    ib_fabric = plan.spec.fabric(fabric)
    if ib_fabric is None or ib_fabric.technology != "infiniband":
        others = ", ".join(item.name for item in plan.spec.fabrics if item.technology == "infiniband") or "none"
        raise ClusterwrightError(f'"{fabric}" is no InfiniBand fabric of {plan.name}; there are: {others}.')
    scanned = ib_fabric.guids.by_end if ib_fabric.guids else {}
    sites: list[ExpectedNode] = []
    links: list[ExpectedLink] = []
    first: dict[str, int] = {}
    nics: Counter[str] = Counter()
    ports: dict[str, dict[str, tuple[int, int]]] = {}
    panels: dict[str, dict[int, dict[int, str]]] = {}
    for device in plan.devices:
        if device.kind != "switch" or device.fabric != fabric or device.guid is None:
            continue
        model = plan.spec.catalogue[device.model]
        if device.model not in ports:
            ports[device.model] = chip_ports(model, split=device.model in plan.split_models)
            panels[device.model] = _panels(ports[device.model])
        first[device.name] = len(sites)
        inside = chip_places(model.chips) if model.chips else ()
        for slot, chip in enumerate(chips_of(plan, device)):
            known = (chip.name, "") in scanned
            panel = panels[device.model].get(slot, {})
            called = (chip.name, f"{device.name}/{inside[slot]}") if inside else (chip.name,)
            sites.append(
                ExpectedNode(
                    names=called,
                    device=device,
                    guid=chip.guid,
                    scanned=known,
                    switch=True,
                    ports=chip.ports,
                    port_names=panel,
                    unit=device.name,
                    slot=slot,
                    rail=device.rail,
                )
            )
        at = first[device.name]
        links.extend(
            ExpectedLink(
                a=at + item.leaf,
                a_port=item.leaf_port,
                b=at + item.spine,
                b_port=item.spine_port,
                speed_gbps=0,
                required=device.state == "active",
            )
            for item in internal_links(model)
        )

    def upper(end: Interface) -> tuple[int, int]:
        chip, port = ports[plan.by_name[end.device].model][end.port]
        return first[end.device] + chip, port

    nic_names = _nic_names(plan)
    by_name = plan.by_name
    for cable in plan.cables:
        if cable.fabric != fabric:
            continue
        low, high = by_name[cable.a.device], by_name[cable.b.device]
        required = cable.in_service and low.state == high.state == "active"
        b, b_port = upper(cable.b)
        if cable.a.guid is None:
            a, a_port = upper(cable.a)
        else:
            a, a_port = len(sites), 1
            nic = cable.a.port
            names = tuple(f"{low.name} {name}" for name in nic_names.get((low.model, nic), (nic,)))
            known = (low.name, nic) in scanned
            slot = nics[low.name] = nics[low.name] + 1
            sites.append(
                ExpectedNode(
                    names=names,
                    device=low,
                    guid=cable.a.guid,
                    scanned=known,
                    switch=False,
                    ports=1,
                    port_names={1: nic},
                    unit=low.name,
                    slot=slot,
                    rail=cable.a.rail,
                )
            )
        links.append(
            ExpectedLink(a=a, a_port=a_port, b=b, b_port=b_port, speed_gbps=cable.speed_gbps, required=required)
        )
    return ExpectedSubnet(tuple(sites), tuple(links))


def _panels(ports: Mapping[str, tuple[int, int]]) -> dict[int, dict[int, str]]:
    """Names of the front ports by chip and number; of a cage that can be split, the whole cage's name."""
    panels: dict[int, dict[int, str]] = {}
    for name, (chip, number) in ports.items():
        panels.setdefault(chip, {}).setdefault(number, name)
    return panels


def _nic_names(plan: Plan) -> dict[tuple[str, str], tuple[str, ...]]:
    """What an adapter calls itself after the host's name, by node model and port: its interface or its verbs device."""
    return {
        (model.name, nic.interface): (nic.interface, nic.rdma_device) if nic.rdma_device else (nic.interface,)
        for model in plan.spec.catalogue.values()
        for group in model.nic_groups
        for nic in group.nics
    }
