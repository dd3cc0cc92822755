"""Objects of a cluster as Nautobot 3.2 stores them, by table of its REST interface.

Fields: ``nautobot/{dcim,ipam,extras}/api/serializers.py``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any

from clusterwright.extras.source_of_truth import shared_tables
from clusterwright.extras.source_of_truth.listing import is_management
from clusterwright.extras.source_of_truth.rows import PLACEHOLDERS, KeptRow, KeptTable, Ref, RowPattern, single_row
from clusterwright.extras.source_of_truth.shared_tables import INTERFACE, cluster_tags
from clusterwright.extras.source_of_truth.words import CABLES, STATES, interface_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from clusterwright.extras.source_of_truth.listing import ListedDeviceKind, Listing
    from clusterwright.extras.source_of_truth.rows import Key, Lookup, PatternRow, Record
    from clusterwright.lists.interfaces import ListedInterface
    from clusterwright.plan.own_addresses import OwnAddress
    from clusterwright.spec.hardware.models import HardwareModel

_LOCATION = ("location", "locations")
_NAMESPACE = ("namespace", "namespaces")
_LOCATION_TYPE = "Site"  # the first location type in Nautobot's documentation


def _cable_key(record: Record, lookup: Lookup) -> Key | None:
    """The key of a cable between two interfaces."""
    if any(record[f"termination_{side}_type"] != INTERFACE for side in "ab"):
        return None
    return shared_tables.cable_between([record[f"termination_{side}_id"] for side in "ab"], lookup)


def _address_key(record: Record, lookup: Lookup) -> Key | None:
    """The namespace of the prefix around an address, and the address."""
    parent = lookup("prefixes", (record["parent"] or {}).get("id"))
    return None if parent is None else (parent[0], record["address"])


TABLES = (
    KeptTable("statuses", "extras/statuses", within=None, shared=True),
    shared_tables.TAGS,
    KeptTable("location-types", "dcim/location-types", shared=True),
    KeptTable("locations", "dcim/locations", shared=True),
    shared_tables.MANUFACTURERS,
    shared_tables.DEVICE_TYPES,
    KeptTable("roles", "extras/roles", shared=True),
    shared_tables.PLATFORMS,
    KeptTable(name="racks", endpoint="dcim/racks", key=(("location", "locations"), ("name", None)), within=_LOCATION),
    KeptTable("namespaces", "ipam/namespaces", shared=True),
    KeptTable("devices", "dcim/devices", within=_LOCATION),
    shared_tables.interfaces_within(_LOCATION),
    shared_tables.LAG_MEMBERS,
    KeptTable(
        name="cables",
        endpoint="dcim/cables",
        within=("location_id", "locations"),
        locate=_cable_key,
        owner=("termination_a_id", "interfaces"),
        forgets_tags=True,  # 3.2 does
        set_once=("status",),
    ),
    KeptTable(
        name="prefixes",
        endpoint="ipam/prefixes",
        key=(("namespace", "namespaces"), ("prefix", None)),
        within=_NAMESPACE,
    ),
    KeptTable("ip-addresses", "ipam/ip-addresses", within=_NAMESPACE, locate=_address_key),
    KeptTable(
        name="ip-address-to-interface",
        endpoint="ipam/ip-address-to-interface",
        key=(("ip_address", "ip-addresses"), ("interface", "interfaces")),
        within=None,
        owner=("ip_address", "ip-addresses"),
    ),
    shared_tables.REACHABLE_AT,
)
_TAGGED_TYPES = ("dcim.rack", "dcim.device", "dcim.interface", "dcim.cable", "ipam.prefix", "ipam.ipaddress")
_LOCATED_TYPES = ("dcim.rack", "dcim.device")


def _tags(listing: Listing) -> Iterator[PatternRow]:
    yield single_row(KeptRow("tags", (listing.tag,), {"name": listing.tag, "content_types": _TAGGED_TYPES}))


def _status(name: str) -> dict[str, Ref]:
    """The field ``status``: one of Nautobot's predefined statuses."""
    return {"status": Ref("statuses", (name.capitalize(),))}


def _named(table: str, name: str, **fields: Any) -> PatternRow:
    return single_row(KeptRow(table, (name,), {"name": name, **fields}))


