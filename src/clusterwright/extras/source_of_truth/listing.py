"""Contents of a cluster for both kinds of servers, before it is spelled for either."""

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

    from clusterwright.extras.source_of_truth.rows import Pattern, Told
    from clusterwright.plan.model import Cable
    from clusterwright.plan.own_addresses import OwnAddress
    from clusterwright.spec.hardware.models import HardwareModel

MADE_BY = "clusterwright"


class ListedPrefix(NamedTuple):
    """A prefix of a fabric; ``is_container`` says that others lie in it."""

    fabric: str
    prefix: str
    is_container: bool
    description: str


def _told_apart(model: HardwareModel) -> Mapping[str, object]:
    """Ports of a model whose name decides their row: management ports, adapters by their group."""
    groups: dict[str, object] = {}
    for number, group in enumerate(model.nic_groups):
        groups |= {nic.interface: number for nic in group.nics}
    return {**groups, **dict.fromkeys(model.management_names, "management")}


def is_management(interface: ListedInterface, model: HardwareModel) -> bool:
    """Whether it is a management port of its device."""
    return interface.name in model.management_names


class ListedDeviceKind(NamedTuple):
    """Common properties of many devices: their model, and the fields that each fills."""

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


_Place = tuple[str, int, int, int]  # fabric, version of IP, length, and the bits of the prefix


def _place(subnet: Mapping[str, Any]) -> _Place:
    network = ip_network(subnet["prefix"])
    bits = int(network.network_address) >> (network.max_prefixlen - network.prefixlen)
    return subnet["fabric"], network.version, network.prefixlen, bits


