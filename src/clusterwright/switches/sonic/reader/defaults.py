"""SONiC's defaults: fields equal to being left out.

Defaults of the yang models (sonic-net/sonic-buildimage, src/sonic-yang-models/yang-models) and of init_cfg.json.j2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ANY = "*"
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


def _defaults() -> Mapping[tuple[str, str], str]:
    defaults = {}
    for line in _DEFAULT_FIELDS.strip().splitlines():
        table, *fields = line.split()
        for field in fields:
            name, _, value = field.partition("=")
            defaults[table, name] = value
    return defaults


_DEFAULTS = _defaults()
# hostcfgd takes any case of these (is_true of sonic-net/sonic-host-services), other programs compare letter by letter.
_ANY_CASE = frozenset({("AAA", "failthrough")})


def in_one_case(table: str, field: str, value: Any) -> Any:
    """The value for programs with comparisons without case."""
    return value.lower() if (table, field) in _ANY_CASE and isinstance(value, str) else value


def is_default(table: str, field: str, value: Any) -> bool:
    """Whether a field has its default value."""
    default = _DEFAULTS.get((table, field))
    return default is not None and default in (_ANY, in_one_case(table, field, value))
