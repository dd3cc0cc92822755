"""What both kinds of servers are told of a cluster, before it is said in either one's words."""

from __future__ import annotations

from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any, NamedTuple

from clusterwright.report.records import Inventory
from clusterwright.source_of_truth.words import slug

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterwright.plan.model import Cable
    from clusterwright.report.lists.interfaces import ListedInterface
    from clusterwright.spec.hardware.models import HardwareModel

MADE_BY = "clusterwright"


class ListedPrefix(NamedTuple):
    """A prefix of a fabric; ``is_pool`` says that others lie in it, and what it is for."""

    fabric: str
    prefix: str
    is_container: bool
    description: str


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
    def addresses(self) -> tuple[dict[str, Any], ...]:
        """The records of all addresses."""
        return tuple(self.inventory.addresses())

    def is_scanned(self, interface: ListedInterface) -> bool:
        """Whether the interface's GUID is that of a label, and no placeholder."""
        end = (interface.device, interface.name)
        return any(fabric.guids and end in fabric.guids.by_end for fabric in self.inventory.plan.spec.fabrics)

    def bonded(self) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        """Ports that are a part of a link with others, and that link, each as device and interface."""
        for each in self.inventory.interfaces():
            if each.lag is not None:
                yield (each.device, each.name), (each.device, each.lag)

    def prefixes(self) -> Iterator[ListedPrefix]:
        """Pools and subnets, each once, those that lie in others later; then what lies around addresses outside."""
        seen: dict[tuple[str, IPv4Network | IPv6Network], ListedPrefix] = {}
        for each in self.inventory.subnets():
            network = ip_network(each["prefix"])
            what = f"{each['fabric']} {each['kind']}" if each["device"] is None else f"hosts behind {each['device']}"
            seen.setdefault((each["fabric"], network), ListedPrefix(each["fabric"], str(network), False, what))
        # Of one pod too, a pool is told as what it is to the whole cluster.
        every = {(each["fabric"], ip_network(each["prefix"])) for each in Inventory(self.inventory.plan).subnets()}
        inside = {
            (fabric, network.supernet(new_prefix=length))
            for fabric, network in every
            for length in {other.prefixlen for _, other in every}
            if length < network.prefixlen
        }
        lengths = {(fabric, network.version, network.prefixlen) for fabric, network in seen}
        for each in self.addresses:
            address = ip_address(each["address"])
            if not any(
                (each["fabric"], ip_network((address, length), strict=False)) in seen
                for fabric, version, length in lengths
                if fabric == each["fabric"] and version == address.version
            ):
                network = ip_network((address, each["prefix_length"]), strict=False)
                what = f"{each['device']} {each['port']}"
                seen.setdefault((each["fabric"], network), ListedPrefix(each["fabric"], str(network), False, what))
        for place, prefix in seen.items():
            yield prefix._replace(is_container=place in inside)

    def cables(self) -> Iterator[Cable]:
        """The cables with both ends at listed devices: of one pod, those that leave it are left out."""
        for cable in self.inventory.cable_list:
            if cable.a.device in self.names and cable.b.device in self.names:
                yield cable
