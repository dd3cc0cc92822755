"""The inventory as flat records in plan order: devices, interfaces, cables, addresses and their address spaces.

JSON, CSV and the report all print these records, so a device reads the same everywhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from socket import AF_INET, AF_INET6, inet_ntop
from typing import TYPE_CHECKING, Any

from clusterwright.lists.interfaces import Listed, ListedInterface, interfaces, listed_interfaces
from clusterwright.lists.materials import Material, materials
from clusterwright.plan.model import format_guid
from clusterwright.plan.own_addresses import OwnAddress, own_addresses
from clusterwright.plan.pod_names import group_named
from clusterwright.plan.racks.lengths import rack_places
from clusterwright.spec.ipoib import carrying

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterwright.plan.model import Cable, Device, Interface, Plan

Record = dict[str, Any]


def text_of(address: int, version: int) -> str:
    """An address held as an integer, as text. The C library's formatter: 30 times faster than ``ipaddress``."""
    if version == 4:
        return inet_ntop(AF_INET, address.to_bytes(4, "big"))
    return inet_ntop(AF_INET6, address.to_bytes(16, "big"))


def short_number(value: float) -> float:
    """A whole number without its fraction, for counts and units."""
    return int(value) if float(value).is_integer() else value


class Inventory:
    """The records of a plan, or of one of its pods.

    ``pod`` selects the devices of a pod or a smaller group of that name, or of the pod of that layer, and the cables
    with an end at one of them. Raises ClusterwrightError for an unknown group. ``site`` is the place's name in a source
    of truth; None stands for the cluster's name. ``report_url`` is the address of the pages of `report`, with a slash
    at its end; "" for none.
    """

    def __init__(self, plan: Plan, pod: str | None = None, site: str | None = None, report_url: str = "") -> None:
        self.plan = plan
        self.site = site
        self.report_url = report_url
        addressed = {fabric.name: fabric.addressing for fabric in plan.spec.fabrics if fabric.addressing is not None}
        self._versions = {name: addressing.hosts.version for name, addressing in addressed.items()}
        self._loopback_versions = {name: addressing.hosts.version for name, addressing in addressed.items()}
        pod = None if pod is None else group_named(plan, pod)
        if pod is None:
            self.device_list: tuple[Device, ...] = tuple(plan.devices)
        else:
            self.device_list = tuple(
                device for device in plan.devices if pod in (device.pod, device.group, *device.groups)
            )
        self._names = frozenset(device.name for device in self.device_list)

    @property
    def cable_list(self) -> Iterator[Cable]:
        """The cables, each once."""
        return (cable for cable in self.plan.cables if cable.a.device in self._names or cable.b.device in self._names)

    def devices(self) -> Iterator[Record]:
        """One record a device."""
        catalogue, overlay = self.plan.spec.catalogue, self.plan.spec.overlay.by_end
        management = self.management_addresses()
        for device in self.device_list:
            model = catalogue[device.model]
            version = self._loopback_versions.get(device.fabric)
            label = overlay.get((device.name, ""))
            yield {
                "name": device.name,
                "role": device.role,
                "kind": device.kind,
                "model": device.model,
                "manufacturer": model.manufacturer,
                "part": model.part,
                "height_units": short_number(model.units),
                "power_w": model.power_w,
                "weight_kg": short_number(model.weight_kg),
                "rack": device.rack or None,
                "unit": short_number(device.unit) or None,
                "pod": device.pod or None,
                "groups": list(device.groups),
                "fabric": device.fabric or None,
                "tier": device.tier if device.kind == "switch" else None,
                "plane": device.plane,
                "rail": device.rail,
                "gpus": model.gpus.count if model.gpus is not None else 0,
                "rank": device.rank,
                "asn": device.asn,
                "loopback": None if device.loopback is None or version is None else text_of(device.loopback, version),
                "management": management.get(device.name),
                "guid": None if device.guid is None else format_guid(device.guid),
                "zone": next(iter(device.zones), None),
                "zones": list(device.zones),
                "image": device.image,
                "network_os": model.network_os,
                "state": device.state,
                "serial": None if label is None else label.serial,
                "asset_tag": None if label is None else label.asset_tag,
                "planned_name": device.planned_name,
            }

    def cables(self) -> Iterator[Record]:
        """One record a cable: ``a`` is the lower end."""
        for cable in self.cable_list:
            yield {
                "a": {"device": cable.a.device, "port": cable.a.port},
                "b": {"device": cable.b.device, "port": cable.b.port},
                "speed_gbps": cable.speed_gbps,
                "medium": cable.medium,
                "length_m": short_number(cable.length_m),
                "fabric": cable.fabric,
                "tier": cable.tier,
                "rail": cable.a.rail,
                "in_service": cable.in_service,
                "number": self.cable_number(cable),
            }

    def cable_number(self, cable: Cable) -> str | None:
        """The number written on a cable, from the row of either end."""
        for end in (cable.a, cable.b):
            label = self.plan.spec.overlay.by_end.get((end.device, end.port))
            if label is not None and label.cable is not None:
                return label.cable
        return None

    def addresses(self) -> Iterator[Record]:
        """Every address of a device, with its interface in the notation of the device's system."""
        for address in self.own_addresses():
            yield {
                "address": text_of(address.address, address.version),
                "prefix_length": address.prefix_length,
                "device": address.device,
                "port": address.port,
                "side": address.side,
                "fabric": address.fabric,
            }

    def own_addresses(self) -> Iterator[OwnAddress]:
        """The same as integers: there are 166,000 at full size."""
        return (address for address in own_addresses(self.plan) if address.device in self._names)

    def subnets(self) -> Iterator[Record]:
        """Prefixes with a meaning: pools, and the host subnet behind each bottom switch."""
        for fabric in self.plan.spec.fabrics:
            pools = fabric.addressing
            if pools is not None:
                for kind in ("loopbacks", "links", "hosts"):
                    pool = str(getattr(pools, kind))
                    yield {"prefix": pool, "kind": kind, "fabric": fabric.name, "device": None, "gateway": None}
        for name, _, ipoib in carrying(self.plan.spec):
            for prefix, kind in {ipoib.network: "ipoib", ipoib.addresses: "ipoib-hosts"}.items():
                yield {"prefix": str(prefix), "kind": kind, "fabric": name, "device": None, "gateway": None}
        for subnet in self.plan.subnets:
            if subnet.device and subnet.device not in self._names:
                continue
            yield {
                "prefix": f"{text_of(subnet.network, subnet.version)}/{subnet.prefix_length}",
                "kind": subnet.kind,
                "fabric": subnet.fabric,
                "device": subnet.device or None,
                "gateway": None if subnet.gateway is None else text_of(subnet.gateway, subnet.version),
            }

    def interfaces(self) -> Iterator[ListedInterface]:
        """Every interface of every device, unused ones included; ``_asdict`` gives its record."""
        return interfaces(self.plan, self.device_list)

    def listed_interfaces(self) -> Iterator[tuple[Device, Sequence[Listed]]]:
        """The same by device, with shared properties: there are 400,000 at full size."""
        return listed_interfaces(self.plan, self.device_list)

    def racks(self) -> Iterator[Record]:
        """One record a rack: its place, its height and used units, power and weight of its devices."""
        catalogue, height = self.plan.spec.catalogue, self.plan.spec.site.rack_units
        places = rack_places(self.plan.spec.site.floor)
        devices_by_rack: dict[str, list[Device]] = defaultdict(list)
        for device in self.device_list:
            if device.rack:
                devices_by_rack[device.rack].append(device)
        for rack, devices in devices_by_rack.items():
            models = [catalogue[device.model] for device in devices]
            yield {
                "name": rack,
                "row": places[rack].row_name if rack in places else None,
                "position": places[rack].position if rack in places else None,
                "pod": next((device.pod for device in devices if device.pod), None),
                "height_units": height,
                "used_units": short_number(sum(model.units for model in models)),
                "devices": len(devices),
                "power_w": sum(model.power_w for model in models),
                "weight_kg": short_number(round(sum(model.weight_kg for model in models), 3)),
            }

    def vrfs(self) -> Iterator[Record]:
        """One record an address space: a fabric with addresses, unique in it."""
        ipoib_versions = {name: ipoib.network.version for name, _, ipoib in carrying(self.plan.spec)}
        for fabric in self.plan.spec.fabrics:
            version = self._versions.get(fabric.name) or ipoib_versions.get(fabric.name)
            if version is not None:
                yield {"name": fabric.name, "ip_version": version, "mtu": fabric.mtu}

    def asns(self) -> Iterator[Record]:
        """One record an AS number of a fabric: the role and the number of its switches."""
        counts = Counter((device.fabric, device.asn, device.role) for device in self.device_list if device.asn)
        for (fabric, asn, role), count in counts.items():
            yield {"asn": asn, "fabric": fabric, "role": role, "switches": count}

    def materials(self) -> Iterator[Material]:
        """The bill of materials."""
        return materials(self.plan, self.device_list, self.cable_list)

    def management_addresses(self) -> dict[str, str]:
        """The address of each device's management port; of several, the first in the catalogue."""
        addresses: dict[str, str] = {}
        for end in self._ends():
            if end.side == "management" and end.address is not None:
                addresses.setdefault(end.device, text_of(end.address, self._versions[end.fabric]))
        return addresses

    def host_addresses(self, fabric: str) -> dict[str, str]:
        """The address of each node's first NIC on ``fabric``."""
        addresses: dict[str, str] = {}
        for end in self._ends():
            if end.side == "host" and end.fabric == fabric and end.address is not None:
                addresses.setdefault(end.device, text_of(end.address, self._versions[fabric]))
        return addresses

    def reachable_addresses(self) -> dict[str, str]:
        """Addresses for logins: a switch's management port, a node's first NIC on a lossy fabric."""
        addresses = self.management_addresses()
        for fabric in reversed(self.plan.spec.fabrics):
            if fabric.technology == "ethernet" and not fabric.is_management:
                addresses |= self.host_addresses(fabric.name)
        return addresses

    def _ends(self) -> Iterator[Interface]:
        for cable in self.cable_list:
            yield cable.a
            yield cable.b
