"""A cluster in Nautobot's words (3.2): the objects of its REST interface, and the files that it imports.

Fields: ``nautobot/{dcim,ipam,extras}/api/serializers.py``. CSV names objects as ``device__name``, ends of cables by id.
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache, partial
from hashlib import sha1
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL

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
from clusterwright.extras.source_of_truth.words import CABLES, STATES, interface_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from clusterwright.extras.source_of_truth.listing import ListedDeviceKind, Listing
    from clusterwright.extras.source_of_truth.rows import Lookup, Record, Told, Words
    from clusterwright.lists.interfaces import ListedInterface
    from clusterwright.plan.own_addresses import OwnAddress
    from clusterwright.spec.hardware.models import HardwareModel

_LOCATION = ("location", "locations")
_SPACE = ("namespace", "namespaces")
_KIND = "Site"  # the location type that Nautobot's own documentation begins with
_INTERFACE = "dcim.interface"


def _cable(record: Record, lookup: Lookup) -> Key | None:
    """The ends of a cable between two interfaces, the first by name first."""
    if any(record[f"termination_{side}_type"] != _INTERFACE for side in "ab"):
        return None
    ends = [lookup("interfaces", record[f"termination_{side}_id"]) for side in "ab"]
    return None if ends[0] is None or ends[1] is None else cable_key(ends[0], ends[1])


def _address(record: Record, lookup: Lookup) -> Key | None:
    """The namespace of the prefix around an address, and the address."""
    parent = lookup("prefixes", (record["parent"] or {}).get("id"))
    return None if parent is None else (parent[0], record["address"])


TABLES = (
    KeptTable("statuses", "extras/statuses", within=None, shared=True),
    TAGS,
    KeptTable("location-types", "dcim/location-types", shared=True),
    KeptTable("locations", "dcim/locations", shared=True),
    MANUFACTURERS,
    DEVICE_TYPES,
    KeptTable("roles", "extras/roles", shared=True),
    PLATFORMS,
    KeptTable("racks", "dcim/racks", (("location", "locations"), ("name", None)), _LOCATION),
    KeptTable("namespaces", "ipam/namespaces", shared=True),
    KeptTable("devices", "dcim/devices", within=_LOCATION),
    interfaces_within(_LOCATION),
    LAG_MEMBERS,
    KeptTable(
        "cables",
        "dcim/cables",
        within=("location_id", "locations"),
        locate=_cable,
        owner=("termination_a_id", "interfaces"),
        forgets_tags=True,  # 3.2 does
        set_once=("status",),
    ),
    KeptTable("prefixes", "ipam/prefixes", (("namespace", "namespaces"), ("prefix", None)), _SPACE),
    KeptTable("ip-addresses", "ipam/ip-addresses", within=_SPACE, locate=_address),
    KeptTable(
        "ip-address-to-interface",
        "ipam/ip-address-to-interface",
        (("ip_address", "ip-addresses"), ("interface", "interfaces")),
        None,
        owner=("ip_address", "ip-addresses"),
    ),
    REACHABLE_AT,
)
_M = MARKS
_TAGGED = ("dcim.rack", "dcim.device", "dcim.interface", "dcim.cable", "ipam.prefix", "ipam.ipaddress")
_PLACED = ("dcim.rack", "dcim.device")


def _tags(listing: Listing) -> Iterator[Told]:
    yield told(KeptRow("tags", (listing.tag,), {"name": listing.tag, "content_types": _TAGGED}))


def _ours(listing: Listing) -> dict[str, Any]:
    return {"tags": (Ref("tags", (listing.tag,)),)}


def _status(name: str) -> dict[str, Ref]:
    """A state of Nautobot's own."""
    return {"status": Ref("statuses", (name.capitalize(),))}


def _named(table: str, name: str, **fields: Any) -> Told:
    return told(KeptRow(table, (name,), {"name": name, **fields}))


def _locations(listing: Listing) -> Iterator[Told]:
    yield _named("locations", listing.site, location_type=Ref("location-types", (_KIND,)), **_status("active"))


def _device_types(listing: Listing) -> Iterator[Told]:
    for name, model in listing.models.items():
        yield told(KeptRow("device-types", (model.manufacturer, name), {
            "manufacturer": Ref("manufacturers", (model.manufacturer,)), "model": name, "part_number": model.part,
            "u_height": math.ceil(model.units), "is_full_depth": True,
        }))  # fmt: skip


