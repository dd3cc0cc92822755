"""Contents of a cluster in common to both kinds of servers."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any, NamedTuple

from clusterwright.extras.source_of_truth.words import slug
from clusterwright.lists.interfaces import ListedInterface
from clusterwright.lists.records import Inventory, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from clusterwright.extras.source_of_truth.rows import PatternRow, RowPattern
    from clusterwright.plan.model import Cable
    from clusterwright.plan.own_addresses import OwnAddress
    from clusterwright.spec.hardware.models import HardwareModel

MADE_BY = "clusterwright"


class ListedPrefix(NamedTuple):
    """A prefix of a fabric; ``is_container`` for one with others inside."""

    fabric: str
    prefix: str
    is_container: bool
    description: str


def _port_groups(model: HardwareModel) -> Mapping[str, object]:
    """Groups of ports with different rows: the number of an adapter's group, ``management`` for management ports."""
    groups: dict[str, object] = {}
    for number, group in enumerate(model.nic_groups):
        groups |= {nic.interface: number for nic in group.nics}
    return {**groups, **dict.fromkeys(model.management_names, "management")}


def is_management(interface: ListedInterface, model: HardwareModel) -> bool:
    """Whether an interface is a management port of its device."""
    return interface.name in model.management_names


class ListedDeviceKind(NamedTuple):
    """Common properties of many devices: their model, and the fields with a value."""

    model: str
    manufacturer: str
    network_os: str | None
    role: str
    state: str
    unit: float | None
    in_rack: bool
    has_serial: bool
    has_asset_tag: bool
    has_asn: bool


_Place = tuple[str, int, int, int]  # fabric, IP version, length, and the bits of the prefix


def _place(subnet: Mapping[str, Any]) -> _Place:
    network = ip_network(subnet["prefix"])
    bits = int(network.network_address) >> (network.max_prefixlen - network.prefixlen)
    return subnet["fabric"], network.version, network.prefixlen, bits


def _place_of_address(address: OwnAddress, length: int) -> _Place:
    """The place of the prefix of ``length`` around an address."""
    host_bits = (32 if address.version == 4 else 128) - length
    return address.fabric, address.version, length, address.address >> host_bits


def _containers(places: set[_Place], lengths: Mapping[tuple[str, int], set[int]]) -> set[_Place]:
    """Prefixes around ``places``, of the ``lengths`` by fabric and IP version; not all of them exist."""
    containers: set[_Place] = set()
    for fabric, version, length, bits in places:
        for shorter in lengths[fabric, version]:
            if shorter < length:
                containers.add((fabric, version, shorter, bits >> (length - shorter)))
    return containers


