"""A cluster in NetBox's words (4.7): the objects of its REST interface, and the files that its import forms take.

Fields are those of ``netbox/{dcim,ipam,extras}/api/serializers*`` and of ``.../forms/bulk_import.py``.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import yaml

from clusterwright.extras.source_of_truth.files import csv_lines, table_files
from clusterwright.extras.source_of_truth.listing import is_management
from clusterwright.extras.source_of_truth.rows import (
    BELONGINGS,
    DEVICE_TYPES,
    LAG_MEMBERS,
    MANUFACTURERS,
    MARKS,
    PLATFORMS,
    REACHABLE_AT,
    TAGS,
    KeptRow,
    KeptTable,
    Key,
    Pattern,
    Ref,
    ServerKind,
    cable_key,
    interfaces_within,
    told,
)
from clusterwright.extras.source_of_truth.words import CABLES, STATES, interface_type, slug
from clusterwright.lists.records import Inventory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from clusterwright.extras.source_of_truth.listing import ListedDeviceKind, Listing
    from clusterwright.extras.source_of_truth.rows import Lookup, Record, Told
    from clusterwright.lists.interfaces import ListedInterface
    from clusterwright.spec.hardware.models import HardwareModel

_SITE = ("site_id", "sites")
_SPACE = ("vrf_id", "vrfs")
_INTERFACE = "dcim.interface"


def _cable(record: Record, lookup: Lookup) -> Key | None:
    """The ends of a cable between two interfaces, the first by name first."""
    sides = [list(record.get(side) or ()) for side in ("a_terminations", "b_terminations")]
    if any(len(side) != 1 or side[0]["object_type"] != _INTERFACE for side in sides):
        return None
    ends = [lookup("interfaces", side[0]["object_id"]) for side in sides]
    return None if ends[0] is None or ends[1] is None else cable_key(ends[0], ends[1])


TABLES = (
    TAGS,
    MANUFACTURERS,
    DEVICE_TYPES,
    KeptTable("device-roles", "dcim/device-roles", shared=True),
    PLATFORMS,
    KeptTable("sites", "dcim/sites", shared=True),
    KeptTable(name="racks", endpoint="dcim/racks", key=(("site", "sites"), ("name", None)), within=_SITE),
    KeptTable("rirs", "ipam/rirs", shared=True),
    KeptTable(name="asns", endpoint="ipam/asns", key=(("asn", None),), within=("asn", None)),
    KeptTable("vrfs", "ipam/vrfs"),
    KeptTable("devices", "dcim/devices", within=_SITE),
    interfaces_within(_SITE),
    LAG_MEMBERS,
    KeptTable(
        name="mac-addresses",
        endpoint="dcim/mac-addresses",
        key=(("assigned_object_id", "interfaces"), ("mac_address", None)),
        within=("tag", None),
    ),
    KeptTable("primary-macs", "dcim/interfaces", amends="interfaces"),
    KeptTable("cables", "dcim/cables", within=_SITE, locate=_cable, set_once=("status",)),  # which `observe` writes
    KeptTable(name="prefixes", endpoint="ipam/prefixes", key=(("vrf", "vrfs"), ("prefix", None)), within=_SPACE),
    KeptTable(
        name="ip-addresses",
        endpoint="ipam/ip-addresses",
        key=(("vrf", "vrfs"), ("address", None), ("assigned_object_id", "interfaces")),
        within=_SPACE,
    ),
    REACHABLE_AT,
)
_M = MARKS
_PRIVATE_REGISTRY = "RFC 6996"
_PRIVATE = ((64512, 65534), (4200000000, 4294967294))  # RFC 6996


def _tags(listing: Listing) -> Iterator[Told]:
    yield _named("tags", listing.tag, color="9e9e9e", weight=1000)


def _ours(listing: Listing) -> dict[str, Any]:
    return {"tags": (Ref("tags", (listing.tag,)),)}


def _named(table: str, name: str, **fields: Any) -> Told:
    return told(KeptRow(table, (name,), {"name": name, "slug": slug(name), **fields}))


def _device_types(listing: Listing) -> Iterator[Told]:
    for name, model in listing.models.items():
        weight = {"weight": model.weight_kg, "weight_unit": "kg"} if model.weight_kg else {}
        yield told(KeptRow("device-types", (model.manufacturer, name), {
            "manufacturer": Ref("manufacturers", (model.manufacturer,)), "model": name,
            "slug": slug(f"{model.manufacturer}-{name}"), "part_number": model.part, "u_height": model.units,
            "is_full_depth": True, **weight,
        }))  # fmt: skip


def _racks(listing: Listing) -> Iterator[Told]:
    for rack in listing.inventory.racks():
        yield told(KeptRow("racks", (listing.site, rack["name"]), {
            "site": Ref("sites", (listing.site,)), "name": rack["name"], "status": "active", "width": 19,
            "u_height": rack["height_units"], **_ours(listing),
        }))  # fmt: skip


def _as_number_uses(listing: Listing) -> Mapping[int, Sequence[str]]:
    uses: dict[int, list[str]] = defaultdict(list)
    listed = {asn["asn"] for asn in listing.inventory.asns()}
    for asn in Inventory(listing.inventory.plan).asns():
        if asn["asn"] in listed:
            uses[asn["asn"]].append(f"{asn['fabric']} {asn['role']}")
    return uses


def _registries(listing: Listing) -> Iterator[Told]:
    for name in sorted(set(map(_registry, _as_number_uses(listing)))):
        yield _named("rirs", name, is_private=name == _PRIVATE_REGISTRY)


def _as_numbers(listing: Listing) -> Iterator[Told]:
    """AS numbers, with the registry that has them: that of private ones is RFC 6996."""
    for number, used in _as_number_uses(listing).items():
        yield told(KeptRow("asns", (str(number),), {
            "asn": number, "rir": Ref("rirs", (_registry(number),)), "description": ", ".join(used), **_ours(listing),
        }))  # fmt: skip


def _registry(number: int) -> str:
    return _PRIVATE_REGISTRY if any(low <= number <= high for low, high in _PRIVATE) else "Assigned"


def _spaces(listing: Listing) -> Iterator[Told]:
    for space in listing.inventory.vrfs():
        name = listing.space(space["name"])
        fields = {"name": name, "enforce_unique": True, "description": space["name"], **_ours(listing)}
        yield told(KeptRow("vrfs", (name,), fields))


def _devices(listing: Listing) -> Iterator[Told]:
    @cache
    def pattern(kind: ListedDeviceKind) -> Pattern:
        where: dict[str, Any] = {"rack": Ref("racks", (listing.site, _M[1]))} if kind.in_rack else {}
        if where and kind.unit:
            where |= {"position": kind.unit, "face": "front"}
        kept = KeptRow("devices", (_M[0],), {
            "name": _M[0], "site": Ref("sites", (listing.site,)), "status": STATES[kind.state],
            "device_type": Ref("device-types", (kind.manufacturer, kind.model)),
            "role": Ref("device-roles", (kind.role,)), **where,
            **({"platform": Ref("platforms", (kind.network_os,))} if kind.network_os else {}),
            **({"serial": _M[2]} if kind.has_serial else {}), **({"asset_tag": _M[3]} if kind.has_asset_tag else {}),
            **({"description": f"AS {_M[4]}"} if kind.has_asn else {}), **_ours(listing),
        })  # fmt: skip
        return Pattern(kept, {"manufacturer": kind.manufacturer})

    for kind, words in listing.devices():
        yield pattern(kind), words


def _interfaces(listing: Listing) -> Iterator[Told]:
    device, name, guid = _M[:3]

    def said(interface: ListedInterface, model: HardwareModel) -> Pattern:
        properties = interface.properties
        kept = KeptRow("interfaces", (device, name), {
            "device": Ref("devices", (device,)), "name": name,
            "type": interface_type(interface, model, by_lanes=True), "enabled": properties.in_service,
            "mgmt_only": is_management(interface, model),
            **({"speed": properties.speed_gbps * 1_000_000} if properties.speed_gbps else {}),
            **({"wwn": guid} if interface.guid else {}),
            **({"description": f"{properties.fabric} {properties.role}"} if properties.fabric else {}),
            **_ours(listing),
        })  # fmt: skip
        return Pattern(kept, {"lag": properties.lag or ""})

    return listing.interfaces(said, _wwn)


def _wwn(guid: str) -> str:
    return bytes.fromhex(guid.removeprefix("0x")).hex(":").upper()


def _lag_members(listing: Listing) -> Iterator[Told]:
    return (told(KeptRow("lag-members", port, {"lag": Ref("interfaces", link)})) for port, link in listing.bonded())


def _mac_addresses(listing: Listing) -> Iterator[Told]:
    """The addresses that labels have."""
    device, name, mac = _M[:3]
    kept = KeptRow("mac-addresses", (device, name, mac), {
        "mac_address": mac, "assigned_object_type": _INTERFACE,
        "assigned_object_id": Ref("interfaces", (device, name)), **_ours(listing),
    })  # fmt: skip
    pattern = Pattern(kept, {"device": device, "interface": name, "is_primary": "true"})
    return ((pattern, words) for words in listing.noted_macs())


def _primary_macs(listing: Listing) -> Iterator[Told]:
    """The interfaces whose own they are."""
    mac_address = Ref("mac-addresses", _M[:3])
    pattern = Pattern(KeptRow("primary-macs", _M[:2], {"primary_mac_address": mac_address}))
    return ((pattern, words) for words in listing.noted_macs())


def _cables(listing: Listing) -> Iterator[Told]:
    ends = (_M[:2], _M[2:4])

    @cache
    def pattern(medium: str, length_m: float, number: str | None, *, turned: bool) -> Pattern:
        kind = CABLES.get(medium)
        terminations = {
            f"{side}_terminations": ({"object_type": _INTERFACE, "object_id": Ref("interfaces", end)},)
            for side, end in zip("ab", ends, strict=True)
        }
        kept = KeptRow("cables", (*ends[turned], *ends[not turned]), {
            **terminations, "status": "connected", **({"type": kind} if kind else {}),
            "length": length_m, "length_unit": "m", **({"label": number} if number else {}), **_ours(listing),
        })  # fmt: skip
        further: dict[str, str] = {}
        for side, (device, port) in zip("ab", ends, strict=True):
            further |= {f"side_{side}_device": device, f"side_{side}_type": _INTERFACE, f"side_{side}_name": port}
        return Pattern(kept, further)

    for cable, number in listing.cables():
        words = (cable.a.device, cable.a.port, cable.b.device, cable.b.port)
        yield pattern(cable.medium, cable.length_m, number, turned=words[2:] < words[:2]), words


def _prefixes(listing: Listing) -> Iterator[Told]:
    for prefix in listing.prefixes():
        name = listing.space(prefix.fabric)
        yield told(KeptRow("prefixes", (name, prefix.prefix), {
            "prefix": prefix.prefix, "vrf": Ref("vrfs", (name,)), "description": prefix.description,
            "status": "container" if prefix.is_container else "active", **_ours(listing),
        }))  # fmt: skip


def _addresses(listing: Listing) -> Iterator[Told]:
    address, device, port = _M[:3]

    @cache
    def pattern(fabric: str, length: int, *, is_loopback: bool, is_primary: bool, is_oob: bool) -> Pattern:
        name, text = listing.space(fabric), f"{address}/{length}"
        kept = KeptRow("ip-addresses", (name, text, device, port), {
            "address": text, "vrf": Ref("vrfs", (name,)), "status": "active",
            **({"role": "loopback"} if is_loopback else {}), "assigned_object_type": _INTERFACE,
            "assigned_object_id": Ref("interfaces", (device, port)), **_ours(listing),
        })  # fmt: skip
        further = {"is_primary": _cell(is_primary), "is_oob": _cell(is_oob)}
        return Pattern(kept, {"device": device, "interface": port, **further})

    reached, out_of_band = listing.reached, listing.out_of_band
    for own_address, text in listing.addresses:
        made = pattern(
            own_address.fabric,
            own_address.prefix_length,
            is_loopback=own_address.side == "loopback",
            is_primary=reached.get(own_address.device) == text,
            is_oob=out_of_band.get(own_address.device) == text,
        )
        yield made, (text, own_address.device, own_address.port)


def _reachable(listing: Listing) -> Iterator[Told]:
    fields_by_device: dict[str, dict[str, Any]] = defaultdict(dict)
    reached, out_of_band = listing.reached, listing.out_of_band
    for address, text in listing.addresses:
        fields = [f"primary_ip{address.version}"] if reached.get(address.device) == text else []
        fields += ["oob_ip"] if out_of_band.get(address.device) == text else []
        if not fields:
            continue
        key = (listing.space(address.fabric), f"{text}/{address.prefix_length}", address.device, address.port)
        for name in fields:
            fields_by_device[address.device][name] = Ref("ip-addresses", key)
    return (told(KeptRow("reachable-at", (device,), fields)) for device, fields in fields_by_device.items())


_ROWS: Mapping[str, Callable[[Listing], Iterator[Told]]] = {
    "tags": _tags,
    "manufacturers": lambda listing: (_named("manufacturers", name) for name in listing.manufacturers),
    "device-types": _device_types,
    "device-roles": lambda listing: (
        _named("device-roles", name, color="9e9e9e", vm_role=False) for name in listing.roles
    ),
    "platforms": lambda listing: (_named("platforms", name) for name in listing.network_systems),
    "sites": lambda listing: iter((_named("sites", listing.site, status="active"),)),
    "racks": _racks,
    "rirs": _registries,
    "asns": _as_numbers,
    "vrfs": _spaces,
    "devices": _devices,
    "interfaces": _interfaces,
    "lag-members": _lag_members,
    "mac-addresses": _mac_addresses,
    "primary-macs": _primary_macs,
    "cables": _cables,
    "prefixes": _prefixes,
    "ip-addresses": _addresses,
    "reachable-at": _reachable,
}
_COLUMNS = {
    "tags": ("name", "slug", "color", "weight"),
    "manufacturers": ("name", "slug"),
    "device-roles": ("name", "slug", "color", "vm_role"),
    "platforms": ("name", "slug"),
    "sites": ("name", "slug", "status"),
    "racks": ("site", "name", "status", "width", "u_height", "tags"),
    "rirs": ("name", "slug", "is_private"),
    "asns": ("asn", "rir", "description", "tags"),
    "vrfs": ("name", "enforce_unique", "description", "tags"),
    "devices": (
        "name", "role", "manufacturer", "device_type", "platform", "serial", "asset_tag", "status", "site", "rack",
        "position", "face", "description", "tags",
    ),
    "interfaces": ("device", "name", "type", "enabled", "mgmt_only", "speed", "wwn", "lag", "description", "tags"),
    "mac-addresses": ("mac_address", "device", "interface", "is_primary", "tags"),
    "cables": (
        "side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name", "type", "status",
        "label", "length", "length_unit", "tags",
    ),
    "prefixes": ("prefix", "vrf", "status", "description", "tags"),
    "ip-addresses": ("address", "vrf", "status", "role", "device", "interface", "is_primary", "is_oob", "tags"),
}  # fmt: skip


def netbox_files(listing: Listing) -> Mapping[str, Iterator[str]]:
    """The files of NetBox's import forms, numbered in their order; device types as in the community's library."""
    writers = {name: ("csv", partial(csv_lines, columns, _cells)) for name, columns in _COLUMNS.items()}
    return table_files(listing, TABLES, _ROWS, {**writers, "device-types": ("yaml", _library)})


def _cells(pattern: Pattern) -> Mapping[str, str]:
    return {**{name: _cell(value) for name, value in pattern.row.fields.items()}, **pattern.further}


def _library(rows: Iterable[Told]) -> Iterator[str]:
    """A document for each type, as those of netbox-community/devicetype-library.

    Without interfaces: a device's own, broken out as they are, are in the file of interfaces.
    """
    for pattern, _ in rows:
        fields = {n: value.key[0] if isinstance(value, Ref) else value for n, value in pattern.row.fields.items()}
        yield "---\n" + yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Ref):
        return value.key[-1]
    if isinstance(value, tuple):
        return ",".join(map(_cell, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _token_kind(token: str) -> str:
    """Tokens of the second version begin with nbt_ and are bearers'."""
    return "Bearer" if token.startswith("nbt_") else "Token"


NETBOX = ServerKind(
    name="netbox",
    title="NetBox",
    tables=TABLES,
    rows_by_table=_ROWS,
    files=netbox_files,
    query={"exclude": "config_context"},
    token_kind=_token_kind,
    belongings=tuple((endpoint, "device_id") for endpoint in BELONGINGS),
)
