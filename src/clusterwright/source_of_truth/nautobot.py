"""A cluster in Nautobot's words (3.2): the objects of its REST interface, and the files that it imports.

Fields are those of ``nautobot/{dcim,ipam,extras}/api/serializers.py``. Its CSV takes natural keys as ``device__name``;
only the ends of a cable are told by their ids, so that interfaces bring theirs along.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from clusterwright.source_of_truth.files import table_files
from clusterwright.source_of_truth.rows import BELONGINGS, KeptRow, KeptTable, Key, Ref, ServerKind, cable_key
from clusterwright.source_of_truth.words import CABLES, STATES, interface_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.report.lists.interfaces import ListedInterface
    from clusterwright.source_of_truth.listing import Listing
    from clusterwright.source_of_truth.rows import Cells, Lookup, Record

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
    KeptTable("tags", "extras/tags", shared=True),
    KeptTable("location-types", "dcim/location-types", shared=True),
    KeptTable("locations", "dcim/locations", shared=True),
    KeptTable("manufacturers", "dcim/manufacturers", shared=True),
    KeptTable(
        "device-types",
        "dcim/device-types",
        (("manufacturer", "manufacturers"), ("model", None)),
        ("model", None),
        shared=True,
    ),
    KeptTable("roles", "extras/roles", shared=True),
    KeptTable("platforms", "dcim/platforms", shared=True),
    KeptTable("racks", "dcim/racks", (("location", "locations"), ("name", None)), _LOCATION),
    KeptTable("namespaces", "ipam/namespaces", shared=True),
    KeptTable("devices", "dcim/devices", within=_LOCATION),
    KeptTable(
        "interfaces",
        "dcim/interfaces",
        (("device", "devices"), ("name", None)),
        _LOCATION,
        owner=("device", "devices"),
    ),
    KeptTable("lag-members", "dcim/interfaces", amends="interfaces"),
    KeptTable(
        "cables",
        "dcim/cables",
        within=("location_id", "locations"),
        locate=_cable,
        owner=("termination_a_id", "interfaces"),
        forgets_tags=True,  # 3.2 does
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
    KeptTable("reachable-at", "dcim/devices", amends="devices"),
)
_TAGGED = ("dcim.rack", "dcim.device", "dcim.interface", "dcim.cable", "ipam.prefix", "ipam.ipaddress")
_PLACED = ("dcim.rack", "dcim.device")


def nautobot_rows(listing: Listing) -> Iterator[KeptRow]:
    """Every object of a cluster, each after those that it refers to; states are Nautobot's own."""
    inventory, place = listing.inventory, Ref("locations", (listing.site,))
    ours = {"tags": (Ref("tags", (listing.tag,)),)}
    active = {"status": _status("active")}
    yield KeptRow("tags", (listing.tag,), {"name": listing.tag, "content_types": _TAGGED})
    yield KeptRow("location-types", (_KIND,), {"name": _KIND, "content_types": _PLACED})
    kind = Ref("location-types", (_KIND,))
    yield KeptRow("locations", (listing.site,), {"name": listing.site, "location_type": kind, **active})
    yield from (KeptRow("manufacturers", (name,), {"name": name}) for name in listing.manufacturers)
    for name, model in listing.models.items():
        yield KeptRow("device-types", (model.manufacturer, name), {
            "manufacturer": Ref("manufacturers", (model.manufacturer,)), "model": name, "part_number": model.part,
            "u_height": math.ceil(model.units), "is_full_depth": True,
        })  # fmt: skip
    for name in listing.roles:
        yield KeptRow("roles", (name,), {"name": name, "content_types": ("dcim.device",)})
    yield from (KeptRow("platforms", (name,), {"name": name}) for name in listing.network_systems)
    for rack in inventory.racks():
        yield KeptRow("racks", (listing.site, rack["name"]), {
            "location": place, "name": rack["name"], "u_height": rack["height_units"], **active, **ours,
        })  # fmt: skip
    for space in inventory.vrfs():
        name = listing.space(space["name"])
        yield KeptRow("namespaces", (name,), {"name": name, "description": space["name"]})
    for device in inventory.devices():
        where: dict[str, Any] = {"rack": Ref("racks", (listing.site, device["rack"]))} if device["rack"] else {}
        if where and device["unit"]:
            where |= {"position": int(device["unit"]), "face": "front"}
        system = device["network_os"]
        yield KeptRow("devices", (device["name"],), {
            "name": device["name"], "location": place, "status": _status(STATES[device["state"]]),
            "device_type": Ref("device-types", (device["manufacturer"], device["model"])),
            "role": Ref("roles", (device["role"],)), **where,
            **({"platform": Ref("platforms", (system,))} if system else {}),
            **{name: device[name] for name in ("serial", "asset_tag") if device[name]},
            **({"comments": f"AS {device['asn']}"} if device["asn"] else {}), **ours,
        })  # fmt: skip
    yield from _interfaces(listing, ours | active)
    for port, link in listing.bonded():
        yield KeptRow("lag-members", port, {"lag": Ref("interfaces", link)})
    for cable in listing.cables():
        ends = ((cable.a.device, cable.a.port), (cable.b.device, cable.b.port))
        medium, number = CABLES.get(cable.medium), inventory.cable_number(cable)
        yield KeptRow("cables", cable_key(*ends), {
            "termination_a_type": _INTERFACE, "termination_a_id": Ref("interfaces", ends[0]),
            "termination_b_type": _INTERFACE, "termination_b_id": Ref("interfaces", ends[1]),
            "status": _status("connected"), **({"type": medium} if medium else {}),
            "length": math.ceil(cable.length_m), "length_unit": "m",
            **({"label": number} if number else {}), **ours,
        })  # fmt: skip
    for prefix in listing.prefixes():
        name = listing.space(prefix.fabric)
        yield KeptRow("prefixes", (name, prefix.prefix), {
            "prefix": prefix.prefix, "namespace": Ref("namespaces", (name,)), "description": prefix.description,
            "type": "container" if prefix.is_container else "network", **active, **ours,
        })  # fmt: skip
    yield from _addresses(listing, ours | active)


