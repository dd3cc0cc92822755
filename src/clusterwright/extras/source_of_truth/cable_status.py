"""Observed cables as the status of the server's cables: connected for those plugged as planned.

Both servers have the written statuses from the start: NetBox ``LinkStatusChoices`` (netbox/dcim/choices.py), Nautobot
``CableStatusChoices`` (nautobot/dcim/choices.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.extras.source_of_truth.difference import RowChange, ServerDifference, ServerObjects, difference
from clusterwright.extras.source_of_truth.rows import KeptRow, Key, Ref, cable_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterwright.extras.source_of_truth.client import Client
    from clusterwright.extras.source_of_truth.listing import Listing
    from clusterwright.extras.source_of_truth.rows import ServerKind

CABLES = "cables"
_STATUS = "status"
_STATUS_BY_STATE = {"seen": "connected", "missing": "planned", "wrong": "planned"}
"""A cable without an observation keeps its status."""
_UNRELATED = frozenset(
    {
        *("rirs", "asns", "vrfs", "namespaces", "prefixes", "ip-addresses", "ip-address-to-interface"),
        *("reachable-at", "lag-members", "mac-addresses", "primary-macs"),
    }
)
"""Tables without references from cables: neither read nor written."""


@dataclass(frozen=True, slots=True)
class CableStatuses:
    """The differences of cables' statuses; ``absent`` are cables missing on the server."""

    server: ServerObjects
    changes: ServerDifference
    absent: tuple[Key, ...]
    unknown: int
    """Cables without an observation."""


def cable_statuses(
    system: ServerKind, client: Client, listing: Listing, states: Mapping[tuple[str, str], str]
) -> CableStatuses:
    """Compare the statuses on the server with ``states``, by the lower end of the planned cable.

    Raises ClusterwrightError for a server without an answer.
    """
    tables = []
    for table in system.tables:
        if table.name == CABLES:
            tables.append(replace(table, set_once=()))
        elif table.name not in _UNRELATED:
            tables.append(table)
    reduced = replace(system, tables=tuple(tables))
    status_by_cable = _status_by_cable(listing, states)
    server = ServerObjects(reduced, client, _rows(reduced, listing, status_by_cable), listing.tag)
    all_changes = difference(server, whole=False)
    changes = ServerDifference()
    changes.change[CABLES] = list(_of_status(all_changes.change[CABLES]))
    changes.others[CABLES] = list(_of_status(all_changes.others[CABLES]))
    absent = tuple(change.row.key for change in all_changes.make[CABLES])
    return CableStatuses(server=server, changes=changes, absent=absent, unknown=len(states) - len(status_by_cable))


def _status_by_cable(listing: Listing, states: Mapping[tuple[str, str], str]) -> dict[Key, str]:
    """The status of each observed cable."""
    statuses: dict[Key, str] = {}
    for cable in listing.inventory.cable_list:
        status = _STATUS_BY_STATE.get(states.get((cable.a.device, cable.a.port), ""))
        if status is not None:
            statuses[cable_key((cable.a.device, cable.a.port), (cable.b.device, cable.b.port))] = status
    return statuses


def _rows(system: ServerKind, listing: Listing, status_by_cable: Mapping[Key, str]) -> Iterator[KeptRow]:
    """The rows of the cluster; of cables, those with an observation, with its status."""
    for row in system.rows(listing):
        if row.table != CABLES:
            yield row
        elif row.key in status_by_cable:
            planned = row.fields[_STATUS]
            status = status_by_cable[row.key]
            value = planned._replace(key=(status.capitalize(),)) if isinstance(planned, Ref) else status
            yield row._replace(fields={**row.fields, _STATUS: value})


def _of_status(changes: list[RowChange]) -> Iterator[RowChange]:
    for change in changes:
        fields = tuple(field for field in change.fields if field.name == _STATUS)
        if fields:
            yield replace(change, fields=fields)