def _racks(listing: Listing) -> Iterator[Told]:
    for rack in listing.inventory.racks():
        yield told(KeptRow("racks", (listing.site, rack["name"]), {
            "location": Ref("locations", (listing.site,)), "name": rack["name"], "u_height": rack["height_units"],
            **_status("active"), **_ours(listing),
        }))  # fmt: skip


def _spaces(listing: Listing) -> Iterator[Told]:
    for space in listing.inventory.vrfs():
        yield _named("namespaces", listing.space(space["name"]), description=space["name"])


def _devices(listing: Listing) -> Iterator[Told]:
    name, rack, serial, asset_tag, asn = _M[:5]

    @cache
    def pattern(kind: ListedDeviceKind) -> Pattern:
        where: dict[str, Any] = {"rack": Ref("racks", (listing.site, rack))} if kind.in_rack else {}
        if where and kind.unit:
            where |= {"position": int(kind.unit), "face": "front"}
        return Pattern(KeptRow("devices", (name,), {
            "name": name, "location": Ref("locations", (listing.site,)), **_status(STATES[kind.state]),
            "device_type": Ref("device-types", (kind.manufacturer, kind.model)),
            "role": Ref("roles", (kind.role,)), **where,
            **({"platform": Ref("platforms", (kind.network_os,))} if kind.network_os else {}),
            **({"serial": serial} if kind.has_serial else {}),
            **({"asset_tag": asset_tag} if kind.has_asset_tag else {}),
            **({"comments": f"AS {asn}"} if kind.has_asn else {}), **_ours(listing),
        }))  # fmt: skip

    for kind, words in listing.devices():
        yield pattern(kind), words


def _interfaces(listing: Listing) -> Iterator[Told]:
    device, name, guid, mac = _M[:4]

    def said(interface: ListedInterface, model: HardwareModel) -> Pattern:
        # Its GUID too, for which Nautobot has no field.
        properties = interface.properties
        description = f"{properties.fabric} {properties.role}" + (f" {guid}" if interface.guid else "")
        return Pattern(KeptRow("interfaces", (device, name), {
            "device": Ref("devices", (device,)), "name": name,
            "type": interface_type(interface, model, by_lanes=False), "enabled": properties.in_service,
            "mgmt_only": is_management(interface, model), **({"mac_address": mac} if interface.mac else {}),
            **({"description": description} if properties.fabric else {}), **_ours(listing), **_status("active"),
        }))  # fmt: skip

    return listing.interfaces(said)


def _lag_members(listing: Listing) -> Iterator[Told]:
    return (told(KeptRow("lag-members", port, {"lag": Ref("interfaces", link)})) for port, link in listing.bonded())


def _cables(listing: Listing) -> Iterator[Told]:
    ends = (_M[:2], _M[2:4])

    @cache
    def pattern(kind: str, length_m: float, number: str | None, *, turned: bool) -> Pattern:
        medium = CABLES.get(kind)
        return Pattern(KeptRow("cables", (*ends[turned], *ends[not turned]), {
            "termination_a_type": _INTERFACE, "termination_a_id": Ref("interfaces", ends[0]),
            "termination_b_type": _INTERFACE, "termination_b_id": Ref("interfaces", ends[1]),
            **_status("connected"), **({"type": medium} if medium else {}),
            "length": math.ceil(length_m), "length_unit": "m", **({"label": number} if number else {}),
            **_ours(listing),
        }))  # fmt: skip

    for cable, number in listing.cables():
        words = (cable.a.device, cable.a.port, cable.b.device, cable.b.port)
        yield pattern(cable.medium, cable.length_m, number, turned=words[2:] < words[:2]), words


def _prefixes(listing: Listing) -> Iterator[Told]:
    for prefix in listing.prefixes():
        name = listing.space(prefix.fabric)
        yield told(KeptRow("prefixes", (name, prefix.prefix), {
            "prefix": prefix.prefix, "namespace": Ref("namespaces", (name,)), "description": prefix.description,
            "type": "container" if prefix.is_container else "network", **_status("active"), **_ours(listing),
        }))  # fmt: skip


