"""Every interface of a device: ports with a cable, interfaces that only its system has, ports that nothing uses.

Ports have the names of the hardware catalogue, which are those of the device's system.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from clusterwright.intent.switch_links import port_numbers
from clusterwright.plan.boot import format_mac
from clusterwright.plan.model import format_guid
from clusterwright.plan.own_addresses import own_addresses
from clusterwright.plan.ports import modes_at, spare_ports
from clusterwright.plan.service import OUT_OF_SERVICE
from clusterwright.spec.hardware.systems import systems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterwright.plan.model import Device, Plan
    from clusterwright.spec.hardware.cages import PortBlock, PortMode
    from clusterwright.spec.hardware.models import HardwareModel

_VIRTUAL = frozenset({"loopback", "gateway", "ipoib"})
Found = tuple["PortBlock", "PortMode"]


class InterfaceKind(NamedTuple):
    """The common properties of many interfaces.

    ``role`` is the side of its cable, ``loopback``, ``gateway``, ``ipoib``, ``border`` (to a network outside) or
    ``unused``; ``kind`` ``physical``, ``virtual`` or ``lag`` (of ports that are one link). ``connector`` is None
    where the catalogue has none, ``speed_gbps`` and ``fabric`` are where there is none. ``breakout`` is the cage that
    the port shares with others. ``in_service`` is False for unused ports and for those that the spec takes out of
    service or drains. ``lag`` is the interface of that kind that the port is a part of.
    """

    kind: str
    technology: str | None
    connector: str | None
    speed_gbps: int | None
    breakout: str | None
    role: str
    fabric: str | None
    rail: int | None
    in_service: bool
    lag: str | None


class ListedInterface(NamedTuple):
    """An interface of ``device`` by its system's name, and all that an InterfaceKind says.

    ``mac`` is what was read from a label.
    """

    device: str
    name: str
    guid: str | None
    mac: str | None
    kind: str
    technology: str | None
    connector: str | None
    speed_gbps: int | None
    breakout: str | None
    role: str
    fabric: str | None
    rail: int | None
    in_service: bool
    lag: str | None


Listed = tuple[str, "str | None", "str | None", InterfaceKind]
"""Name, GUID, MAC address and kind of an interface."""


def interfaces(plan: Plan, devices: tuple[Device, ...]) -> Iterator[ListedInterface]:
    """The interfaces of ``devices``, in the order of :func:`listed_interfaces`."""
    for device, listed in listed_interfaces(plan, devices):
        for name, guid, mac, kind in listed:
            yield ListedInterface(device.name, name, guid, mac, *kind)


def listed_interfaces(plan: Plan, devices: tuple[Device, ...]) -> Iterator[tuple[Device, Sequence[Listed]]]:
    """Of each device the interfaces with a cable in the cables' order, virtual ones, unused ones."""
    catalogue = plan.spec.catalogue
    technologies = {fabric.name: fabric.technology for fabric in plan.spec.fabrics}
    links = bonded_ports(plan)
    others = _without_cable(plan, links)
    layout, noted = PortLayout(plan), plan.spec.noted_macs
    cabled: dict[object, dict[object, InterfaceKind]] = defaultdict(dict)
    unused: dict[object, Sequence[Listed]] = {}
    for device in devices:
        out_of_band = catalogue[device.model].management_names
        used: dict[str, tuple[str, int]] = {}
        listed: list[Listed] = []
        kinds = cabled[device.kind, device.fabric, device.tier]
        for cable in plan.cables_of[device.name]:
            for end in (cable.a, cable.b):
                if end.device == device.name:
                    port, side, speed_gbps = end.port, end.side, end.speed_gbps
                    used[port] = (side, speed_gbps)
                    link = links.get((device.name, port)) if links else None
                    alike = (port, side, speed_gbps, end.fabric, end.rail, cable.in_service, link)
                    kind = kinds.get(alike)
                    if kind is None:
                        connector, breakout = layout.place(device, port, side, speed_gbps)
                        kind = kinds[alike] = InterfaceKind(
                            "physical", technologies[end.fabric], connector, speed_gbps, breakout, side, end.fabric,
                            end.rail, cable.in_service, link,
                        )  # fmt: skip
                    guid = None if end.guid is None else format_guid(end.guid)
                    listed.append((port, guid, _mac(noted, device.name, port), kind))
        works = device.state != OUT_OF_SERVICE
        borders: dict[str, str] = {}
        for port, side, fabric in others.get(device.name, ()):
            if side != "border":
                what = "virtual" if side in _VIRTUAL else "lag"
                kind = InterfaceKind(what, technologies[fabric], None, None, None, side, fabric, None, works, None)
                listed.append((port, None, None, kind))
            else:
                borders[port] = fabric
        same = (device.model, device.fabric, device.tier, works, tuple(borders.items()), tuple(used.items()))
        if same not in unused:
            unused[same] = tuple(
                (port, None, None, InterfaceKind(
                    "physical",
                    "ethernet" if port in out_of_band else technologies.get(borders.get(port, device.fabric)),
                    connector, speed, breakout, "border" if port in borders else "unused", borders.get(port), None,
                    port in borders and works, None,
                ))
                for port, connector, speed, breakout in layout.unused(device, used)
            )  # fmt: skip
        if noted:
            listed += ((port, None, _mac(noted, device.name, port), kind) for port, _, _, kind in unused[same])
        else:
            listed += unused[same]
        yield device, listed


