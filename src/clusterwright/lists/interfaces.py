"""Interfaces of a device: ports with a cable, virtual and bonded interfaces, unused ports.

Port names are those of the hardware catalogue, and of the device's system.
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
BlockMode = tuple["PortBlock", "PortMode"]


class InterfaceProperties(NamedTuple):
    """Properties of an interface: one record serves all equal interfaces."""

    kind: str
    """``physical``, ``virtual``, or ``lag`` for ports that are one link."""
    technology: str | None
    connector: str | None
    """None if the catalogue has none."""
    speed_gbps: int | None
    breakout: str | None
    """The cage shared with other ports."""
    role: str
    """The side of its cable, ``loopback``, ``gateway``, ``ipoib``, ``border`` (to a network outside) or ``unused``."""
    fabric: str | None
    rail: int | None
    in_service: bool
    """False for unused ports, and for ports drained or taken out of service by the spec."""
    lag: str | None
    """The port's interface of kind ``lag``."""


class ListedInterface(NamedTuple):
    """An interface of a device."""

    device: str
    name: str
    """In the notation of the device's system."""
    guid: str | None
    mac: str | None
    """Read from a label."""
    properties: InterfaceProperties


Listed = tuple[str, "str | None", "str | None", InterfaceProperties]
"""Name, GUID, MAC address and properties of an interface."""


def interfaces(plan: Plan, devices: tuple[Device, ...]) -> Iterator[ListedInterface]:
    """The interfaces of ``devices``, in the order of :func:`listed_interfaces`."""
    for device, listed in listed_interfaces(plan, devices):
        for name, guid, mac, properties in listed:
            yield ListedInterface(device=device.name, name=name, guid=guid, mac=mac, properties=properties)


def listed_interfaces(plan: Plan, devices: tuple[Device, ...]) -> Iterator[tuple[Device, Sequence[Listed]]]:
    """Interfaces of each device: those with a cable in the cables' order, virtual ones, unused ones."""
    lister = _InterfaceLister(plan)
    for device in devices:
        yield device, lister.of_device(device)


class _InterfaceLister:
    """Lists the interfaces of devices; equal interfaces share their properties, similar devices their unused ports."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._technologies = {fabric.name: fabric.technology for fabric in plan.spec.fabrics}
        self._links = bonded_ports(plan)
        self._uncabled = _without_cable(plan, self._links)
        self._layout = PortLayout(plan)
        self._cabled: dict[object, dict[object, InterfaceProperties]] = defaultdict(dict)
        self._unused: dict[object, Sequence[Listed]] = {}

    def of_device(self, device: Device) -> Sequence[Listed]:
        """The interfaces of a device."""
        is_working = device.state != OUT_OF_SERVICE
        used: dict[str, tuple[str, int]] = {}
        listed = list(self._with_cable(device, used))
        borders: dict[str, str] = {}
        for port, side, fabric in self._uncabled.get(device.name, ()):
            if side == "border":
                borders[port] = fabric
            else:
                listed.append((port, None, None, self._of_system(side, fabric, is_working=is_working)))
        key = (device.model, device.fabric, device.tier, is_working, tuple(borders.items()), tuple(used.items()))
        if key not in self._unused:
            self._unused[key] = tuple(self._without_use(device, used, borders))
        if self._plan.spec.noted_macs:
            for port, _, _, properties in self._unused[key]:
                listed.append((port, None, self._mac(device.name, port), properties))
        else:
            listed += self._unused[key]
        return listed

    def _with_cable(self, device: Device, used: dict[str, tuple[str, int]]) -> Iterator[Listed]:
        """The ports with a cable; their sides and speeds are added to ``used``."""
        cabled = self._cabled[device.kind, device.fabric, device.tier]
        for cable in self._plan.cables_of[device.name]:
            for end in (cable.a, cable.b):
                if end.device != device.name:
                    continue
                port, side, speed_gbps = end.port, end.side, end.speed_gbps
                used[port] = (side, speed_gbps)
                link = self._links.get((device.name, port)) if self._links else None
                key = (port, side, speed_gbps, end.fabric, end.rail, cable.in_service, link)
                properties = cabled.get(key)
                if properties is None:
                    connector, breakout = self._layout.place(device, port, side, speed_gbps)
                    properties = cabled[key] = InterfaceProperties(
                        kind="physical",
                        technology=self._technologies[end.fabric],
                        connector=connector,
                        speed_gbps=speed_gbps,
                        breakout=breakout,
                        role=side,
                        fabric=end.fabric,
                        rail=end.rail,
                        in_service=cable.in_service,
                        lag=link,
                    )
                guid = None if end.guid is None else format_guid(end.guid)
                yield port, guid, self._mac(device.name, port), properties

    def _of_system(self, side: str, fabric: str, *, is_working: bool) -> InterfaceProperties:
        """The properties of an interface without a port: with an address, or of bonded ports."""
        return InterfaceProperties(
            kind="virtual" if side in _VIRTUAL else "lag",
            technology=self._technologies[fabric],
            connector=None,
            speed_gbps=None,
            breakout=None,
            role=side,
            fabric=fabric,
            rail=None,
            in_service=is_working,
            lag=None,
        )

    def _without_use(
        self, device: Device, used: Mapping[str, tuple[str, int]], borders: Mapping[str, str]
    ) -> Iterator[Listed]:
        """The ports without a cable; those to an external network are in ``borders`` with their fabric."""
        out_of_band = self._plan.spec.catalogue[device.model].management_names
        for port, connector, speed_gbps, breakout in self._layout.unused(device, used):
            is_border = port in borders
            technology = self._technologies.get(borders.get(port, device.fabric))
            properties = InterfaceProperties(
                kind="physical",
                technology="ethernet" if port in out_of_band else technology,
                connector=connector,
                speed_gbps=speed_gbps,
                breakout=breakout,
                role="border" if is_border else "unused",
                fabric=borders.get(port),
                rail=None,
                in_service=is_border and device.state != OUT_OF_SERVICE,
                lag=None,
            )
            yield port, None, None, properties

    def _mac(self, device: str, port: str) -> str | None:
        """The MAC address from a label."""
        noted = self._plan.spec.noted_macs
        value = noted.get((device, port)) if noted else None
        return None if value is None else format_mac(value)


class PortLayout:
    """Connectors and cages of a model's ports, cached for equal switches."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._modes: dict[tuple[str, int, str, int], Mapping[str, BlockMode]] = {}
        self._cages: dict[str, Mapping[str, str]] = {}
        self._shared: dict[str, dict[str, str]] = {}
        self._places: dict[tuple[str, int, str, int, str], tuple[str | None, str | None]] = {}

    def place(self, device: Device, port: str, side: str, speed_gbps: int) -> tuple[str | None, str | None]:
        """The connector of a cabled port, and the cage shared with other ports."""
        if device.kind != "switch" or side == "management":
            return None, None
        key = (device.fabric, device.tier, side, speed_gbps, port)
        if key not in self._places:
            mode_of_port = self._mode(device, side, speed_gbps).get(port)
            if mode_of_port is None:
                self._places[key] = (None, None)
            else:
                block, mode = mode_of_port
                self._places[key] = (block.connector, self._cage(device, port, mode))
        return self._places[key]

    def optic_cage(self, device: Device, port: str, breakout: str | None) -> str:
        """The cage of a port's optic: one for all ports of a transceiver."""
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

    def _mode(self, device: Device, side: str, speed_gbps: int) -> Mapping[str, BlockMode]:
        if device.kind != "switch":
            return {}
        key = (device.fabric, device.tier, side, speed_gbps)
        if key not in self._modes:
            fabric = self._plan.spec.fabric(device.fabric)
            tier = fabric.tiers[device.tier] if fabric is not None else None
            port_side = None if tier is None else tier.down
            if tier is not None and side == "up" and tier.up is not None:
                port_side = tier.up.side
            self._modes[key] = modes_at(self._plan.spec.catalogue[device.model], port_side, speed_gbps)
        return self._modes[key]

    def _cage(self, device: Device, port: str, mode: PortMode) -> str | None:
        if len(mode.subports) < 2:
            return None
        if device.model not in self._cages:
            self._cages[device.model] = _shared_cages(self._plan.spec.catalogue[device.model])
        return self._cages[device.model].get(port)