def _addresses(listing: Listing) -> Iterator[Told]:
    @cache
    def pattern(fabric: str, length: int) -> Pattern:
        name, text = listing.space(fabric), f"{_M[0]}/{length}"
        return Pattern(KeptRow("ip-addresses", (name, text), {
            "address": text, "namespace": Ref("namespaces", (name,)), "type": "host", **_ours(listing),
            **_status("active"),
        }))  # fmt: skip

    return ((pattern(address.fabric, address.prefix_length), (text,)) for address, text in listing.addresses)


def _borne(listing: Listing) -> Iterator[Told]:
    """Which interface has which address."""
    address, device, port = _M[:3]

    @cache
    def pattern(fabric: str, length: int) -> Pattern:
        key = (listing.space(fabric), f"{address}/{length}")
        return Pattern(KeptRow("ip-address-to-interface", (*key, device, port), {
            "ip_address": Ref("ip-addresses", key), "interface": Ref("interfaces", (device, port)),
        }))  # fmt: skip

    for own_address, text in listing.addresses:
        yield pattern(own_address.fabric, own_address.prefix_length), (text, own_address.device, own_address.port)


def _reachable(listing: Listing) -> Iterator[Told]:
    """Where devices are reached: an address of each version of IP at most, the last that the plan has."""

    @cache
    def pattern(*where: tuple[str, str, int]) -> Pattern:
        fields = {
            field: Ref("ip-addresses", (listing.space(fabric), f"{mark}/{length}"))
            for mark, (field, fabric, length) in zip(_M[1:], where, strict=False)
        }
        return Pattern(KeptRow("reachable-at", (_M[0],), fields))

    addresses_by_device: dict[str, dict[str, tuple[OwnAddress, str]]] = defaultdict(dict)
    for address, text in listing.addresses:
        if listing.reached.get(address.device) == text:
            addresses_by_device[address.device][f"primary_ip{address.version}"] = (address, text)
    for device, fields in addresses_by_device.items():
        where = ((field, address.fabric, address.prefix_length) for field, (address, _) in fields.items())
        yield pattern(*where), (device, *(text for _, text in fields.values()))


_ROWS: Mapping[str, Callable[[Listing], Iterator[Told]]] = {
    "tags": _tags,
    "location-types": lambda _: iter((_named("location-types", _KIND, content_types=_PLACED),)),
    "locations": _locations,
    "manufacturers": lambda listing: (_named("manufacturers", name) for name in listing.manufacturers),
    "device-types": _device_types,
    "roles": lambda listing: (_named("roles", name, content_types=("dcim.device",)) for name in listing.roles),
    "platforms": lambda listing: (_named("platforms", name) for name in listing.network_systems),
    "racks": _racks,
    "namespaces": _spaces,
    "devices": _devices,
    "interfaces": _interfaces,
    "lag-members": _lag_members,
    "cables": _cables,
    "prefixes": _prefixes,
    "ip-addresses": _addresses,
    "ip-address-to-interface": _borne,
    "reachable-at": _reachable,
}
_COLUMNS = {
    "tags": ("name", "content_types"),
    "location-types": ("name", "content_types"),
    "locations": ("name", "location_type__name", "status__name"),
    "manufacturers": ("name",),
    "device-types": ("manufacturer__name", "model", "part_number", "u_height", "is_full_depth"),
    "roles": ("name", "content_types"),
    "platforms": ("name",),
    "racks": ("location__name", "name", "u_height", "status__name", "tags__name"),
    "namespaces": ("name", "description"),
    "devices": (
        "id", "name", "location__name", "status__name", "device_type__manufacturer__name", "device_type__model",
        "role__name", "rack__location__name", "rack__name", "position", "face", "platform__name", "serial",
        "asset_tag", "comments", "tags__name",
    ),
    "interfaces": (
        "id", "device__name", "name", "type", "enabled", "mgmt_only", "mac_address", "description",
        "status__name", "tags__name",
    ),
    "lag-members": ("id", "lag__device__name", "lag__name"),
    "cables": (
        "termination_a_type", "termination_a_id", "termination_b_type", "termination_b_id", "status__name", "type",
        "label", "length", "length_unit", "tags__name",
    ),
    "prefixes": ("prefix", "namespace__name", "type", "description", "status__name", "tags__name"),
    "ip-addresses": ("address", "namespace__name", "type", "status__name", "tags__name"),
    "ip-address-to-interface": (
        "ip_address__parent__namespace__name", "ip_address__host", "interface__device__name", "interface__name",
    ),
    "reachable-at": (
        "id", "primary_ip4__parent__namespace__name", "primary_ip4__host", "primary_ip6__parent__namespace__name",
        "primary_ip6__host",
    ),
}  # fmt: skip
# Of each table that is referred to: the fields that tell one of its objects, in the order of its key.
_NATURAL = {
    "device-types": ("manufacturer__name", "model"),
    "racks": ("location__name", "name"),
    "interfaces": ("device__name", "name"),
    "ip-addresses": ("parent__namespace__name", "host"),
}
_WITH_ID = {"devices": "devices", "interfaces": "interfaces", "lag-members": "interfaces", "reachable-at": "devices"}
_OF_WORDS = {mark: chr(ord(mark) + len(MARKS)) for mark in MARKS}
"""By a pattern's word, the placeholder of the id of its object and, for an interface, the next one."""
_IDS: Mapping[str, Mapping[str, Callable[[Words], str]]] = {
    "devices": {_OF_WORDS[_M[0]]: lambda words: _id_of(f"devices\n{words[0]}")},
    "interfaces": {_OF_WORDS[_M[0]]: lambda words: _id_of(f"interfaces\n{words[0]}\n{words[1]}")},
    "cables": {
        _OF_WORDS[_M[0]]: lambda words: _id_of(f"interfaces\n{words[0]}\n{words[1]}"),
        _OF_WORDS[_M[2]]: lambda words: _id_of(f"interfaces\n{words[2]}\n{words[3]}"),
    },
}
_ID_SPACE = NAMESPACE_URL.bytes + b"clusterwright\n"
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))  # the two highest bits are 10
_NO_VALUE = "NoObject"  # Nautobot's own word for a reference to nothing


