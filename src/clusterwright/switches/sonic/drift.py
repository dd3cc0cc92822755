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
# Tables that the image brings along, and that no packet and nobody who may speak to the switch hangs on.
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
    wanted, there = all_tables_of(normal_form(planned)), all_tables_of(normal_form(runs))
    aliases = {
        row["alias"]: port for port, row in wanted.get("PORT", {}).items() if isinstance(row, dict) and "alias" in row
    }
    planned_tables, running_tables = _by_name(wanted, {}), _by_name(there, aliases)
    for table in sorted(planned_tables.keys() | running_tables.keys()):
        if table in _OF_THE_IMAGE and table not in planned_tables:
            running_tables.pop(table)
            continue
        planned_rows, other = planned_tables.get(table, {}), running_tables.setdefault(table, {})
        for row in [*other]:
            if row not in planned_rows and _is_of_the_image(planned_tables, table, row, other[row]):
                other.pop(row)
        for row in planned_rows.keys() & other.keys():
            _leave_out_defaults(table, planned_rows[row], other[row])
            _leave_out_defaults(table, other[row], planned_rows[row])
        if not planned_rows and not other:
            planned_tables.pop(table, None)
            running_tables.pop(table)
    yield from compare_json(json.dumps(planned_tables), json.dumps(running_tables))


def _by_name(tables: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Table]:
    """The tables with ports by their names, and unordered lists sorted."""
    named: dict[str, Table] = {}
    for table, rows in tables.items():
        named[table] = {}
        for key, row in rows.items():
            stated = row if isinstance(row, dict) else {"": row}
            fields = {
                aliases.get(field, field): in_one_case(table, field, _value(field, value, aliases))
                for field, value in stated.items()
            }
            named[table]["|".join(aliases.get(part, part) for part in key.split("|"))] = fields
    return named


def _value(field: str, value: Any, aliases: Mapping[str, str]) -> Any:
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
    for field in [*row]:
        if field not in other and is_default(table, field, row[field]):
            row.pop(field)


def _is_of_the_image(planned: Mapping[str, Table], table: str, row: str, fields: Table) -> bool:
    if table == "FEATURE":
        return _is_as_the_image_has_it(planned, row, fields.get("state"))
    if table == "FLEX_COUNTER_TABLE":
        # that of the PFC watchdog is its eyes: orchagent's group of counters finds stuck queues
        return row in _COUNTERS and (row != "PFCWD" or fields.get("FLEX_COUNTER_STATUS") != "disable")
    return table == "BGP_DEVICE_GLOBAL" and all(is_default(table, field, value) for field, value in fields.items())


def _is_as_the_image_has_it(planned: Mapping[str, Table], name: str, state: str | None) -> bool:
    """Whether an unplanned program runs, or rests, as by default on this type of device."""
    if systems()[SYSTEM].service(name) is None:
        return state in OFF
    unasked = runs_unasked(planned, name)
    return state is None or unasked is None or state in (ON if unasked else OFF)