class Listing:
    """The inventory for a site.

    ``site`` is the cluster's name where nothing else is said. Everything made carries the tag of the cluster, so that
    two clusters in one server leave each other alone.
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
        return {name: catalogue[name] for name in sorted({device.model for device in self.inventory.device_list})}

    @cached_property
    def manufacturers(self) -> tuple[str, ...]:
        """Who makes them."""
        return tuple(sorted({model.manufacturer for model in self.models.values()}))

    @cached_property
    def network_systems(self) -> tuple[str, ...]:
        """The systems that switches run."""
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
        """Where people log in, by device."""
        return self.inventory.reachable_addresses()

    @cached_property
    def out_of_band(self) -> Mapping[str, str]:
        """The address of each management port, by device."""
        return self.inventory.management_addresses()

    @cached_property
    def addresses(self) -> Sequence[tuple[OwnAddress, str]]:
        """Every address, and as text."""
        return [(address, text_of(address.address, address.version)) for address in self.inventory.own_addresses()]

    def devices(self) -> Iterator[tuple[ListedDeviceKind, tuple[str, ...]]]:
        """Every device: its kind; its name, rack, serial number, asset tag and AS number, empty where it has none."""
        for device in self.inventory.devices():
            noted = tuple(device[name] for name in ("rack", "serial", "asset_tag", "asn"))
            kind = ListedDeviceKind(
                device["model"],
                device["manufacturer"],
                device["network_os"],
                device["role"],
                device["state"],
                device["unit"],
                *map(bool, noted),
            )
            yield kind, (device["name"], *("" if value is None else str(value) for value in noted))

    def interfaces(
        self, pattern_for: Callable[[ListedInterface, HardwareModel], Pattern], guid_text: Callable[[str], str] = str
    ) -> Iterator[Told]:
        """A row for each interface, ``pattern_for`` of one like it; one that others are a part of comes before these.

        Words are the device's name, its own and, where labels have any, GUID and MAC address. A GUID that is a
        placeholder is none.
        """
        alike: dict[str, dict[object, Pattern]] = defaultdict(dict)
        told_apart = {name: _told_apart(model) for name, model in self.models.items()}
        passes = (True, False) if self.has_links else (None,)
        for links in passes:
            for device, listed in self.inventory.listed_interfaces():
                model, patterns = self.models[device.model], alike[device.model]
                apart = told_apart[device.model]
                for name, guid, mac, properties in listed:
                    if links is not None and links != (properties.kind == "lag"):
                        continue
                    scanned = guid if guid and self._is_scanned(device.name, name) else None
                    words: tuple[str, ...] = (device.name, name)
                    key: object = properties
                    if scanned or mac or name in apart:
                        key = (properties, apart.get(name), scanned is None, mac is None)
                    if scanned or mac:
                        words = (*words, guid_text(scanned) if scanned else "", mac.upper() if mac else "")
                    pattern = patterns.get(key)
                    if pattern is None:
                        interface = ListedInterface(
                            device=device.name, name=name, guid=scanned, mac=mac, properties=properties
                        )
                        pattern = patterns[key] = pattern_for(interface, model)
                    yield pattern, words

    @cached_property
    def has_links(self) -> bool:
        """Whether LACP joins any ports."""
        return any(cable.bond is not None for cable in self.inventory.plan.cables)

    def _is_scanned(self, device: str, port: str) -> bool:
        """Whether the GUID of an interface is that of a label, and no placeholder."""
        return any((device, port) in scanned for scanned in self._scanned)

    @cached_property
    def _scanned(self) -> tuple[Mapping[tuple[str, str], int], ...]:
        return tuple(fabric.guids.by_end for fabric in self.inventory.plan.spec.fabrics if fabric.guids)

    def bonded(self) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        """Ports that are a part of a link with others, and that link, each as device and interface."""
        if self.has_links:
            for interface in self.inventory.interfaces():
                link = interface.properties.lag
                if link is not None:
                    yield (interface.device, interface.name), (interface.device, link)

    def noted_macs(self) -> Iterator[tuple[str, str, str]]:
        """Device, interface and MAC address of each label that has one."""
        if self.inventory.plan.spec.noted_macs:
            for interface in self.inventory.interfaces():
                if interface.mac:
                    yield interface.device, interface.name, interface.mac.upper()

    def prefixes(self) -> Iterator[ListedPrefix]:
        """Pools and subnets, each once, those that lie in others later; then the prefixes of addresses outside."""
        seen: dict[_Place, ListedPrefix] = {}
        for subnet in self.inventory.subnets():
            what = (
                f"{subnet['fabric']} {subnet['kind']}"
                if subnet["device"] is None
                else f"hosts behind {subnet['device']}"
            )
            seen.setdefault(
                _place(subnet),
                ListedPrefix(fabric=subnet["fabric"], prefix=subnet["prefix"], is_container=False, description=what),
            )
        # Of one pod too, a pool is told as what it is to the whole cluster.
        every = set(seen) if self.is_whole else {_place(subnet) for subnet in Inventory(self.inventory.plan).subnets()}
        lengths: dict[tuple[str, int], set[int]] = defaultdict(set)
        for fabric, version, length, _ in every:
            lengths[fabric, version].add(length)
        inside: set[_Place] = set()
        for fabric, version, length, number in every:
            shorter_lengths = [shorter for shorter in lengths[fabric, version] if shorter < length]
            inside.update((fabric, version, shorter, number >> (length - shorter)) for shorter in shorter_lengths)
        for address, text in self.addresses:
            fabric, version, length = address.fabric, address.version, address.prefix_length
            bits, number = 32 if version == 4 else 128, address.address
            for longer in lengths[fabric, version]:
                if (fabric, version, longer, number >> (bits - longer)) in seen:
                    break
            else:
                around = str(ip_network(f"{text}/{length}", strict=False))
                place = (fabric, version, length, number >> (bits - length))
                seen.setdefault(
                    place,
                    ListedPrefix(
                        fabric=fabric, prefix=around, is_container=False, description=f"{address.device} {address.port}"
                    ),
                )
        for place, prefix in seen.items():
            yield prefix._replace(is_container=place in inside)

    def cables(self) -> Iterator[tuple[Cable, str | None]]:
        """The cables with both ends at listed devices, and their labels.

        Of one pod, those that leave it are left out.
        """
        numbered = any(noted.cable for noted in self.inventory.plan.spec.overlay.by_end.values())
        for cable in self.inventory.cable_list:
            if self.is_whole or (cable.a.device in self.names and cable.b.device in self.names):
                yield cable, self.inventory.cable_number(cable) if numbered else None