def _status(name: str) -> Ref:
    return Ref("statuses", (name.capitalize(),))


def _interfaces(listing: Listing, common: Mapping[str, Any]) -> Iterator[KeptRow]:
    catalogue, by_name = listing.inventory.plan.spec.catalogue, listing.inventory.plan.by_name
    for each in listing.inventory.interfaces():
        model = catalogue[by_name[each.device].model]
        yield KeptRow("interfaces", (each.device, each.name), {
            "device": Ref("devices", (each.device,)), "name": each.name,
            "type": interface_type(each, model, by_lanes=False), "enabled": each.in_service,
            "mgmt_only": model.management is not None and each.name == model.management.name,
            **({"mac_address": each.mac.upper()} if each.mac else {}),
            **({"description": _description(listing, each)} if each.fabric else {}), **common,
        })  # fmt: skip


def _description(listing: Listing, interface: ListedInterface) -> str:
    """What an interface is for; its GUID too, for which Nautobot has no field."""
    guid = f" {interface.guid}" if interface.guid and listing.is_scanned(interface) else ""
    return f"{interface.fabric} {interface.role}{guid}"


def _addresses(listing: Listing, common: Mapping[str, Any]) -> Iterator[KeptRow]:
    """Addresses, the interfaces that have them, and where devices are reached."""
    borne: list[KeptRow] = []
    reached: dict[str, dict[str, Any]] = defaultdict(dict)
    for each in listing.addresses:
        name, text = listing.space(each["fabric"]), f"{each['address']}/{each['prefix_length']}"
        key = (name, text)
        yield KeptRow(
            "ip-addresses", key, {"address": text, "namespace": Ref("namespaces", (name,)), "type": "host", **common}
        )
        own = {"ip_address": Ref("ip-addresses", key), "interface": Ref("interfaces", (each["device"], each["port"]))}
        borne.append(KeptRow("ip-address-to-interface", (*key, each["device"], each["port"]), own))
        if listing.reached.get(each["device"]) == each["address"]:
            reached[each["device"]][f"primary_ip{6 if ':' in each['address'] else 4}"] = Ref("ip-addresses", key)
    yield from borne
    for device, fields in reached.items():
        yield KeptRow("reachable-at", (device,), fields)


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
_NO_VALUE = "NoObject"  # Nautobot's own word for a reference to nothing


def nautobot_files(rows: Iterable[KeptRow]) -> Mapping[str, Iterable[str]]:
    """The files of Nautobot's import, numbered in their order."""

    def cells(row: KeptRow) -> Cells:
        own: dict[str, str] = {}
        for name, value in row.fields.items():
            if isinstance(value, Ref) and name.startswith("termination_"):
                own[name] = _id(value)
            elif isinstance(value, Ref):
                parts = zip(_NATURAL.get(value.table, ("name",)), value.key, strict=True)
                own |= {f"{name}__{part}": text.partition("/")[0] if part == "host" else text for part, text in parts}
            elif name == "tags":
                own["tags__name"] = ",".join(each.key[-1] for each in value)
            else:
                own[name] = _cell(value)
        if row.table in _WITH_ID:
            own["id"] = _id(Ref(_WITH_ID[row.table], row.key))
        absent = {name: _NO_VALUE for name in _COLUMNS[row.table] if "__" in name}
        return absent | own

    return table_files(rows, TABLES, _COLUMNS, cells, {})


def _id(ref: Ref) -> str:
    """An id that is the same whenever the files are written."""
    return str(uuid5(NAMESPACE_URL, "\n".join(("clusterwright", ref.table, *ref.key))))


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)


NAUTOBOT = ServerKind(
    "nautobot",
    "Nautobot",
    TABLES,
    nautobot_rows,
    nautobot_files,
    {"depth": "0", "exclude_m2m": "false"},
    lambda _: "Token",
    tuple((endpoint, "device") for endpoint in BELONGINGS),
)
