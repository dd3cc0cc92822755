"""Nautobot 3.2 as a source of truth: the files of its import, and its REST interface.

Its CSV names objects as ``device__name``, and ends of cables by id.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha1
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL

from clusterwright.extras.source_of_truth.files import csv_lines, table_files
from clusterwright.extras.source_of_truth.nautobot_rows import ROWS, TABLES
from clusterwright.extras.source_of_truth.rows import PLACEHOLDERS, Ref, RowPattern, ServerKind
from clusterwright.extras.source_of_truth.shared_tables import BELONGINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from clusterwright.extras.source_of_truth.listing import Listing
    from clusterwright.extras.source_of_truth.rows import Values

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
_REFERENCE_FIELDS = {
    "device-types": ("manufacturer__name", "model"),
    "racks": ("location__name", "name"),
    "interfaces": ("device__name", "name"),
    "ip-addresses": ("parent__namespace__name", "host"),
}
"""The fields of a reference to an object of a table, in the order of its key; ``name`` for all other tables."""
_TABLE_OF_ID = {
    "devices": "devices",
    "interfaces": "interfaces",
    "lag-members": "interfaces",
    "reachable-at": "devices",
}
"""The table of the object in the column ``id``."""
_ID_PLACEHOLDERS = {placeholder: chr(ord(placeholder) + len(PLACEHOLDERS)) for placeholder in PLACEHOLDERS}
"""Stand for the id of an object in a pattern, by the first placeholder of its key."""
_DEVICE_ID = {_ID_PLACEHOLDERS[PLACEHOLDERS[0]]: lambda values: _uuid_of(f"devices\n{values[0]}")}
_INTERFACE_ID = {_ID_PLACEHOLDERS[PLACEHOLDERS[0]]: lambda values: _uuid_of(f"interfaces\n{values[0]}\n{values[1]}")}
_OTHER_END_ID = {_ID_PLACEHOLDERS[PLACEHOLDERS[2]]: lambda values: _uuid_of(f"interfaces\n{values[2]}\n{values[3]}")}
_COMPUTED_IDS: Mapping[str, Mapping[str, Callable[[Values], str]]] = {
    "devices": _DEVICE_ID,
    "interfaces": _INTERFACE_ID,
    "cables": _INTERFACE_ID | _OTHER_END_ID,
}
"""By table, the placeholder of each id with the function from a row's values to the id."""
_UUID_SPACE = NAMESPACE_URL.bytes + b"clusterwright\n"
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))  # the two highest bits are 10
_NO_VALUE = "NoObject"  # an empty reference in Nautobot's CSV


def nautobot_files(listing: Listing) -> Mapping[str, Iterator[str]]:
    """The files of Nautobot's import, numbered in their order."""
    writers = {}
    for name, columns in _COLUMNS.items():
        computed = _COMPUTED_IDS.get(_TABLE_OF_ID.get(name, name), {})
        writers[name] = ("csv", partial(csv_lines, columns, _cells, computed=computed))
    return table_files(listing, TABLES, ROWS, writers)


def _cells(pattern: RowPattern) -> Mapping[str, str]:
    """The cells of a row by column."""
    row = pattern.row
    cells = {column: _NO_VALUE for column in _COLUMNS[row.table] if "__" in column}
    for name, value in row.fields.items():
        if isinstance(value, Ref) and name.startswith("termination_"):
            cells[name] = _id(value)
        elif isinstance(value, Ref):
            cells |= _reference_cells(name, value)
        elif name == "tags":
            cells["tags__name"] = ",".join(tag.key[-1] for tag in value)
        else:
            cells[name] = _cell(value)
    if row.table in _TABLE_OF_ID:
        cells["id"] = _id(Ref(_TABLE_OF_ID[row.table], row.key))
    return cells


def _reference_cells(name: str, reference: Ref) -> dict[str, str]:
    cells: dict[str, str] = {}
    fields = _REFERENCE_FIELDS.get(reference.table, ("name",))
    for field, key_part in zip(fields, reference.key, strict=True):
        cells[f"{name}__{field}"] = key_part.partition("/")[0] if field == "host" else key_part
    return cells


def _id(reference: Ref) -> str:
    """The same id in every export; for a pattern, the placeholder of the id."""
    first_part = reference.key[0]
    if first_part in _ID_PLACEHOLDERS:
        return _ID_PLACEHOLDERS[first_part]
    return _uuid_of("\n".join((reference.table, *reference.key)))


def _uuid_of(identity: str) -> str:
    """The UUID of version 5 (RFC 9562) of a table and a key, several times as fast as ``uuid.uuid5``."""
    digest = sha1(_UUID_SPACE + identity.encode()).hexdigest()  # noqa: S324  # version 5 is defined with SHA-1
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{_VARIANT[digest[16]]}{digest[17:20]}-{digest[20:32]}"


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)


NAUTOBOT = ServerKind(
    name="nautobot",
    title="Nautobot",
    tables=TABLES,
    rows_by_table=ROWS,
    files=nautobot_files,
    query={"depth": "0", "exclude_m2m": "false"},
    token_kind=lambda _: "Token",
    belongings=tuple((endpoint, "device") for endpoint in BELONGINGS),
    tagged=("tags", {"exclude_m2m": "true"}),
)
