"""Objects of a cluster as NetBox 4.7 stores them, by table of its REST interface.

Fields are those of ``netbox/{dcim,ipam,extras}/api/serializers*`` and of ``.../forms/bulk_import.py``.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any

from clusterwright.extras.source_of_truth import shared_tables
from clusterwright.extras.source_of_truth.listing import is_management
from clusterwright.extras.source_of_truth.rows import PLACEHOLDERS, KeptRow, KeptTable, Ref, RowPattern, single_row
from clusterwright.extras.source_of_truth.shared_tables import INTERFACE, cluster_tags
from clusterwright.extras.source_of_truth.words import CABLES, STATES, interface_type, slug
from clusterwright.lists.records import Inventory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from clusterwright.extras.source_of_truth.listing import ListedDeviceKind, Listing
    from clusterwright.extras.source_of_truth.rows import Key, Lookup, PatternRow, Record
    from clusterwright.lists.interfaces import ListedInterface
    from clusterwright.spec.hardware.models import HardwareModel

_SITE = ("site_id", "sites")
_VRF = ("vrf_id", "vrfs")


def _cable_key(record: Record, lookup: Lookup) -> Key | None:
    """The key of a cable between two interfaces."""
    sides = [list(record.get(side) or ()) for side in ("a_terminations", "b_terminations")]
    if any(len(side) != 1 or side[0]["object_type"] != INTERFACE for side in sides):
        return None
    return shared_tables.cable_between([side[0]["object_id"] for side in sides], lookup)


TABLES = (
    shared_tables.TAGS,
    shared_tables.MANUFACTURERS,
    shared_tables.DEVICE_TYPES,
    KeptTable("device-roles", "dcim/device-roles", shared=True),
    shared_tables.PLATFORMS,
    KeptTable("sites", "dcim/sites", shared=True),
    KeptTable(name="racks", endpoint="dcim/racks", key=(("site", "sites"), ("name", None)), within=_SITE),
    KeptTable("rirs", "ipam/rirs", shared=True),
    KeptTable(name="asns", endpoint="ipam/asns", key=(("asn", None),), within=("asn", None)),
    KeptTable("vrfs", "ipam/vrfs"),
    KeptTable("devices", "dcim/devices", within=_SITE),
    shared_tables.interfaces_within(_SITE),
    shared_tables.LAG_MEMBERS,
    KeptTable(
        name="mac-addresses",
        endpoint="dcim/mac-addresses",
        key=(("assigned_object_id", "interfaces"), ("mac_address", None)),
        within=("tag", None),
    ),
    KeptTable("primary-macs", "dcim/interfaces", amends="interfaces"),
    # `observe` changes the status later.
    KeptTable("cables", "dcim/cables", within=_SITE, locate=_cable_key, set_once=("status",)),
    KeptTable(name="prefixes", endpoint="ipam/prefixes", key=(("vrf", "vrfs"), ("prefix", None)), within=_VRF),
    KeptTable(
        name="ip-addresses",
        endpoint="ipam/ip-addresses",
        key=(("vrf", "vrfs"), ("address", None), ("assigned_object_id", "interfaces")),
        within=_VRF,
    ),
    shared_tables.REACHABLE_AT,
)
_GREY = "9e9e9e"
_PRIVATE_REGISTRY = "RFC 6996"
_PRIVATE_ASNS = (range(64512, 65535), range(4200000000, 4294967295))  # RFC 6996


def _tags(listing: Listing) -> Iterator[PatternRow]:
    yield _named("tags", listing.tag, color=_GREY, weight=1000)


def _named(table: str, name: str, **fields: Any) -> PatternRow:
    return single_row(KeptRow(table, (name,), {"name": name, "slug": slug(name), **fields}))


def _manufacturers(listing: Listing) -> Iterator[PatternRow]:
    for name in listing.manufacturers:
        yield _named("manufacturers", name)


def _device_types(listing: Listing) -> Iterator[PatternRow]:
    for name, model in listing.models.items():
        fields: dict[str, Any] = {
            "manufacturer": Ref("manufacturers", (model.manufacturer,)), "model": name,
            "slug": slug(f"{model.manufacturer}-{name}"), "part_number": model.part, "u_height": model.units,
            "is_full_depth": True,
        }  # fmt: skip
        if model.weight_kg:
            fields |= {"weight": model.weight_kg, "weight_unit": "kg"}
        yield single_row(KeptRow("device-types", (model.manufacturer, name), fields))


def _device_roles(listing: Listing) -> Iterator[PatternRow]:
    for name in listing.roles:
        yield _named("device-roles", name, color=_GREY, vm_role=False)


def _platforms(listing: Listing) -> Iterator[PatternRow]:
    for name in listing.network_systems:
        yield _named("platforms", name)


def _sites(listing: Listing) -> Iterator[PatternRow]:
    yield _named("sites", listing.site, status="active")


def _racks(listing: Listing) -> Iterator[PatternRow]:
    for rack in listing.inventory.racks():
        yield single_row(KeptRow("racks", (listing.site, rack["name"]), {
            "site": Ref("sites", (listing.site,)), "name": rack["name"], "status": "active", "width": 19,
            "u_height": rack["height_units"], **cluster_tags(listing),
        }))  # fmt: skip


def _as_number_uses(listing: Listing) -> Mapping[int, Sequence[str]]:
    """The fabrics and roles of each AS number in the listing, in the whole cluster."""
    uses: dict[int, list[str]] = defaultdict(list)
    listed = {asn["asn"] for asn in listing.inventory.asns()}
    for asn in Inventory(listing.inventory.plan).asns():
        if asn["asn"] in listed:
            uses[asn["asn"]].append(f"{asn['fabric']} {asn['role']}")
    return uses


def _registries(listing: Listing) -> Iterator[PatternRow]:
    for name in sorted(set(map(_registry, _as_number_uses(listing)))):
        yield _named("rirs", name, is_private=name == _PRIVATE_REGISTRY)


def _as_numbers(listing: Listing) -> Iterator[PatternRow]:
    """AS numbers with their registry; private ones belong to "RFC 6996"."""
    for number, uses in _as_number_uses(listing).items():
        yield single_row(KeptRow("asns", (str(number),), {
            "asn": number, "rir": Ref("rirs", (_registry(number),)), "description": ", ".join(uses),
            **cluster_tags(listing),
        }))  # fmt: skip


def _registry(number: int) -> str:
    if any(number in private_range for private_range in _PRIVATE_ASNS):
        return _PRIVATE_REGISTRY
    return "Assigned"


def _vrfs(listing: Listing) -> Iterator[PatternRow]:
    for vrf in listing.inventory.vrfs():
        name = listing.space(vrf["name"])
        fields = {"name": name, "enforce_unique": True, "description": vrf["name"], **cluster_tags(listing)}
        yield single_row(KeptRow("vrfs", (name,), fields))


def _devices(listing: Listing) -> Iterator[PatternRow]:
    name, rack, serial, asset_tag, asn = PLACEHOLDERS[:5]

    @cache
    def pattern(kind: ListedDeviceKind) -> RowPattern:
        fields: dict[str, Any] = {
            "name": name, "site": Ref("sites", (listing.site,)), "status": STATES[kind.state],
            "device_type": Ref("device-types", (kind.manufacturer, kind.model)),
            "role": Ref("device-roles", (kind.role,)),
        }  # fmt: skip
        if kind.in_rack:
            fields["rack"] = Ref("racks", (listing.site, rack))
        if kind.in_rack and kind.unit:
            fields |= {"position": kind.unit, "face": "front"}
        if kind.network_os:
            fields["platform"] = Ref("platforms", (kind.network_os,))
        if kind.has_serial:
            fields["serial"] = serial
        if kind.has_asset_tag:
            fields["asset_tag"] = asset_tag
        if kind.has_asn:
            fields["description"] = f"AS {asn}"
        row = KeptRow("devices", (name,), fields | cluster_tags(listing))
        return RowPattern(row, {"manufacturer": kind.manufacturer})

    for kind, values in listing.devices():
        yield pattern(kind), values


def _interfaces(listing: Listing) -> Iterator[PatternRow]:
    device, name, guid = PLACEHOLDERS[:3]

    def pattern(interface: ListedInterface, model: HardwareModel) -> RowPattern:
        properties = interface.properties
        fields: dict[str, Any] = {
            "device": Ref("devices", (device,)), "name": name,
            "type": interface_type(interface, model, by_lanes=True), "enabled": properties.in_service,
            "mgmt_only": is_management(interface, model),
        }  # fmt: skip
        if properties.speed_gbps:
            fields["speed"] = properties.speed_gbps * 1_000_000  # kbit/s
        if interface.guid:
            fields["wwn"] = guid
        if properties.fabric:
            fields["description"] = f"{properties.fabric} {properties.role}"
        row = KeptRow("interfaces", (device, name), fields | cluster_tags(listing))
        return RowPattern(row, {"lag": properties.lag or ""})

    return listing.interfaces(pattern, _wwn)


def _wwn(guid: str) -> str:
    return bytes.fromhex(guid.removeprefix("0x")).hex(":").upper()


def _mac_addresses(listing: Listing) -> Iterator[PatternRow]:
    """The MAC addresses on labels."""
    device, name, mac = PLACEHOLDERS[:3]
    row = KeptRow("mac-addresses", (device, name, mac), {
        "mac_address": mac, "assigned_object_type": INTERFACE,
        "assigned_object_id": Ref("interfaces", (device, name)), **cluster_tags(listing),
    })  # fmt: skip
    pattern = RowPattern(row, {"device": device, "interface": name, "is_primary": "true"})
    for values in listing.noted_macs():
        yield pattern, values


def _primary_macs(listing: Listing) -> Iterator[PatternRow]:
    """Interfaces with the MAC address on their label."""
    mac_address = Ref("mac-addresses", PLACEHOLDERS[:3])
    pattern = RowPattern(KeptRow("primary-macs", PLACEHOLDERS[:2], {"primary_mac_address": mac_address}))
    for values in listing.noted_macs():
        yield pattern, values


def _cables(listing: Listing) -> Iterator[PatternRow]:
    ends = (PLACEHOLDERS[:2], PLACEHOLDERS[2:4])

    @cache
    def pattern(medium: str, length_m: float, number: str | None, *, b_first: bool) -> RowPattern:
        fields: dict[str, Any] = {}
        cells: dict[str, str] = {}
        for side, (device, port) in zip("ab", ends, strict=True):
            end = {"object_type": INTERFACE, "object_id": Ref("interfaces", (device, port))}
            fields[f"{side}_terminations"] = (end,)
            cells |= {f"side_{side}_device": device, f"side_{side}_type": INTERFACE, f"side_{side}_name": port}
        fields["status"] = "connected"
        if medium in CABLES:
            fields["type"] = CABLES[medium]
        fields |= {"length": length_m, "length_unit": "m"}
        if number:
            fields["label"] = number
        key = (*ends[b_first], *ends[not b_first])
        return RowPattern(KeptRow("cables", key, fields | cluster_tags(listing)), cells)

    for cable, number in listing.cables():
        values = (cable.a.device, cable.a.port, cable.b.device, cable.b.port)
        yield pattern(cable.medium, cable.length_m, number, b_first=values[2:] < values[:2]), values


def _prefixes(listing: Listing) -> Iterator[PatternRow]:
    for prefix in listing.prefixes():
        vrf = listing.space(prefix.fabric)
        yield single_row(KeptRow("prefixes", (vrf, prefix.prefix), {
            "prefix": prefix.prefix, "vrf": Ref("vrfs", (vrf,)), "description": prefix.description,
            "status": "container" if prefix.is_container else "active", **cluster_tags(listing),
        }))  # fmt: skip


def _addresses(listing: Listing) -> Iterator[PatternRow]:
    host, device, port = PLACEHOLDERS[:3]

    @cache
    def pattern(fabric: str, length: int, *, is_loopback: bool, is_primary: bool, is_oob: bool) -> RowPattern:
        vrf, address = listing.space(fabric), f"{host}/{length}"
        fields: dict[str, Any] = {"address": address, "vrf": Ref("vrfs", (vrf,)), "status": "active"}
        if is_loopback:
            fields["role"] = "loopback"
        fields |= {"assigned_object_type": INTERFACE, "assigned_object_id": Ref("interfaces", (device, port))}
        cells = {
            "device": device,
            "interface": port,
            "is_primary": str(is_primary).lower(),
            "is_oob": str(is_oob).lower(),
        }
        return RowPattern(KeptRow("ip-addresses", (vrf, address, device, port), fields | cluster_tags(listing)), cells)

    reached, out_of_band = listing.reached, listing.out_of_band
    for own_address, text in listing.addresses:
        address_pattern = pattern(
            own_address.fabric,
            own_address.prefix_length,
            is_loopback=own_address.side == "loopback",
            is_primary=reached.get(own_address.device) == text,
            is_oob=out_of_band.get(own_address.device) == text,
        )
        yield address_pattern, (text, own_address.device, own_address.port)


def _reachable(listing: Listing) -> Iterator[PatternRow]:
    fields_by_device: dict[str, dict[str, Any]] = defaultdict(dict)
    for address, text in listing.addresses:
        key = (listing.space(address.fabric), f"{text}/{address.prefix_length}", address.device, address.port)
        if listing.reached.get(address.device) == text:
            fields_by_device[address.device][f"primary_ip{address.version}"] = Ref("ip-addresses", key)
        if listing.out_of_band.get(address.device) == text:
            fields_by_device[address.device]["oob_ip"] = Ref("ip-addresses", key)
    for device, fields in fields_by_device.items():
        yield single_row(KeptRow("reachable-at", (device,), fields))


ROWS: Mapping[str, Callable[[Listing], Iterator[PatternRow]]] = {
    "tags": _tags,
    "manufacturers": _manufacturers,
    "device-types": _device_types,
    "device-roles": _device_roles,
    "platforms": _platforms,
    "sites": _sites,
    "racks": _racks,
    "rirs": _registries,
    "asns": _as_numbers,
    "vrfs": _vrfs,
    "devices": _devices,
    "interfaces": _interfaces,
    "lag-members": shared_tables.lag_members,
    "mac-addresses": _mac_addresses,
    "primary-macs": _primary_macs,
    "cables": _cables,
    "prefixes": _prefixes,
    "ip-addresses": _addresses,
    "reachable-at": _reachable,
}
