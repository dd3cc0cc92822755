"""NetBox 4.7 as a source of truth: the files of its import forms, and its REST interface."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import yaml

from clusterwright.extras.source_of_truth.files import csv_lines, table_files
from clusterwright.extras.source_of_truth.netbox_rows import ROWS, TABLES
from clusterwright.extras.source_of_truth.rows import Ref, RowPattern, ServerKind
from clusterwright.extras.source_of_truth.shared_tables import BELONGINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.extras.source_of_truth.listing import Listing
    from clusterwright.extras.source_of_truth.rows import PatternRow

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
    return table_files(listing, TABLES, ROWS, {**writers, "device-types": ("yaml", _device_type_documents)})


def _cells(pattern: RowPattern) -> Mapping[str, str]:
    """The cells of a row by column."""
    cells = {name: _cell(value) for name, value in pattern.row.fields.items()}
    return {**cells, **pattern.further}


def _device_type_documents(rows: Iterable[PatternRow]) -> Iterator[str]:
    """A YAML document for each device type, in the format of netbox-community/devicetype-library.

    Without interfaces: those of each device, broken out as planned, are in the file of interfaces.
    """
    for pattern, _ in rows:
        fields = dict(pattern.row.fields)
        for name, value in fields.items():
            if isinstance(value, Ref):
                fields[name] = value.key[0]
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
    """Tokens of the second version begin with nbt_ and are bearer tokens."""
    return "Bearer" if token.startswith("nbt_") else "Token"


NETBOX = ServerKind(
    name="netbox",
    title="NetBox",
    tables=TABLES,
    rows_by_table=ROWS,
    files=netbox_files,
    query={"exclude": "config_context"},
    token_kind=_token_kind,
    belongings=tuple((endpoint, "device_id") for endpoint in BELONGINGS),
)