class Listing:
    """The inventory of a cluster at a site.

    ``site`` is the cluster's name by default. Every object of the cluster carries its tag, so that two clusters in one
    server do not change each other's objects.
    """

    def __init__(self, inventory: Inventory, site: str | None = None) -> None:
        self.inventory = inventory
        self.cluster = inventory.plan.name
        self.site = site or self.cluster
        self.tag = f"{MADE_BY}-{slug(self.cluster)}"
        self.names = frozenset(device.name for device in inventory.device_list)
        self.is_whole = len(self.names) == len(inventory.plan.devices)

    @cached_property
    def models(self) -> Mapping[str, HardwareModel]:
        """The models in use, by name."""
        catalogue = self.inventory.plan.spec.catalogue
        names = sorted({device.model for device in self.inventory.device_list})
        return {name: catalogue[name] for name in names}

    @cached_property
    def manufacturers(self) -> tuple[str, ...]:
        """The manufacturers of the models in use."""
        return tuple(sorted({model.manufacturer for model in self.models.values()}))

    @cached_property
    def network_systems(self) -> tuple[str, ...]:
        """The network operating systems of the switches."""
        return tuple(sorted({model.network_os for model in self.models.values() if model.network_os}))

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The roles of devices."""
        return tuple(sorted({device.role for device in self.inventory.device_list}))

    def space(self, fabric: str) -> str:
        """The name of a fabric's address space."""
        return f"{self.cluster} {fabric}"

    @cached_property
    def reached(self) -> Mapping[str, str]:
        """Login addresses by device."""
        return self.inventory.reachable_addresses()

    @cached_property
    def out_of_band(self) -> Mapping[str, str]:
        """Addresses of management ports by device."""
        return self.inventory.management_addresses()

    @cached_property
    def addresses(self) -> Sequence[tuple[OwnAddress, str]]:
        """Every address with its text."""
        return [(address, text_of(address.address, address.version)) for address in self.inventory.own_addresses()]

    def devices(self) -> Iterator[tuple[ListedDeviceKind, tuple[str, ...]]]:
        """Every device: its kind; its name, rack, serial number, asset tag and AS number, "" for a missing one."""
        for device in self.inventory.devices():
            kind = ListedDeviceKind(
                model=device["model"],
                manufacturer=device["manufacturer"],
                network_os=device["network_os"],
                role=device["role"],
                state=device["state"],
                unit=device["unit"],
                in_rack=bool(device["rack"]),
                has_serial=bool(device["serial"]),
                has_asset_tag=bool(device["asset_tag"]),
                has_asn=bool(device["asn"]),
            )
            values = [device["name"]]
            for name in ("rack", "serial", "asset_tag", "asn"):
                value = device[name]
                values.append("" if value is None else str(value))
            yield kind, tuple(values)

    def interfaces(
        self, pattern_for: Callable[[ListedInterface, HardwareModel], RowPattern], guid_text: Callable[[str], str] = str
    ) -> Iterator[PatternRow]:
        """A row for each interface; ``pattern_for`` is called for one of each kind. Bonds come before their members.

        Values are the names of the device and the interface and, for an interface with labels, its GUID and MAC
        address. A placeholder GUID counts as none.
        """
        if not self.has_bonds:
            yield from self._interface_rows(pattern_for, guid_text, kinds=("physical", "virtual", "lag"))
            return
        yield from self._interface_rows(pattern_for, guid_text, kinds=("lag",))
        yield from self._interface_rows(pattern_for, guid_text, kinds=("physical", "virtual"))

    def _interface_rows(
        self,
        pattern_for: Callable[[ListedInterface, HardwareModel], RowPattern],
        guid_text: Callable[[str], str],
        kinds: tuple[str, ...],
    ) -> Iterator[PatternRow]:
        patterns_by_model: dict[str, dict[object, RowPattern]] = defaultdict(dict)
        groups_by_model = {name: _port_groups(model) for name, model in self.models.items()}
        for device, listed in self.inventory.listed_interfaces():
            model, patterns = self.models[device.model], patterns_by_model[device.model]
            groups = groups_by_model[device.model]
            for name, guid, mac, properties in listed:
                if properties.kind not in kinds:
                    continue
                scanned = guid if guid and self._is_scanned(device.name, name) else None
                values: tuple[str, ...] = (device.name, name)
                key: object = properties
                if scanned or mac or name in groups:
                    key = (properties, groups.get(name), scanned is None, mac is None)
                if scanned or mac:
                    values = (*values, guid_text(scanned) if scanned else "", mac.upper() if mac else "")
                pattern = patterns.get(key)
                if pattern is None:
                    interface = ListedInterface(
                        device=device.name, name=name, guid=scanned, mac=mac, properties=properties
                    )
                    pattern = patterns[key] = pattern_for(interface, model)
                yield pattern, values

    @cached_property
    def has_bonds(self) -> bool:
        """Whether LACP joins any ports."""
        return any(cable.bond is not None for cable in self.inventory.plan.cables)

    def _is_scanned(self, device: str, port: str) -> bool:
        """Whether the GUID of an interface was read from a label, not assigned as a placeholder."""
        return any((device, port) in scanned for scanned in self._scanned)

    @cached_property
    def _scanned(self) -> tuple[Mapping[tuple[str, str], int], ...]:
        return tuple(fabric.guids.by_end for fabric in self.inventory.plan.spec.fabrics if fabric.guids)

    def bonded(self) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        """Members of bonds with their bond, each as device and interface."""
        if not self.has_bonds:
            return
        for interface in self.inventory.interfaces():
            bond = interface.properties.lag
            if bond is not None:
                yield (interface.device, interface.name), (interface.device, bond)

    def noted_macs(self) -> Iterator[tuple[str, str, str]]:
        """Device, interface and MAC address of each label with one."""
        if not self.inventory.plan.spec.noted_macs:
            return
        for interface in self.inventory.interfaces():
            if interface.mac:
                yield interface.device, interface.name, interface.mac.upper()

    def prefixes(self) -> Iterator[ListedPrefix]:
        """Pools and subnets, each once, inner ones later; then the prefixes of addresses outside of these."""
        listed: dict[_Place, ListedPrefix] = {}
        for subnet in self.inventory.subnets():
            description = f"{subnet['fabric']} {subnet['kind']}"
            if subnet["device"] is not None:
                description = f"hosts behind {subnet['device']}"
            prefix = ListedPrefix(
                fabric=subnet["fabric"], prefix=subnet["prefix"], is_container=False, description=description
            )
            listed.setdefault(_place(subnet), prefix)
        # With --pod, a pool still counts as a container for the subnets of other pods.
        places = set(listed)
        if not self.is_whole:
            places = {_place(subnet) for subnet in Inventory(self.inventory.plan).subnets()}
        lengths: dict[tuple[str, int], set[int]] = defaultdict(set)
        for fabric, version, length, _ in places:
            lengths[fabric, version].add(length)
        for address, text in self.addresses:
            place = _place_of_address(address, address.prefix_length)
            enclosing = (_place_of_address(address, length) for length in lengths[address.fabric, address.version])
            if place in listed or any(outer in listed for outer in enclosing):
                continue
            listed[place] = ListedPrefix(
                fabric=address.fabric,
                prefix=str(ip_network(f"{text}/{address.prefix_length}", strict=False)),
                is_container=False,
                description=f"{address.device} {address.port}",
            )
        containers = _containers(places, lengths)
        for place, prefix in listed.items():
            yield prefix._replace(is_container=place in containers)

    def cables(self) -> Iterator[tuple[Cable, str | None]]:
        """The cables with both ends at listed devices, and their labels; with --pod, without those between pods."""
        numbered = any(noted.cable for noted in self.inventory.plan.spec.overlay.by_end.values())
        for cable in self.inventory.cable_list:
            if self.is_whole or (cable.a.device in self.names and cable.b.device in self.names):
                yield cable, self.inventory.cable_number(cable) if numbered else None
