"""What changes of config_db.json do, and how each is applied: as a patch of the running configuration where SONiC's
generic config updater takes it and its daemons act on it, else by reading the whole file anew (``config reload``).

From sonic-net/sonic-utilities, generic_config_updater: gcu_services_validator.conf.json (services that it restarts),
gcu_field_operation_validators.conf.json (what it refuses), patch_sorter.py (fields that are only ever created); from
sonic-net/sonic-buildimage and sonic-swss, which daemon listens to a table. Steps of the role device_tree say the
same to the switch (tests/platforms/test_sonic_effects.py holds both together).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clusterwright.platforms.effect import Effect
from clusterwright.platforms.linux import effects as linux
from clusterwright.platforms.sonic.reader.configuration import PATH

Tables = Mapping[str, Mapping[str, Any]]
BETWEEN = " > "


class Patched(NamedTuple):
    """Places that a patch may name (a table, a row in it, a field of that), what that does, and who acts on it."""

    places: str
    effect: Effect
    why: str


class PlaceChange(NamedTuple):
    """One place that differs: what changing it does, whether the whole file is read anew for it, and why."""

    place: str
    effect: Effect
    reloads: bool
    why: str


PATCHED = (
    Patched(r"SYSLOG_SERVER( > .*)?", Effect.LIVE, "rsyslog-config is restarted by the updater"),
    Patched(r"(NTP|NTP_SERVER)( > .*)?", Effect.LIVE, "chrony is restarted by the updater"),
    Patched(r"(DNS_NAMESERVER|DNS_OPTIONS)( > .*)?", Effect.LIVE, "hostcfgd writes resolv.conf"),
    Patched(
        r"(AAA|TACPLUS|TACPLUS_SERVER|RADIUS|RADIUS_SERVER|SSH_SERVER)( > .*)?",
        Effect.LIVE,
        "hostcfgd writes PAM and sshd",
    ),
    Patched(r"(SNMP_USER|SNMP_AGENT_ADDRESS_CONFIG)( > .*)?", Effect.LIVE, "snmp.service is restarted afterwards"),
    Patched(r"(GNMI|GNMI_CLIENT_CERT)( > .*)?", Effect.LIVE, "gnmi.service is restarted afterwards"),
    Patched(r"LLDP( > .*)?", Effect.LIVE, "lldp.service is restarted afterwards"),
    Patched(
        r"FEATURE > (bgp|dhcp_relay|gnmi|lldp|pmon|radv|snmp|swss|syncd|teamd)( > .*)?",
        Effect.LIVE,
        "featured starts and stops the service",
    ),
    Patched(r"(MGMT_PORT|MGMT_INTERFACE)( > .*)?", Effect.LIVE, "hostcfgd sets the management port anew"),
    Patched(r"DEVICE_METADATA > localhost > hostname", Effect.LIVE, "hostcfgd sets the name"),
    Patched(r"DEVICE_NEIGHBOR( > .*)?", Effect.LIVE, "it names neighbours and does nothing"),
    Patched(r"FLEX_COUNTER_TABLE( > .*)?", Effect.LIVE, "orchagent polls other counters"),
    Patched(r"(ACL_TABLE|ACL_TABLE_TYPE|ACL_RULE)( > .*)?", Effect.LIVE, "orchagent and caclmgrd change the lists"),
    Patched(
        r"(PREFIX_SET|PREFIX|COMMUNITY_SET|ROUTE_MAP_SET|ROUTE_MAP)( > .*)?",
        Effect.LIVE,
        "frrcfgd changes the policy, and FRR asks it anew of the routes that it has",
    ),
    Patched(
        r"(BGP_GLOBALS_AF|BGP_GLOBALS_AF_NETWORK|BGP_PEER_GROUP_AF|STATIC_ROUTE)( > .*)?",
        Effect.LIVE,
        "frrcfgd changes families, networks and static routes while sessions stay",
    ),
    Patched(r"(BGP_NEIGHBOR|BGP_NEIGHBOR_AF) > [^>]+", Effect.LIVE, "a neighbour comes or goes, the others stay"),
    Patched(r"BGP_NEIGHBOR_AF > .*", Effect.RESTART, "the session comes up anew with another family"),
    Patched(r"BGP_NEIGHBOR > .*", Effect.RESTART, "the session is taken away and made anew"),
    Patched(r"BGP_PEER_GROUP( > .*)?", Effect.RESTART, "sessions take timers and BFD when they come up anew"),
    Patched(r"PORT > [^>]+ > (description|admin_status)", Effect.LIVE, "the port alone is named, wanted or not"),
    Patched(r"PORT > [^>]+ > (speed|fec|mtu|autoneg)", Effect.RESTART, "the link comes up anew"),
    Patched(r"(INTERFACE|LOOPBACK_INTERFACE)( > .*)?", Effect.RESTART, "sessions over the address come up anew"),
    Patched(r"(VLAN|VLAN_MEMBER|VLAN_INTERFACE)( > .*)?", Effect.RESTART, "hosts lose their gateway meanwhile"),
    Patched(r"PORTCHANNEL > [^>]+ > description", Effect.LIVE, "the channel alone is named"),
    Patched(r"(PORTCHANNEL|PORTCHANNEL_MEMBER)( > .*)?", Effect.RESTART, "hosts lose the link meanwhile"),
    Patched(r"(SWITCH_HASH|WRED_PROFILE|SCHEDULER)( > .*)?", Effect.LIVE, "orchagent sets it in the chip"),
)
"""What the updater takes and daemons act on; the first that fits counts."""

PATCHED_ON_KNOWN_SKUS = Patched(
    r"PFC_WD( > .*)?|BUFFER_PROFILE > [^>]+ > (xoff|dynamic_th)", Effect.LIVE, "orchagent sets it in the chip"
)
"""What the updater takes on hardware SKUs of its own list alone."""

KNOWN_SKUS = (
    r"(?i).*(arista-7060x6-64[dp]e|nokia-ixr7220-h[345]).*"
    r"|acs-(msn4700|msn4600c?|sn5400|sn5600|sn5640)|mellanox-sn(4[67]|5[46]).*"
)

NEVER = {
    "BUFFER_POOL": "the updater refuses every change of pools",
    "BUFFER_PROFILE": "the updater takes headroom and thresholds alone, and those on hardware SKUs that it knows",
    "PFC_WD": "the updater takes it on hardware SKUs that it knows",
    "PORT": "lanes, aliases and indexes are given when ports are made",
    "BREAKOUT_CFG": "ports are made anew",
    "DEVICE_METADATA": "containers read it when they start",
    **dict.fromkeys(
        (
            *("BUFFER_PG", "BUFFER_QUEUE", "CABLE_LENGTH", "PORT_QOS_MAP", "QUEUE", "DSCP_TO_TC_MAP"),
            *("TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"),
            "MAP_PFC_PRIORITY_TO_QUEUE",
        ),
        "priority groups and their headroom change on ports that carry nothing alone",
    ),
    "BGP_GLOBALS": "the BGP process is started anew",
    "MGMT_VRF_CONFIG": "the management network is set up anew with all services in it",
}


def changes(before: Tables, after: Tables) -> Iterator[PlaceChange]:
    """Every place that differs, in the order of tables, rows and fields."""
    for table in sorted(before.keys() | after.keys()):
        old, new = before.get(table, {}), after.get(table, {})
        for row in sorted(old.keys() | new.keys()):
            was, will = old.get(row), new.get(row)
            if was is None or will is None:
                yield _change(BETWEEN.join((table, row)), after, _is_beside_links(table, row, before, after))
            elif was != will:
                fields = sorted(key for key in was.keys() | will.keys() if was.get(key) != will.get(key))
                for field in fields:
                    yield _change(BETWEEN.join((table, row, field)), after, is_beside_links=False)


def effect(path: str, was: bytes | None, will: bytes | None) -> Effect:
    """By the places that differ. Raises ValueError for text that is no JSON."""
    if path != PATH:
        return linux.on_switch(path, was, will)
    if was is None or will is None:
        return Effect.RESTART
    return max((each.effect for each in changes(json.loads(was), json.loads(will))), default=Effect.LIVE)


def _change(place: str, after: Tables, is_beside_links: bool) -> PlaceChange:
    if is_beside_links:
        return PlaceChange(place, Effect.LIVE, False, "its port is down before or after")
    sku = after.get("DEVICE_METADATA", {}).get("localhost", {}).get("hwsku", "")
    known = (PATCHED_ON_KNOWN_SKUS,) if re.fullmatch(KNOWN_SKUS, sku) else ()
    for each in (*PATCHED, *known):
        if re.fullmatch(each.places, place):
            return PlaceChange(place, each.effect, False, each.why)
    table = place.partition(BETWEEN)[0]
    return PlaceChange(place, Effect.RESTART, True, NEVER.get(table, "nobody here knows who acts on it"))


def _is_beside_links(table: str, row: str, before: Tables, after: Tables) -> bool:
    """Whether an address comes to, or goes from, a port that is not up on that side of the change."""
    if table != "INTERFACE":
        return False
    port = row.partition("|")[0]
    states = (tables.get("PORT", {}).get(port, {}).get("admin_status", "down") for tables in (before, after))
    return "down" in states