def _mac(noted: Mapping[tuple[str, str], int], device: str, port: str) -> str | None:
    value = noted.get((device, port)) if noted else None
    return None if value is None else format_mac(value)


class PortLayout:
    """Where a model's ports are, remembered for equal switches."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._modes: dict[tuple[str, int, str, int], Mapping[str, Found]] = {}
        self._cages: dict[str, Mapping[str, str]] = {}
        self._shared: dict[str, dict[str, str]] = {}
        self._places: dict[tuple[str, int, str, int, str], tuple[str | None, str | None]] = {}

    def place(self, device: Device, port: str, side: str, speed_gbps: int) -> tuple[str | None, str | None]:
        """The connector of a port with a cable, and the cage that it shares."""
        if device.kind != "switch" or side == "management":
            return None, None
        key = (device.fabric, device.tier, side, speed_gbps, port)
        if key not in self._places:
            mode_of_port = self._mode(device, side, speed_gbps).get(port)
            self._places[key] = (
                (None, None)
                if mode_of_port is None
                else (mode_of_port[0].connector, self._cage(device, port, mode_of_port[1]))
            )
        return self._places[key]

    def optic_cage(self, device: Device, port: str, breakout: str | None) -> str:
        """The cage that holds the optic of a port: one for all ports of a transceiver."""
        if device.model not in self._shared:
            shared: dict[str, str] = {}
            model = self._plan.spec.catalogue[device.model]
            for block in model.blocks:
                shared.update(block.shared_cages())
            for group in model.nic_groups:
                for nic in group.nics:
                    if nic.cage is not None:
                        shared[nic.interface] = nic.cage
            self._shared[device.model] = shared
        cage = breakout or port
        return self._shared[device.model].get(cage, cage)

    def unused(
        self, device: Device, used: Mapping[str, tuple[str, int]]
    ) -> Iterator[tuple[str, str | None, int | None, str | None]]:
        """Port, connector, speed in Gb/s and shared cage of each port without a cable."""
        model = self._plan.spec.catalogue[device.model]
        for group in model.nic_groups:
            for nic in group.nics:
                if nic.interface not in used:
                    yield nic.interface, None, group.speed_gbps, None
        modes: dict[str, PortMode | None] = {}
        for port, (side, speed_gbps) in used.items():
            mode_of_port = None if side == "management" else self._mode(device, side, speed_gbps).get(port)
            modes[port] = None if mode_of_port is None else mode_of_port[1]
        connectors = _connectors(model)
        for port, mode in spare_ports(model, modes):
            yield port, connectors.get(port), mode.speed_gbps, self._cage(device, port, mode)
        for management in model.management:
            if management.name not in used:
                yield management.name, None, management.speed_gbps, None

    def _mode(self, device: Device, side: str, speed_gbps: int) -> Mapping[str, Found]:
        if device.kind != "switch":
            return {}
        key = (device.fabric, device.tier, side, speed_gbps)
        if key not in self._modes:
            fabric = self._plan.spec.fabric(device.fabric)
            tier = fabric.tiers[device.tier] if fabric is not None else None
            chosen = None if tier is None else tier.up.side if side == "up" and tier.up is not None else tier.down
            self._modes[key] = modes_at(self._plan.spec.catalogue[device.model], chosen, speed_gbps)
        return self._modes[key]

    def _cage(self, device: Device, port: str, mode: PortMode) -> str | None:
        if len(mode.subports) < 2:
            return None
        if device.model not in self._cages:
            self._cages[device.model] = {
                port: cage
                for block in self._plan.spec.catalogue[device.model].blocks
                for mode in block.modes
                if len(mode.subports) > 1
                for cage in block.cages
                for port in mode.ports(cage)
            }
        return self._cages[device.model].get(port)


def _connectors(model: HardwareModel) -> Mapping[str, str]:
    return {
        port: block.connector
        for block in model.blocks
        for mode in block.modes
        for cage in block.cages
        for port in mode.ports(cage)
    }


def bonded_ports(plan: Plan) -> Mapping[tuple[str, str], str]:
    """The name of the link that a port is a part of with others, by device and port: as its device's system has it."""
    ports: dict[tuple[str, str], str] = {}
    first: dict[tuple[str, str, str], int] = {}
    for cable in plan.cables:
        if cable.bond is not None:
            model = plan.spec.catalogue[plan.by_name[cable.b.device].model]
            port_number = port_numbers(model)[cable.b.port]
            number = first.setdefault((cable.a.device, cable.bond.interface, cable.b.device), port_number)
            system = systems().get(model.network_os or "")
            ports[cable.a.device, cable.a.port] = cable.bond.interface
            if system is not None and system.bond:
                ports[cable.b.device, cable.b.port] = f"{system.bond}{number}"
    return ports


def _without_cable(plan: Plan, links: Mapping[tuple[str, str], str]) -> Mapping[str, list[tuple[str, str, str]]]:
    """Port, side and fabric of the interfaces that no cable ends at, by device: with an address, or of bonded ports."""
    by_device: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for address in own_addresses(plan):
        if address.side in _VIRTUAL or address.side == "border":
            by_device[address.device].append((address.port, address.side, address.fabric))
    listed = set[tuple[str, str]]()
    if links:
        for cable in plan.cables:
            for end in (cable.a, cable.b):
                link = links.get((end.device, end.port))
                if link is not None and (end.device, link) not in listed:
                    listed.add((end.device, link))
                    by_device[end.device].append((link, end.side, end.fabric))
    return by_device