def _shared_cages(model: HardwareModel) -> Mapping[str, str]:
    """The cage of each port sharing one with others."""
    cages: dict[str, str] = {}
    for block in model.blocks:
        for mode in block.modes:
            if len(mode.subports) > 1:
                for cage in block.cages:
                    cages.update(dict.fromkeys(mode.ports(cage), cage))
    return cages


def _connectors(model: HardwareModel) -> Mapping[str, str]:
    """The connector of each port of a switch's cages."""
    connectors: dict[str, str] = {}
    for block in model.blocks:
        for mode in block.modes:
            for cage in block.cages:
                connectors.update(dict.fromkeys(mode.ports(cage), block.connector))
    return connectors


def bonded_ports(plan: Plan) -> Mapping[tuple[str, str], str]:
    """Name of the bond of each bonded port, by device and port, in the notation of the device's system."""
    bonds: dict[tuple[str, str], str] = {}
    first_ports: dict[tuple[str, str, str], int] = {}
    for cable in plan.cables:
        if cable.bond is None:
            continue
        bonds[cable.a.device, cable.a.port] = cable.bond.interface
        model = plan.spec.catalogue[plan.by_name[cable.b.device].model]
        port_number = port_numbers(model)[cable.b.port]
        number = first_ports.setdefault((cable.a.device, cable.bond.interface, cable.b.device), port_number)
        system = systems().get(model.network_os or "")
        if system is not None and system.bond:
            bonds[cable.b.device, cable.b.port] = f"{system.bond}{number}"
    return bonds


def _without_cable(plan: Plan, links: Mapping[tuple[str, str], str]) -> Mapping[str, list[tuple[str, str, str]]]:
    """Port, side and fabric of the interfaces without a cable end, by device: with an address, or of bonded ports."""
    by_device: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for address in own_addresses(plan):
        if address.side in _VIRTUAL or address.side == "border":
            by_device[address.device].append((address.port, address.side, address.fabric))
    if not links:
        return by_device
    listed = set[tuple[str, str]]()
    for cable in plan.cables:
        for end in (cable.a, cable.b):
            link = links.get((end.device, end.port))
            if link is not None and (end.device, link) not in listed:
                listed.add((end.device, link))
                by_device[end.device].append((link, end.side, end.fabric))
    return by_device
