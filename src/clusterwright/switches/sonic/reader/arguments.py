"""Forms of keys and values in config_db.json for readers' numbers and addresses.

Forms are those of the yang models (sonic-net/sonic-buildimage, src/sonic-yang-models/yang-models). A value of another
form is unread at its line, and left out for readers. ACL_RULE is not among them: its reader refuses a whole list with
an unreadable rule, since a rule without one of its fields would match more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clusterwright.facts.router import is_address

# Without leading zeros: two keys would be one number to SONiC's programs, which take either of them.
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
_ACTION = re.compile(r"permit|deny")
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
    # FRR refuses any other word, and has no rule then
    ("PREFIX", "action"): _ACTION,
    ("ROUTE_MAP", "route_operation"): _ACTION,
}
# A rule without its field permits (bgpd.conf.db.pref_list.j2), or is none (bgpd.conf.db.route_map.j2).
_REQUIRED = {"PREFIX": "action", "ROUTE_MAP": "route_operation"}
_ADDRESSES = frozenset({("BGP_NEIGHBOR", "local_addr"), ("BGP_PEER_GROUP", "local_addr")})
_LISTS = frozenset({"community_member", "route_map_in", "route_map_out", "set_community_inline"})
# Each of several policies replaces the one before it (bgpd.conf.db.nbr_af.j2).
_SINGLE = frozenset({"route_map_in", "route_map_out"})
_ANY = "*"
_PREFIX = r"(?P<address>[0-9A-Fa-f.:]+)/[0-9]{1,3}"
_NAME = r"[^|]+"
_PORT = r"[^|,]+"
_SEQUENCE = r"(?P<number>[1-9][0-9]{0,9})"
_MOST_SEQUENCES = {"PREFIX": 4_294_967_295, "ROUTE_MAP": 65_535}  # of FRR's prefix lists and route maps
# Keys of rows, and the place of an address in them.
_KEYS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("INTERFACE", "LOOPBACK_INTERFACE", "VLAN_INTERFACE"), re.compile(rf"{_NAME}(?:\|{_PREFIX})?")),
    "BGP_GLOBALS_AF_NETWORK": re.compile(rf"{_NAME}\|ipv(?P<version>[46])_unicast\|{_PREFIX}"),
    "STATIC_ROUTE": re.compile(rf"(?:{_NAME}\|)?{_PREFIX}"),
    "PREFIX": re.compile(rf"{_NAME}\|{_SEQUENCE}\|{_PREFIX}\|(?:exact|[0-9]+\.\.[0-9]+)"),
    "ROUTE_MAP": re.compile(rf"{_NAME}\|{_SEQUENCE}"),
    "PORT_QOS_MAP": re.compile(_PORT),
    **dict.fromkeys(("BUFFER_PG", "BUFFER_QUEUE", "QUEUE"), re.compile(rf"{_PORT}\|[0-9]+")),
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
        ambiguous = _sharing_a_number(rows) if table == "PREFIX" else frozenset()
        for key, row in rows.items():
            is_readable = isinstance(row, dict) and _fits_key(table, key) and key not in ambiguous
            if not is_readable or (table in _REQUIRED and _REQUIRED[table] not in row):
                yield table, key
                continue
            for field, value in row.items():
                if not _fits(table, field, value):
                    yield table, key, field


def _sharing_a_number(rows: Iterable[str]) -> frozenset[str]:
    """Rules of a prefix set with the number of another one: FRR keeps the one that it is given last."""
    keys_by_number: dict[tuple[str, ...], list[str]] = {}
    for key in rows:
        set_and_number = tuple(key.split("|")[:2])
        keys_by_number.setdefault(set_and_number, []).append(key)
    ambiguous: set[str] = set()
    for keys in keys_by_number.values():
        if len(keys) > 1:
            ambiguous.update(keys)
    return frozenset(ambiguous)


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
    parts = match.groupdict()
    if int(parts.get("number") or 0) > _MOST_SEQUENCES.get(table, 0):
        return False
    address = parts.get("address")
    if address is None:
        return True
    version = "6" if ":" in address else "4"
    if parts.get("version") not in {None, version}:
        return False
    return _is_prefix(address, key.partition("/")[2].partition("|")[0])


def _is_prefix(address: str, length: str) -> bool:
    return is_address(address) and int(length) <= _LONGEST[6 if ":" in address else 4]


def _fits(table: str, field: str, value: Any) -> bool:
    if isinstance(value, list):
        is_too_long = field in _SINGLE and len(value) > 1
        return not is_too_long and all(isinstance(item, str) for item in value)
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
