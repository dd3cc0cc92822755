"""A cluster in NetBox's words (4.7): the objects of its REST interface, and the files that its import forms take.

Fields are those of ``netbox/{dcim,ipam,extras}/api/serializers*`` and of ``.../forms/bulk_import.py``.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import yaml

from clusterwright.report.records import Inventory
from clusterwright.source_of_truth.files import table_files
from clusterwright.source_of_truth.rows import BELONGINGS, KeptRow, KeptTable, Key, Ref, ServerKind, cable_key
from clusterwright.source_of_truth.words import CABLES, STATES, interface_type, slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.source_of_truth.listing import Listing
    from clusterwright.source_of_truth.rows import Cells, Lookup, Record

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
    KeptTable("tags", "extras/tags", shared=True),
    KeptTable("manufacturers", "dcim/manufacturers", shared=True),
    KeptTable(
        "device-types",
        "dcim/device-types",
        (("manufacturer", "manufacturers"), ("model", None)),
        ("model", None),
        shared=True,
    ),
    KeptTable("device-roles", "dcim/device-roles", shared=True),
    KeptTable("platforms", "dcim/platforms", shared=True),
    KeptTable("sites", "dcim/sites", shared=True),
    KeptTable("racks", "dcim/racks", (("site", "sites"), ("name", None)), _SITE),
    KeptTable("rirs", "ipam/rirs", shared=True),
    KeptTable("asns", "ipam/asns", (("asn", None),), ("asn", None)),
    KeptTable("vrfs", "ipam/vrfs"),
    KeptTable("devices", "dcim/devices", within=_SITE),
    KeptTable(
        "interfaces", "dcim/interfaces", (("device", "devices"), ("name", None)), _SITE, owner=("device", "devices")
    ),
    KeptTable("lag-members", "dcim/interfaces", amends="interfaces"),
    KeptTable(
        "mac-addresses",
        "dcim/mac-addresses",
        (("assigned_object_id", "interfaces"), ("mac_address", None)),
        ("tag", None),
    ),
    KeptTable("primary-macs", "dcim/interfaces", amends="interfaces"),
    KeptTable("cables", "dcim/cables", within=_SITE, locate=_cable),
    KeptTable("prefixes", "ipam/prefixes", (("vrf", "vrfs"), ("prefix", None)), _SPACE),
    KeptTable(
        "ip-addresses",
        "ipam/ip-addresses",
        (("vrf", "vrfs"), ("address", None), ("assigned_object_id", "interfaces")),
        _SPACE,
    ),
    KeptTable("reachable-at", "dcim/devices", amends="devices"),
)
_PRIVATE = ((64512, 65534), (4200000000, 4294967294))  # RFC 6996


def netbox_rows(listing: Listing) -> Iterator[KeptRow]:
    """Every object of a cluster, each after those that it refers to."""
    inventory, site, tag = listing.inventory, Ref("sites", (listing.site,)), Ref("tags", (listing.tag,))
    ours = {"tags": (tag,)}
    yield _named("tags", listing.tag, color="9e9e9e", weight=1000)
    yield from (_named("manufacturers", name) for name in listing.manufacturers)
    for name, model in listing.models.items():
        maker = Ref("manufacturers", (model.manufacturer,))
        height, weight = model.units, {"weight": model.weight_kg, "weight_unit": "kg"} if model.weight_kg else {}
        yield KeptRow("device-types", (model.manufacturer, name), {
            "manufacturer": maker, "model": name, "slug": slug(f"{model.manufacturer}-{name}"),
            "part_number": model.part, "u_height": height, "is_full_depth": True, **weight,
        })  # fmt: skip
    yield from (_named("device-roles", name, color="9e9e9e", vm_role=False) for name in listing.roles)
    yield from (_named("platforms", name) for name in listing.network_systems)
    yield _named("sites", listing.site, status="active")
    for rack in inventory.racks():
        yield KeptRow("racks", (listing.site, rack["name"]), {
            "site": site, "name": rack["name"], "status": "active", "width": 19,
            "u_height": rack["height_units"], **ours,
        })  # fmt: skip
    yield from _as_numbers(listing)
    for space in inventory.vrfs():
        name = listing.space(space["name"])
        yield KeptRow("vrfs", (name,), {"name": name, "enforce_unique": True, "description": space["name"], **ours})
    for device in inventory.devices():
        where: dict[str, Any] = {"rack": Ref("racks", (listing.site, device["rack"]))} if device["rack"] else {}
        if where and device["unit"]:
            where |= {"position": device["unit"], "face": "front"}
        system = device["network_os"]
        yield KeptRow("devices", (device["name"],), {
            "name": device["name"], "site": site, "status": STATES[device["state"]],
            "device_type": Ref("device-types", (device["manufacturer"], device["model"])),
            "role": Ref("device-roles", (device["role"],)), **where,
            **({"platform": Ref("platforms", (system,))} if system else {}),
            **{name: device[name] for name in ("serial", "asset_tag") if device[name]},
            **({"description": f"AS {device['asn']}"} if device["asn"] else {}), **ours,
        })  # fmt: skip
    catalogue, by_name = inventory.plan.spec.catalogue, inventory.plan.by_name
    for each in inventory.interfaces():
        model = catalogue[by_name[each.device].model]
        yield KeptRow("interfaces", (each.device, each.name), {
            "device": Ref("devices", (each.device,)), "name": each.name,
            "type": interface_type(each, model, by_lanes=True), "enabled": each.in_service,
            "mgmt_only": model.management is not None and each.name == model.management.name,
            **({"speed": each.speed_gbps * 1_000_000} if each.speed_gbps else {}),
            **({"wwn": _wwn(each.guid)} if each.guid and listing.is_scanned(each) else {}),
            **({"description": f"{each.fabric} {each.role}"} if each.fabric else {}), **ours,
        })  # fmt: skip
    for port, link in listing.bonded():
        yield KeptRow("lag-members", port, {"lag": Ref("interfaces", link)})
    yield from _mac_addresses(listing, ours)
    for cable in listing.cables():
        ends = ((cable.a.device, cable.a.port), (cable.b.device, cable.b.port))
        kind, number = CABLES.get(cable.medium), inventory.cable_number(cable)
        yield KeptRow("cables", cable_key(*ends), {
            "a_terminations": (_end(ends[0]),), "b_terminations": (_end(ends[1]),), "status": "connected",
            **({"type": kind} if kind else {}), "length": cable.length_m, "length_unit": "m",
            **({"label": number} if number else {}), **ours,
        })  # fmt: skip
    for prefix in listing.prefixes():
        name = listing.space(prefix.fabric)
        yield KeptRow("prefixes", (name, prefix.prefix), {
            "prefix": prefix.prefix, "vrf": Ref("vrfs", (name,)), "description": prefix.description,
            "status": "container" if prefix.is_container else "active", **ours,
        })  # fmt: skip
    yield from _addresses(listing, ours)


def _named(table: str, name: str, **fields: Any) -> KeptRow:
    return KeptRow(table, (name,), {"name": name, "slug": slug(name), **fields})


def _end(end: tuple[str, str]) -> dict[str, Any]:
    return {"object_type": _INTERFACE, "object_id": Ref("interfaces", end)}


def _mac_addresses(listing: Listing, ours: Mapping[str, Any]) -> Iterator[KeptRow]:
    """The addresses that labels have, and the interfaces whose own they are."""
    noted = [each for each in listing.inventory.interfaces() if each.mac]
    for each in noted:
        end = (each.device, each.name)
        yield KeptRow("mac-addresses", (*end, str(each.mac).upper()), {
            "mac_address": str(each.mac).upper(), "assigned_object_type": _INTERFACE,
            "assigned_object_id": Ref("interfaces", end), **ours,
        })  # fmt: skip
    for each in noted:
        end = (each.device, each.name)
        own = Ref("mac-addresses", (*end, str(each.mac).upper()))
        yield KeptRow("primary-macs", end, {"primary_mac_address": own})


def _wwn(guid: str) -> str:
    return bytes.fromhex(guid.removeprefix("0x")).hex(":").upper()


def _as_numbers(listing: Listing) -> Iterator[KeptRow]:
    """AS numbers, with the registry that has them: that of private ones is RFC 6996."""
    uses: dict[int, list[str]] = defaultdict(list)
    listed = {each["asn"] for each in listing.inventory.asns()}
    for each in Inventory(listing.inventory.plan).asns():
        if each["asn"] in listed:
            uses[each["asn"]].append(f"{each['fabric']} {each['role']}")
    registries = {number: _registry(number) for number in uses}
    for name in sorted(set(registries.values())):
        yield _named("rirs", name, is_private=name == "RFC 6996")
    for number, used in uses.items():
        yield KeptRow("asns", (str(number),), {
            "asn": number, "rir": Ref("rirs", (registries[number],)), "description": ", ".join(used),
            "tags": (Ref("tags", (listing.tag,)),),
        })  # fmt: skip


def _registry(number: int) -> str:
    return "RFC 6996" if any(low <= number <= high for low, high in _PRIVATE) else "Assigned"


def _addresses(listing: Listing, ours: Mapping[str, Any]) -> Iterator[KeptRow]:
    reached: dict[str, dict[str, Any]] = defaultdict(dict)
    for each in listing.addresses:
        name, text = listing.space(each["fabric"]), f"{each['address']}/{each['prefix_length']}"
        key = (name, text, each["device"], each["port"])
        yield KeptRow("ip-addresses", key, {
            "address": text, "vrf": Ref("vrfs", (name,)), "status": "active",
            **({"role": "loopback"} if each["side"] == "loopback" else {}),
            "assigned_object_type": _INTERFACE,
            "assigned_object_id": Ref("interfaces", (each["device"], each["port"])), **ours,
        })  # fmt: skip
        if listing.reached.get(each["device"]) == each["address"]:
            reached[each["device"]][f"primary_ip{6 if ':' in each['address'] else 4}"] = Ref("ip-addresses", key)
        if listing.out_of_band.get(each["device"]) == each["address"]:
            reached[each["device"]]["oob_ip"] = Ref("ip-addresses", key)
    for device, fields in reached.items():
        yield KeptRow("reachable-at", (device,), fields)


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


def netbox_files(rows: Iterable[KeptRow]) -> Mapping[str, Iterable[str]]:
    """The files of NetBox's import forms, numbered in their order; device types as in the community's library."""
    # A link stands before its ports, so that these can name it.
    found = sorted(rows, key=lambda row: row.table == "interfaces" and row.fields["type"] != "lag")
    links = {row.key: row.fields["lag"].key[-1] for row in found if row.table == "lag-members"}
    reached = {
        (ref.key, field[:7]) for row in found if row.table == "reachable-at" for field, ref in row.fields.items()
    }

    def cells(row: KeptRow) -> Cells:
        own = {name: _cell(value) for name, value in row.fields.items() if name in _COLUMNS[row.table]}
        if row.table == "devices":
            own["manufacturer"] = row.fields["device_type"].key[0]
        elif row.table == "cables":
            for side in "ab":
                device, port = row.fields[f"{side}_terminations"][0]["object_id"].key
                own |= {f"side_{side}_device": device, f"side_{side}_type": _INTERFACE, f"side_{side}_name": port}
        elif row.key in links and row.table == "interfaces":
            own["lag"] = links[row.key]
        elif row.table == "ip-addresses":
            own |= {"device": row.key[2], "interface": row.key[3]}
            own |= {
                "is_primary": _cell((row.key, "primary") in reached),
                "is_oob": _cell((row.key, "oob_ip") in reached),
            }
        elif row.table == "mac-addresses":
            own |= {"device": row.key[0], "interface": row.key[1], "is_primary": "true"}
        return own

    return table_files(found, TABLES, _COLUMNS, cells, {"device-types": ("yaml", _library)})


def _library(rows: Iterable[KeptRow]) -> Iterator[str]:
    """A document for each type, as those of netbox-community/devicetype-library.

    Without interfaces: a device's own, broken out as they are, are in the file of interfaces.
    """
    for row in rows:
        fields = {name: value.key[0] if isinstance(value, Ref) else value for name, value in row.fields.items()}
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
    "netbox",
    "NetBox",
    TABLES,
    netbox_rows,
    netbox_files,
    {"exclude": "config_context"},
    _token_kind,
    tuple((endpoint, "device_id") for endpoint in BELONGINGS),
)
