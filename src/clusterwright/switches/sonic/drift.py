"""What a SONiC switch runs against its rendered config_db.json, both brought to one form.

What `show runningconfiguration all` or `sonic-cfggen -d --print-data` print is taken as the file is: with what the
image brings along (init_cfg.json.j2 of sonic-net/sonic-buildimage), with fields at the defaults of its yang models, in
any order, with aliases for names of ports, and in the forms of older releases.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from ipaddress import ip_interface
from typing import Any

from clusterwright.device_files.drift import Found
from clusterwright.device_files.json_drift import compare_json
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.sonic.reader.features import OFF, ON, SYSTEM, runs_unasked

Table = dict[str, Any]
# Fields that say the same as being left out: defaults of the yang models, and of init_cfg.json.j2; "*" for any value.
_DEFAULT_FIELDS = """
PORT admin_status=down autoneg=off dhcp_rate_limit=300 fast_linkup=false mode=routed mtu=9100 pfc_asym=off role=Ext
PORT subport=0 tpid=0x8100
SYSLOG_SERVER format=standard port=514 protocol=udp severity=notice
NTP admin_state=enabled authentication=disabled dhcp=enabled server_role=enabled
NTP_SERVER admin_state=enabled association_type=server iburst=on resolve_as=* trusted=no version=4
AAA failthrough=false
TACPLUS auth_type=pap key_encrypt=* timeout=5
TACPLUS_SERVER auth_type=pap priority=1 tcp_port=49 timeout=5
RADIUS auth_type=pap key_encrypt=* timeout=5
RADIUS_SERVER auth_port=1812 retransmit=3 timeout=5
STATIC_ROUTE advertise=false bfd=false blackhole=false distance=0
INTERFACE ipv6_use_link_local_only=disable nat_zone=0 mpls=disable
LOOPBACK_INTERFACE admin_status=up nat_zone=0
VLAN_INTERFACE ipv6_use_link_local_only=disable nat_zone=0 static_anycast_gateway=false
MGMT_PORT admin_status=up mtu=1500
LLDP enabled=true hello_time=30 multiplier=4 supp_mgmt_address_tlv=false supp_system_capabilities_tlv=false
SCHEDULER meter_type=bytes type=WRR weight=1
SSH_SERVER authentication_retries=6 inactivity_timeout=15 login_timeout=120 max_sessions=0 password_authentication=true
SSH_SERVER ports=22
BUFFER_POOL xoff=0
BGP_GLOBALS_AF max_ebgp_paths=1 max_ibgp_paths=1
DEVICE_METADATA default_bgp_status=up default_pfcwd_status=disable frr_mgmt_framework_config=false mac=*
DEVICE_METADATA suppress-fib-pending=disabled synchronous_mode=enable timezone=UTC yang_config_validation=disable
FEATURE auto_restart=enabled check_up_status=* delayed=* has_global_scope=* has_per_asic_scope=* has_per_dpu_scope=*
FEATURE has_timer=* high_mem_alert=disabled set_owner=* state=enabled support_syslog_rate_limit=*
FLEX_COUNTER_TABLE FLEX_COUNTER_DELAY_STATUS=* BULK_CHUNK_SIZE=* POLL_INTERVAL=*
BGP_DEVICE_GLOBAL tsa_enabled=false wcmp_enabled=false idf_isolation_state=unisolated
"""
_DEFAULTS: Mapping[tuple[str, str], str] = {
    (table, field): value
    for table, *fields in map(str.split, _DEFAULT_FIELDS.strip().splitlines())
    for field, _, value in (each.partition("=") for each in fields)
}
# Tables that the image brings along, and that no packet and nobody who may speak to the switch hangs on.
_OF_THE_IMAGE = frozenset(
    (
        *("AUTO_TECHSUPPORT", "AUTO_TECHSUPPORT_FEATURE", "BANNER_MESSAGE", "CRM", "KDUMP", "LOGGER"),
        *("PASSW_HARDENING", "SYSLOG_CONFIG", "SYSLOG_CONFIG_FEATURE", "SYSTEM_DEFAULTS", "VERSIONS"),
    )
)
_COUNTERS = frozenset(("ACL", "PORT_PHY_ATTR", "PFCWD", "PG_DROP", "RIF", "PORT"))
# Tables whose rows may name several queues or groups of several ports.
_RANGES = frozenset({"BUFFER_PG", "BUFFER_QUEUE", "QUEUE"})
_UNORDERED = frozenset({"ports", "services", "MATCHES", "BIND_POINTS", "ACTIONS", "ecmp_hash", "lag_hash", "search"})
_EMPTY = "NULL"
_BOOLEANS = {"True": "true", "False": "false"}


def compare_sonic(planned: str, runs: str) -> Iterator[Found]:
    """Tables, rows and fields by their paths. Raises ValueError for what is no object of tables."""
    wanted, there = _tables(planned), _tables(runs)
    aliases = {row["alias"]: port for port, row in wanted.get("PORT", {}).items() if "alias" in row}
    wanted, there = _normal(wanted, {}), _normal(there, aliases)
    for table in sorted(wanted.keys() | there.keys()):
        if table in _OF_THE_IMAGE and table not in wanted:
            there.pop(table)
            continue
        own, other = wanted.get(table, {}), there.setdefault(table, {})
        for row in [*other]:
            if row not in own and _is_of_the_image(wanted, table, row, other[row]):
                other.pop(row)
        for row in own.keys() & other.keys():
            _leave_out_defaults(table, own[row], other[row])
            _leave_out_defaults(table, other[row], own[row])
        if not own and not other:
            wanted.pop(table, None)
            there.pop(table)
    yield from compare_json(json.dumps(wanted), json.dumps(there))


def _tables(text: str) -> dict[str, Table]:
    document = json.loads(text)
    if not isinstance(document, dict) or not all(isinstance(table, dict) for table in document.values()):
        raise ValueError("it is no object of tables")
    return document


def _normal(tables: Mapping[str, Table], aliases: Mapping[str, str]) -> dict[str, Table]:
    found: dict[str, Table] = {}
    for table, rows in tables.items():
        made = found.setdefault(table, {})
        for key, row in rows.items():
            fields = {
                aliases.get(field, field): _value(field, value, {} if field == "alias" else aliases)
                for field, value in (row.items() if isinstance(row, dict) else ())
                if field != _EMPTY
            }
            for name in _keys(table, key, aliases):
                made[name] = dict(fields)
    return found


def _keys(table: str, key: str, aliases: Mapping[str, str]) -> Iterator[str]:
    """The rows that a key stands for: ports by their names, addresses as Python writes them, ranges one by one."""
    parts = [aliases.get(part, _address(part)) for part in key.split("|")]
    if table not in _RANGES or len(parts) != 2:
        yield "|".join(parts)
        return
    first, _, last = parts[1].partition("-")
    if not first.isdecimal() or not (last or first).isdecimal():
        yield "|".join(parts)
        return
    for port in parts[0].split(","):
        for number in range(int(first), int(last or first) + 1):
            yield f"{aliases.get(port, port)}|{number}"


def _address(text: str) -> str:
    if ":" not in text:
        return text
    try:
        address = ip_interface(text)
    except ValueError:
        return text
    return str(address) if "/" in text else str(address.ip)


def _value(field: str, value: Any, aliases: Mapping[str, str]) -> Any:
    if field in _UNORDERED and isinstance(value, str):
        value = value.split(",")
    if isinstance(value, list):
        items = [_value("", each, aliases) for each in value]
        return sorted(items) if field in _UNORDERED else items
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    if text.startswith("[") and text.endswith("]") and "|" in text:  # [BUFFER_POOL|NAME] of releases before 202111
        text = text[1:-1].partition("|")[2]
    return _BOOLEANS.get(text, aliases.get(text, text))


def _leave_out_defaults(table: str, row: Table, other: Table) -> None:
    """Takes fields away that the other row leaves out and that say the same as that."""
    for field in [*row]:
        default = _DEFAULTS.get((table, field))
        if field not in other and default in ("*", row[field]):
            row.pop(field)


def _is_of_the_image(planned: Mapping[str, Table], table: str, row: str, fields: Table) -> bool:
    if table == "FEATURE":
        return _is_as_the_image_has_it(planned, row, fields.get("state"))
    if table == "FLEX_COUNTER_TABLE":
        # that of the PFC watchdog is its eyes: orchagent's group of counters finds stuck queues
        return row in _COUNTERS and (row != "PFCWD" or fields.get("FLEX_COUNTER_STATUS") != "disable")
    return table == "BGP_DEVICE_GLOBAL" and all(
        _DEFAULTS.get((table, field)) == value for field, value in fields.items()
    )


def _is_as_the_image_has_it(planned: Mapping[str, Table], name: str, state: str | None) -> bool:
    """Whether a program that no row was planned for runs, or rests, as it does by itself on this type of device."""
    if systems()[SYSTEM].service(name) is None:
        return state in OFF
    unasked = runs_unasked(planned, name)
    return state is None or unasked is None or state in (ON if unasked else OFF)
