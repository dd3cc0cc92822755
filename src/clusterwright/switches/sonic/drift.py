"""A running SONiC switch against its rendered config_db.json, both brought to one form.

The output of `show runningconfiguration all` or `sonic-cfggen -d --print-data` is taken as the file is: with the
image's own rows (init_cfg.json.j2 of sonic-net/sonic-buildimage), with fields at the defaults of its yang models, in
any order, with aliases for names of ports, and in the forms of older releases.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.device_files.drift import FileDifference
from clusterwright.device_files.json_drift import compare_json
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.sonic.reader.defaults import in_one_case, is_default
from clusterwright.switches.sonic.reader.document import all_tables_of
from clusterwright.switches.sonic.reader.features import OFF, ON, SYSTEM, runs_unasked
from clusterwright.switches.sonic.reader.normal_form import normal_form

Table = dict[str, Any]
# Tables of the image without influence on packets or on access to the switch.
_OF_THE_IMAGE = frozenset(
    (
        *("AUTO_TECHSUPPORT", "AUTO_TECHSUPPORT_FEATURE", "BANNER_MESSAGE", "CRM", "KDUMP", "LOGGER"),
        *("PASSW_HARDENING", "SYSLOG_CONFIG", "SYSLOG_CONFIG_FEATURE", "SYSTEM_DEFAULTS", "VERSIONS"),
    )
)
_COUNTERS = frozenset(("ACL", "PORT_PHY_ATTR", "PFCWD", "PG_DROP", "RIF", "PORT"))
_UNORDERED = frozenset({"ports", "services", "MATCHES", "BIND_POINTS", "ACTIONS", "ecmp_hash", "lag_hash", "search"})


def compare_sonic(planned: str, runs: str) -> Iterator[FileDifference]:
    """Tables, rows and fields by their paths. Raises ValueError for anything but an object of tables."""
    planned_document = all_tables_of(normal_form(planned))
    running_document = all_tables_of(normal_form(runs))
    planned_tables = _by_name(planned_document, {})
    running_tables = _by_name(running_document, _port_by_alias(planned_document))
    for table in sorted(planned_tables.keys() | running_tables.keys()):
        if table in _OF_THE_IMAGE and table not in planned_tables:
            running_tables.pop(table)
            continue
        planned_rows = planned_tables.get(table, {})
        running_rows = running_tables.setdefault(table, {})
        for row in list(running_rows):
            if row not in planned_rows and _is_of_the_image(planned_tables, table, row, running_rows[row]):
                running_rows.pop(row)
        for row in planned_rows.keys() & running_rows.keys():
            _leave_out_defaults(table, planned_rows[row], running_rows[row])
            _leave_out_defaults(table, running_rows[row], planned_rows[row])
        if not planned_rows and not running_rows:
            planned_tables.pop(table, None)
            running_tables.pop(table)
    yield from compare_json(json.dumps(planned_tables), json.dumps(running_tables))


def _port_by_alias(tables: Mapping[str, Any]) -> dict[str, str]:
    ports: dict[str, str] = {}
    for port, row in tables.get("PORT", {}).items():
        if isinstance(row, dict) and "alias" in row:
            ports[row["alias"]] = port
    return ports


def _by_name(tables: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Table]:
    """The tables with ports by their names, and unordered lists sorted."""
    named: dict[str, Table] = {}
    for table, rows in tables.items():
        named[table] = {}
        for key, row in rows.items():
            parts = [aliases.get(part, part) for part in key.split("|")]
            stated_fields = row if isinstance(row, dict) else {"": row}
            named[table]["|".join(parts)] = _fields_by_name(table, stated_fields, aliases)
    return named


def _fields_by_name(table: str, row: Mapping[str, Any], aliases: Mapping[str, str]) -> Table:
    fields: Table = {}
    for field, value in row.items():
        fields[aliases.get(field, field)] = in_one_case(table, field, _value(field, value, aliases))
    return fields


def _value(field: str, value: Any, aliases: Mapping[str, str]) -> Any:
    """A value as text, or a list of texts, with ports by their names."""
    if field == "alias":
        return value
    if field in _UNORDERED and isinstance(value, str):
        value = value.split(",")
    if isinstance(value, list):
        items = [aliases.get(str(item), str(item)) for item in value]
        return sorted(items) if field in _UNORDERED else items
    return aliases.get(str(value), str(value))


def _leave_out_defaults(table: str, row: Table, other: Table) -> None:
    """Remove default fields missing in the other row."""
    for field in list(row):
        if field not in other and is_default(table, field, row[field]):
            row.pop(field)


def _is_of_the_image(planned: Mapping[str, Table], table: str, row: str, fields: Table) -> bool:
    """Whether an unplanned row is the image's own, without a change."""
    if table == "FEATURE":
        return _has_default_state(planned, row, fields.get("state"))
    if table == "FLEX_COUNTER_TABLE":
        # The watchdog for PFC detects stuck queues by these counters (orchagent), so they must not be off.
        is_blind_watchdog = row == "PFCWD" and fields.get("FLEX_COUNTER_STATUS") == "disable"
        return row in _COUNTERS and not is_blind_watchdog
    return table == "BGP_DEVICE_GLOBAL" and all(is_default(table, field, value) for field, value in fields.items())


def _has_default_state(planned: Mapping[str, Table], name: str, state: str | None) -> bool:
    """Whether an unplanned program runs, or rests, as by default on this type of device."""
    if systems()[SYSTEM].service(name) is None:
        return state in OFF
    runs_by_default = runs_unasked(planned, name)
    if state is None or runs_by_default is None:
        return True
    return state in (ON if runs_by_default else OFF)
