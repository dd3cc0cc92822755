"""The known tables and fields of SONiC's config_db.json: read by a fact, or without influence on any claim.

A field with a value is known with that value alone, ``*`` stands for fields of any name. A field missing here is
unread, and nothing is proven of the file. Names are those of sonic-buildimage's yang models, defaults those of its
init_cfg.json.j2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.facts.router import is_address
from clusterwright.facts.unread import BETWEEN, Unread
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.sonic.reader.access_rules import unfit_rules
from clusterwright.switches.sonic.reader.configuration import PATH
from clusterwright.switches.sonic.reader.defaults import is_default
from clusterwright.switches.sonic.reader.document import doubled_keys, place_of, tables_of, unfit_places
from clusterwright.switches.sonic.reader.features import OFF, ON, SYSTEM, runs

_FIELDS = """
AAA failthrough login
ACL_RULE DST_IP DST_IPV6 ETHER_TYPE ICMPV6_TYPE ICMP_TYPE IP_PROTOCOL L4_DST_PORT L4_DST_PORT_RANGE L4_SRC_PORT
ACL_RULE L4_SRC_PORT_RANGE PACKET_ACTION PRIORITY SRC_IP SRC_IPV6 TCP_FLAGS
ACL_TABLE policy_desc ports services stage type
ACL_TABLE_TYPE ACTIONS BIND_POINTS MATCHES
AUTO_TECHSUPPORT *
AUTO_TECHSUPPORT_FEATURE *
BANNER_MESSAGE *
BGP_DEVICE_GLOBAL tsa_enabled=false wcmp_enabled=false idf_isolation_state=unisolated
BGP_GLOBALS default_ipv4_unicast=false gr_restart_time graceful_restart_enable holdtime keepalive
BGP_GLOBALS load_balance_mp_relax local_asn log_nbr_state_changes network_import_check=false router_id
BGP_GLOBALS_AF max_ebgp_paths
BGP_GLOBALS_AF_NETWORK
BGP_NEIGHBOR admin_status asn bfd holdtime keepalive local_addr local_asn name peer_group_name
BGP_NEIGHBOR_AF admin_status max_prefix_limit max_prefix_warning_only max_prefix_warning_threshold route_map_in
BGP_NEIGHBOR_AF route_map_out send_community
BGP_PEER_GROUP admin_status asn bfd holdtime keepalive local_addr local_asn name
BGP_PEER_GROUP_AF admin_status max_prefix_limit max_prefix_warning_only max_prefix_warning_threshold route_map_in
BGP_PEER_GROUP_AF route_map_out send_community
BREAKOUT_CFG brkout_mode
BUFFER_PG profile
BUFFER_POOL mode size type xoff
BUFFER_PORT_EGRESS_PROFILE_LIST profile_list
BUFFER_PORT_INGRESS_PROFILE_LIST profile_list
BUFFER_PROFILE dynamic_th pool size static_th xoff xon xon_offset
BUFFER_QUEUE profile
CABLE_LENGTH *
COMMUNITY_SET action=permit community_member match_action=ANY set_type=STANDARD
CRM *
DEVICE_METADATA bgp_asn buffer_model=traditional default_bgp_status=up default_pfcwd_status=disable
DEVICE_METADATA deployment_id=8 docker_routing_config_mode=unified frr_mgmt_framework_config hostname hwsku mac platform
DEVICE_METADATA suppress-fib-pending=enabled synchronous_mode=enable timezone type yang_config_validation
DEVICE_NEIGHBOR local_port name port
DEVICE_NEIGHBOR_METADATA *
DHCP_RELAY dhcpv6_servers
DNS_NAMESERVER
DNS_OPTIONS search
DSCP_TO_TC_MAP *
FEATURE auto_restart check_up_status delayed has_global_scope has_per_asic_scope has_per_dpu_scope has_timer
FEATURE high_mem_alert set_owner state support_syslog_rate_limit
FLEX_COUNTER_TABLE FLEX_COUNTER_STATUS POLL_INTERVAL BULK_CHUNK_SIZE FLEX_COUNTER_DELAY_STATUS
GNMI ca_crt client_auth log_level port server_crt server_key user_auth vrf
GNMI_CLIENT_CERT role
INTERFACE ipv6_use_link_local_only=disable vrf_name
KDUMP enabled memory num_dumps
LLDP enabled hello_time system_name
LOGGER *
LOOPBACK_INTERFACE vrf_name
MAP_PFC_PRIORITY_TO_QUEUE *
MGMT_INTERFACE gwaddr
MGMT_PORT admin_status alias description
MGMT_VRF_CONFIG mgmtVrfEnabled
NTP admin_state authentication dhcp=disabled server_role=disabled src_intf vrf
NTP_SERVER admin_state association_type iburst resolve_as trusted version
PASSW_HARDENING *
PFC_PRIORITY_TO_PRIORITY_GROUP_MAP *
PFC_WD POLL_INTERVAL action detection_time pfc_stat_history restoration_time
PORT admin_status alias autoneg=off description fec index lanes mode=routed mtu pfc_asym=off speed subport tpid=0x8100
PORTCHANNEL admin_status description fallback fast_rate lacp_key=auto min_links=1 mtu
PORTCHANNEL_MEMBER
PORT_QOS_MAP dscp_to_tc_map pfc_enable pfc_to_pg_map pfc_to_queue_map pfcwd_sw_enable tc_to_pg_map tc_to_queue_map
PREFIX action
PREFIX_SET mode
QUEUE scheduler wred_profile
RADIUS auth_type passkey timeout
RADIUS_SERVER auth_port priority src_intf vrf
ROUTE_MAP match_community match_prefix_set route_operation set_community_inline set_community_ref
ROUTE_MAP_SET
SCHEDULER type weight
SERIAL_CONSOLE *
SNMP *
SNMP_AGENT_ADDRESS_CONFIG
SNMP_USER SNMP_USER_AUTH_PASSWORD SNMP_USER_AUTH_TYPE SNMP_USER_ENCRYPTION_PASSWORD SNMP_USER_ENCRYPTION_TYPE
SNMP_USER SNMP_USER_PERMISSION SNMP_USER_TYPE
SSH_SERVER authentication_retries inactivity_timeout login_timeout password_authentication permit_root_login
STATIC_ROUTE blackhole gateway ifname nexthop nexthop-vrf
SWITCH_HASH ecmp_hash ecmp_hash_algorithm=CRC ecmp_hash_algorithm=CRC_CCITT lag_hash lag_hash_algorithm
SYSLOG_CONFIG *
SYSLOG_CONFIG_FEATURE *
SYSLOG_SERVER port protocol severity source vrf
TACPLUS auth_type passkey src_intf timeout
TACPLUS_SERVER priority tcp_port vrf
TC_TO_DSCP_MAP *
TC_TO_PRIORITY_GROUP_MAP *
TC_TO_QUEUE_MAP *
VERSIONS *
VLAN description dhcp_servers vlanid
VLAN_INTERFACE vrf_name
VLAN_MEMBER tagging_mode
WRED_PROFILE ecn green_drop_probability green_max_threshold green_min_threshold red_drop_probability
WRED_PROFILE red_max_threshold red_min_threshold wred_green_enable wred_red_enable wred_yellow_enable
WRED_PROFILE yellow_drop_probability yellow_max_threshold yellow_min_threshold
"""
# Tables whose rows begin with the VRF; the readers take in the sessions of one.
_OF_A_VRF = ("BGP_GLOBALS", "BGP_NEIGHBOR", "BGP_PEER_GROUP")
_VRF = "default"
_ANY = "*"
_POLLING = frozenset({"FLEX_COUNTER_STATUS"})


def _known() -> dict[str, frozenset[str]]:
    fields_by_table: dict[str, frozenset[str]] = {}
    for line in _FIELDS.split("\n"):
        table, *fields = line.split() or [""]
        fields_by_table[table] = fields_by_table.get(table, frozenset()) | frozenset(fields)
    return fields_by_table


KNOWN = _known()


def unread(text: str, elsewhere: frozenset[str]) -> Iterator[Unread]:
    """Unread places, by table, row and field; tables of ``elsewhere`` are read by another fact."""
    document: Mapping[str, Mapping[str, Any]] = tables_of(text)
    for key in dict.fromkeys(doubled_keys(text)):
        yield _at(text, key)
    for place in (*unfit_places(text), *unfit_rules(document)):
        yield _at(text, *place)
    for table in sorted(document.keys() - elsewhere):
        if table not in KNOWN:
            yield _at(text, table)
            continue
        for row, fields in document[table].items():
            if _is_unread_row(document, table, row):
                yield _at(text, table, row)
            if isinstance(fields, dict):
                for field, value in fields.items():
                    if not _is_known(table, field, value):
                        yield _at(text, table, row, field)


def _is_unread_row(document: Mapping[str, Mapping[str, Any]], table: str, row: str) -> bool:
    """Whether a whole row sets something outside any fact."""
    if table.startswith(_OF_A_VRF) and row.partition("|")[0] != _VRF:
        return True
    if table == "BGP_NEIGHBOR" and not is_address(row.partition("|")[2]):
        return True  # unnumbered: a session with whatever is behind a port
    if table == "PORT_QOS_MAP" and row not in document.get("PORT", {}):
        return True  # the switch's own map, or ports that orchagent does not find
    if table == "FLEX_COUNTER_TABLE" and row == "PFCWD" and document[table][row].keys() - _POLLING:
        return True  # its interval is the watchdog's too (sonic-net/sonic-swss, flexcounterorch.cpp)
    return table == "FEATURE" and _is_unread_feature(document, row)


def _is_known(table: str, field: str, value: object) -> bool:
    """Whether a field is known with a value. A default is known unless only other values are."""
    if KNOWN[table] & {_ANY, field, f"{field}={value}"}:
        return True
    has_own_values = any(known_field.startswith(f"{field}=") for known_field in KNOWN[table])
    return not has_own_values and is_default(table, field, value)


def _is_unread_feature(document: Mapping[str, Mapping[str, Any]], name: str) -> bool:
    """Whether a row of FEATURE runs an unknown program, or stops one needed for forwarding."""
    state = document["FEATURE"][name].get("state")
    if state is not None and state not in ON | OFF:
        return True
    service = systems()[SYSTEM].service(name)
    if service is None or service.listens:
        return state in ON
    return "forwarding" in service.serves and not runs(document, name)


def _at(text: str, *keys: str) -> Unread:
    return Unread(PATH, text.count("\n", 0, place_of(text, *keys)) + 1, BETWEEN.join(keys))
