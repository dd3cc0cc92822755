"""Forms of keys and values in config_db.json for readers' numbers and addresses.

Forms are those of the yang models (sonic-net/sonic-buildimage, src/sonic-yang-models/yang-models). A value of another
form is unread at its line, and left out for readers. ACL_RULE is not among them: its reader refuses a whole list with
an unreadable rule, since a rule without one of its fields would match more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.facts.router import is_address

_NUMBER = re.compile(r"[0-9]{1,10}")
_NUMBERS = """
BGP_GLOBALS gr_restart_time holdtime keepalive local_asn
BGP_GLOBALS_AF max_ebgp_paths
BGP_NEIGHBOR asn holdtime keepalive local_asn
BGP_NEIGHBOR_AF max_prefix_limit max_prefix_warning_threshold
BGP_PEER_GROUP asn holdtime keepalive local_asn
BGP_PEER_GROUP_AF max_prefix_limit max_prefix_warning_threshold
BUFFER_POOL size xoff
BUFFER_PROFILE size static_th xoff xon xon_offset
DSCP_TO_TC_MAP *
GNMI port
MAP_PFC_PRIORITY_TO_QUEUE *
PFC_PRIORITY_TO_PRIORITY_GROUP_MAP *
PFC_WD POLL_INTERVAL detection_time restoration_time
PORT mtu speed
PORTCHANNEL mtu
SCHEDULER weight
TC_TO_PRIORITY_GROUP_MAP *
TC_TO_QUEUE_MAP *
WRED_PROFILE green_drop_probability green_max_threshold green_min_threshold
"""
_OTHERS: Mapping[tuple[str, str], re.Pattern[str]] = {
    ("CABLE_LENGTH", "*"): re.compile(r"[0-9]{1,4}m"),
    ("PORT_QOS_MAP", "pfc_enable"): re.compile(r"(?:[0-7](?:,[0-7])*)?"),
    ("PORT_QOS_MAP", "pfcwd_sw_enable"): re.compile(r"(?:[0-7](?:,[0-7])*)?"),
}
_ADDRESSES = frozenset({("BGP_NEIGHBOR", "local_addr"), ("BGP_PEER_GROUP", "local_addr")})
_LISTS = frozenset({"community_member", "route_map_in", "route_map_out", "set_community_inline"})
_ANY = "*"
_PREFIX = r"(?P<address>[0-9A-Fa-f.:]+)/[0-9]{1,3}"
_NAME = r"[^|]+"
# Keys of rows, and the place of an address in them.
_KEYS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("INTERFACE", "LOOPBACK_INTERFACE", "VLAN_INTERFACE"), re.compile(rf"{_NAME}(?:\|{_PREFIX})?")),
    "BGP_GLOBALS_AF_NETWORK": re.compile(rf"{_NAME}\|{_NAME}\|{_PREFIX}"),
    "STATIC_ROUTE": re.compile(rf"(?:{_NAME}\|)?{_PREFIX}"),
    "PREFIX": re.compile(rf"{_NAME}\|[0-9]+\|{_PREFIX}\|(?:exact|[0-9]+\.\.[0-9]+)"),
    "ROUTE_MAP": re.compile(rf"{_NAME}\|[0-9]+"),
    **dict.fromkeys(("BUFFER_PG", "BUFFER_QUEUE", "QUEUE"), re.compile(rf"{_NAME}\|[0-9]+")),
}
_LONGEST = {4: 32, 6: 128}


def _forms() -> Mapping[tuple[str, str], re.Pattern[str]]:
    forms = dict(_OTHERS)
    for line in _NUMBERS.strip().splitlines():
        table, *fields = line.split()
        forms.update(dict.fromkeys(((table, field) for field in fields), _NUMBER))
    return forms


_FORMS = _forms()


def unfit(tables: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """The keys of tables, rows and fields in other forms than their table's."""
    for table, rows in tables.items():
        if not isinstance(rows, dict):
            yield (table,)
            continue
        for key, row in rows.items():
            if not isinstance(row, dict) or not _fits_key(table, key):
                yield table, key
                continue
            for field, value in row.items():
                if not _fits(table, field, value):
                    yield table, key, field


def without(tables: Mapping[str, Any], places: list[tuple[str, ...]]) -> Mapping[str, Any]:
    """The tables without those, and without rows and fields, at these places."""
    remaining = dict(tables)
    for table, *keys in places:
        if not keys:
            del remaining[table]
            continue
        key, *fields = keys
        if remaining[table] is tables[table]:
            remaining[table] = dict(tables[table])
        if not fields:
            del remaining[table][key]
        else:
            remaining[table][key] = {name: value for name, value in remaining[table][key].items() if name not in fields}
    return remaining


def _fits_key(table: str, key: str) -> bool:
    form = _KEYS.get(table)
    if form is None:
        return True
    match = form.fullmatch(key)
    if match is None:
        return False
    address = match.groupdict().get("address")
    return address is None or _is_prefix(address, key.partition("/")[2].partition("|")[0])


def _is_prefix(address: str, length: str) -> bool:
    return is_address(address) and int(length) <= _LONGEST[6 if ":" in address else 4]


def _fits(table: str, field: str, value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    if isinstance(value, dict) or value is None or field in _LISTS:
        return False
    form = _FORMS.get((table, field))
    if form is None and (table, _ANY) in _FORMS:
        form = _FORMS[table, _ANY]
        if table != "CABLE_LENGTH" and _NUMBER.fullmatch(field) is None:
            return False
    if (table, field) in _ADDRESSES:
        return is_address(str(value))
    return form is None or form.fullmatch(str(value)) is not None