def _location_types(_: Listing) -> Iterator[PatternRow]:
    yield _named("location-types", _LOCATION_TYPE, content_types=_LOCATED_TYPES)


def _locations(listing: Listing) -> Iterator[PatternRow]:
    location_type = Ref("location-types", (_LOCATION_TYPE,))
    yield _named("locations", listing.site, location_type=location_type, **_status("active"))


def _manufacturers(listing: Listing) -> Iterator[PatternRow]:
    for name in listing.manufacturers:
        yield _named("manufacturers", name)


def _device_types(listing: Listing) -> Iterator[PatternRow]:
    for name, model in listing.models.items():
        yield single_row(KeptRow("device-types", (model.manufacturer, name), {
            "manufacturer": Ref("manufacturers", (model.manufacturer,)), "model": name, "part_number": model.part,
            "u_height": math.ceil(model.units), "is_full_depth": True,
        }))  # fmt: skip


def _roles(listing: Listing) -> Iterator[PatternRow]:
    for name in listing.roles:
        yield _named("roles", name, content_types=("dcim.device",))


def _platforms(listing: Listing) -> Iterator[PatternRow]:
    for name in listing.network_systems:
        yield _named("platforms", name)


def _racks(listing: Listing) -> Iterator[PatternRow]:
    for rack in listing.inventory.racks():
        yield single_row(KeptRow("racks", (listing.site, rack["name"]), {
            "location": Ref("locations", (listing.site,)), "name": rack["name"], "u_height": rack["height_units"],
            **_status("active"), **cluster_tags(listing),
        }))  # fmt: skip


def _namespaces(listing: Listing) -> Iterator[PatternRow]:
    for vrf in listing.inventory.vrfs():
        yield _named("namespaces", listing.space(vrf["name"]), description=vrf["name"])


def _devices(listing: Listing) -> Iterator[PatternRow]:
    name, rack, serial, asset_tag, asn = PLACEHOLDERS[:5]

    @cache
    def pattern(kind: ListedDeviceKind) -> RowPattern:
        fields: dict[str, Any] = {
            "name": name, "location": Ref("locations", (listing.site,)), **_status(STATES[kind.state]),
            "device_type": Ref("device-types", (kind.manufacturer, kind.model)), "role": Ref("roles", (kind.role,)),
        }  # fmt: skip
        if kind.in_rack:
            fields["rack"] = Ref("racks", (listing.site, rack))
        if kind.in_rack and kind.unit:
            fields |= {"position": int(kind.unit), "face": "front"}
        if kind.network_os:
            fields["platform"] = Ref("platforms", (kind.network_os,))
        if kind.has_serial:
            fields["serial"] = serial
        if kind.has_asset_tag:
            fields["asset_tag"] = asset_tag
        if kind.has_asn:
            fields["comments"] = f"AS {asn}"
        return RowPattern(KeptRow("devices", (name,), fields | cluster_tags(listing)))

    for kind, values in listing.devices():
        yield pattern(kind), values


def _interfaces(listing: Listing) -> Iterator[PatternRow]:
    device, name, guid, mac = PLACEHOLDERS[:4]

    def pattern(interface: ListedInterface, model: HardwareModel) -> RowPattern:
        properties = interface.properties
        fields: dict[str, Any] = {
            "device": Ref("devices", (device,)), "name": name,
            "type": interface_type(interface, model, by_lanes=False), "enabled": properties.in_service,
            "mgmt_only": is_management(interface, model),
        }  # fmt: skip
        if interface.mac:
            fields["mac_address"] = mac
        if properties.fabric:
            fields["description"] = f"{properties.fabric} {properties.role}"
        if properties.fabric and interface.guid:  # Nautobot has no field for a GUID
            fields["description"] += f" {guid}"
        return RowPattern(KeptRow("interfaces", (device, name), fields | cluster_tags(listing) | _status("active")))

    return listing.interfaces(pattern)


