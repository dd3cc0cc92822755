"""Effects of changes in config_db.json, and the way to apply each.

As a patch of the running configuration if SONiC's generic config updater takes it and its daemons act on it, else by
reading the whole file anew (``config reload``).

The places are data, inventory/effects/sonic.yaml. From sonic-net/sonic-utilities, generic_config_updater:
gcu_services_validator.conf.json (restarted services), gcu_field_operation_validators.conf.json (refusals),
patch_sorter.py (fields without changes after creation); from sonic-net/sonic-buildimage and sonic-swss, the daemon
behind each table. Steps of the role device_tree agree with it (tests/switches/test_sonic_effects.py holds both
together).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clusterwright.device_files.effect import BETWEEN, Consequence, Effect, effect_table
from clusterwright.hosts.linux import effects as linux
from clusterwright.switches.sonic.reader.configuration import PATH

Tables = Mapping[str, Mapping[str, Any]]
RELOAD = "config reload"
"""The step that reads the whole file anew."""


class PlaceChange(NamedTuple):
    """One different place: its effect, whether the whole file is read anew for it, and the reason."""

    place: str
    effect: Effect
    reloads: bool
    why: str


KNOWN_SKUS = (
    r"(?i).*(arista-7060x6-64[dp]e|nokia-ixr7220-h[345]).*"
    r"|acs-(msn4700|msn4600c?|sn5400|sn5600|sn5640)|mellanox-sn(4[67]|5[46]).*"
)
"""Hardware whose updater takes more; places that need it are marked in the table."""


def changes(before: Tables, after: Tables) -> Iterator[PlaceChange]:
    """Every different place, in the order of tables, rows and fields."""
    for table in sorted(before.keys() | after.keys()):
        old, new = before.get(table, {}), after.get(table, {})
        for row in sorted(old.keys() | new.keys()):
            was, will = old.get(row), new.get(row)
            if was is None or will is None:
                is_on_idle_port = _is_address_of_idle_port(table, row, before, after)
                yield _change(BETWEEN.join((table, row)), after, is_on_idle_port=is_on_idle_port)
            elif was != will:
                for field in _changed_fields(was, will):
                    yield _change(BETWEEN.join((table, row, field)), after, is_on_idle_port=False)


def _changed_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return sorted(field for field in before.keys() | after.keys() if before.get(field) != after.get(field))


def effect(path: str, was: bytes | None, will: bytes | None) -> tuple[Consequence, ...]:
    """By the different places. Raises ValueError for text other than JSON."""
    if path != PATH:
        return linux.on_switch(path, was, will)
    if was is None or will is None:
        return (Consequence(Effect.RESTART, "the whole file is read anew"),)
    consequences = (Consequence(change.effect, change.why) for change in changes(json.loads(was), json.loads(will)))
    return tuple(dict.fromkeys(consequences))


def _change(place: str, after: Tables, *, is_on_idle_port: bool) -> PlaceChange:
    if is_on_idle_port:
        return PlaceChange(place=place, effect=Effect.LIVE, reloads=False, why="its port is down before or after")
    sku = after.get("DEVICE_METADATA", {}).get("localhost", {}).get("hwsku", "")
    table = effect_table("sonic")
    entry = table.entry_of(PATH, place, known_sku=re.fullmatch(KNOWN_SKUS, sku) is not None)
    if entry is None:
        return PlaceChange(place=place, effect=Effect.RESTART, reloads=True, why=table.otherwise)
    return PlaceChange(place=place, effect=entry.effect, reloads=entry.steps == RELOAD, why=entry.does)


def _is_address_of_idle_port(table: str, row: str, before: Tables, after: Tables) -> bool:
    """Whether a row is an address of a port that is down before or after the change."""
    if table != "INTERFACE":
        return False
    port = row.partition("|")[0]
    return _is_down(before, port) or _is_down(after, port)


def _is_down(tables: Tables, port: str) -> bool:
    state: str = tables.get("PORT", {}).get(port, {}).get("admin_status", "down")
    return state == "down"