def nautobot_files(listing: Listing) -> Mapping[str, Iterator[str]]:
    """The files of Nautobot's import, numbered in their order."""
    writers = {
        name: ("csv", partial(csv_lines, columns, _cells, computed=_IDS.get(_WITH_ID.get(name, name), {})))
        for name, columns in _COLUMNS.items()
    }
    return table_files(listing, TABLES, _ROWS, writers)


def _cells(pattern: Pattern) -> Mapping[str, str]:
    row, cells = pattern.row, dict[str, str]()
    for name, value in row.fields.items():
        if isinstance(value, Ref) and name.startswith("termination_"):
            cells[name] = _id(value)
        elif isinstance(value, Ref):
            for part, text in zip(_NATURAL.get(value.table, ("name",)), value.key, strict=True):
                cells[f"{name}__{part}"] = text.partition("/")[0] if part == "host" else text
        elif name == "tags":
            cells["tags__name"] = ",".join(tag.key[-1] for tag in value)
        else:
            cells[name] = _cell(value)
    if row.table in _WITH_ID:
        cells["id"] = _id(Ref(_WITH_ID[row.table], row.key))
    absent = {name: _NO_VALUE for name in _COLUMNS[row.table] if "__" in name}
    return absent | cells


def _id(ref: Ref) -> str:
    """An id that is the same whenever the files are written; of a pattern, the mark of where it stands."""
    return _OF_WORDS[ref.key[0]] if ref.key[0] in _OF_WORDS else _id_of("\n".join((ref.table, *ref.key)))


def _id_of(identity: str) -> str:
    """The UUID of version 5 (RFC 9562) of a table and a key: as uuid5 makes it, several times as fast."""
    text = sha1(_ID_SPACE + identity.encode()).hexdigest()  # noqa: S324  # that version is made so
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:32]}"


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)


NAUTOBOT = ServerKind(
    name="nautobot",
    title="Nautobot",
    tables=TABLES,
    rows_by_table=_ROWS,
    files=nautobot_files,
    query={"depth": "0", "exclude_m2m": "false"},
    token_kind=lambda _: "Token",
    belongings=tuple((endpoint, "device") for endpoint in BELONGINGS),
    tagged=("tags", {"exclude_m2m": "true"}),
)