def _cables(listing: Listing) -> Iterator[PatternRow]:
    ends = (PLACEHOLDERS[:2], PLACEHOLDERS[2:4])

    @cache
    def pattern(medium: str, length_m: float, number: str | None, *, b_first: bool) -> RowPattern:
        fields: dict[str, Any] = {
            "termination_a_type": INTERFACE, "termination_a_id": Ref("interfaces", ends[0]),
            "termination_b_type": INTERFACE, "termination_b_id": Ref("interfaces", ends[1]), **_status("connected"),
        }  # fmt: skip
        if medium in CABLES:
            fields["type"] = CABLES[medium]
        fields |= {"length": math.ceil(length_m), "length_unit": "m"}
        if number:
            fields["label"] = number
        key = (*ends[b_first], *ends[not b_first])
        return RowPattern(KeptRow("cables", key, fields | cluster_tags(listing)))

    for cable, number in listing.cables():
        values = (cable.a.device, cable.a.port, cable.b.device, cable.b.port)
        yield pattern(cable.medium, cable.length_m, number, b_first=values[2:] < values[:2]), values


def _prefixes(listing: Listing) -> Iterator[PatternRow]:
    for prefix in listing.prefixes():
        namespace = listing.space(prefix.fabric)
        yield single_row(KeptRow("prefixes", (namespace, prefix.prefix), {
            "prefix": prefix.prefix, "namespace": Ref("namespaces", (namespace,)), "description": prefix.description,
            "type": "container" if prefix.is_container else "network", **_status("active"), **cluster_tags(listing),
        }))  # fmt: skip


def _addresses(listing: Listing) -> Iterator[PatternRow]:
    @cache
    def pattern(fabric: str, length: int) -> RowPattern:
        namespace, address = listing.space(fabric), f"{PLACEHOLDERS[0]}/{length}"
        return RowPattern(KeptRow("ip-addresses", (namespace, address), {
            "address": address, "namespace": Ref("namespaces", (namespace,)), "type": "host", **cluster_tags(listing),
            **_status("active"),
        }))  # fmt: skip

    for own_address, address in listing.addresses:
        yield pattern(own_address.fabric, own_address.prefix_length), (address,)


def _address_assignments(listing: Listing) -> Iterator[PatternRow]:
    address, device, port = PLACEHOLDERS[:3]

    @cache
    def pattern(fabric: str, length: int) -> RowPattern:
        key = (listing.space(fabric), f"{address}/{length}")
        return RowPattern(KeptRow("ip-address-to-interface", (*key, device, port), {
            "ip_address": Ref("ip-addresses", key), "interface": Ref("interfaces", (device, port)),
        }))  # fmt: skip

    for own_address, text in listing.addresses:
        yield pattern(own_address.fabric, own_address.prefix_length), (text, own_address.device, own_address.port)


def _reachable(listing: Listing) -> Iterator[PatternRow]:
    """Devices with their primary addresses: at most one of each IP version, the last one in the plan."""

    @cache
    def pattern(*fields: tuple[str, str, int]) -> RowPattern:
        references: dict[str, Ref] = {}
        for placeholder, (field, fabric, length) in zip(PLACEHOLDERS[1:], fields, strict=False):
            references[field] = Ref("ip-addresses", (listing.space(fabric), f"{placeholder}/{length}"))
        return RowPattern(KeptRow("reachable-at", (PLACEHOLDERS[0],), references))

    addresses_by_device: dict[str, dict[str, tuple[OwnAddress, str]]] = defaultdict(dict)
    for address, text in listing.addresses:
        if listing.reached.get(address.device) == text:
            addresses_by_device[address.device][f"primary_ip{address.version}"] = (address, text)
    for device, address_by_field in addresses_by_device.items():
        fields: list[tuple[str, str, int]] = []
        values = [device]
        for field, (address, text) in address_by_field.items():
            fields.append((field, address.fabric, address.prefix_length))
            values.append(text)
        yield pattern(*fields), tuple(values)


ROWS: Mapping[str, Callable[[Listing], Iterator[PatternRow]]] = {
    "tags": _tags,
    "location-types": _location_types,
    "locations": _locations,
    "manufacturers": _manufacturers,
    "device-types": _device_types,
    "roles": _roles,
    "platforms": _platforms,
    "racks": _racks,
    "namespaces": _namespaces,
    "devices": _devices,
    "interfaces": _interfaces,
    "lag-members": shared_tables.lag_members,
    "cables": _cables,
    "prefixes": _prefixes,
    "ip-addresses": _addresses,
    "ip-address-to-interface": _address_assignments,
    "reachable-at": _reachable,
}
