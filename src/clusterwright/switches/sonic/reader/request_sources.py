"""Source address of a SONiC switch's requests to a server.

sonic-buildimage: sonic-system-tacacs.yang, sonic-ntp.yang and sonic-system-radius.yang name an interface
(``src_intf``), sonic-syslog.yang an address (``source``), sonic-dns.yang neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# The row with the source for all servers of a table; other tables have it by server.
_SHARED_ROWS = {"NTP_SERVER": ("NTP", "global"), "TACPLUS_SERVER": ("TACPLUS", "global")}
_FABRIC_TABLES = ("INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "LOOPBACK_INTERFACE")
_MANAGEMENT_TABLE = "MGMT_INTERFACE"
Json = Mapping[str, Any]


def request_source(document: Mapping[str, Json], table: str, server: str, *, is_apart: bool) -> str:
    """The address; "" without one in the file, or for one on no interface of the server's VRF.

    With a management VRF of its own (``is_apart``) the management port is its only interface, and needs no name. Names
    are looked up in the VRF of the requesting program (sonic-net/SONiC, Management VRF Design Document: DNS).
    """
    if table == "DNS_NAMESERVER":
        return ""
    shared_table, row_name = _SHARED_ROWS.get(table, (table, server))
    row = document.get(shared_table, {}).get(row_name, {})
    named = row.get("src_intf", [])
    ports = frozenset([named] if isinstance(named, str) else named)
    stated = row.get("source", "")
    tables = (_MANAGEMENT_TABLE,) if is_apart else _FABRIC_TABLES
    for port, address in _addresses(document, tables):
        if (":" in address) != (":" in server):
            continue
        if stated:
            is_source = address == stated
        elif ports:
            is_source = port in ports
        else:
            is_source = is_apart
        if is_source:
            return address
    return ""


def _addresses(document: Mapping[str, Json], tables: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each interface with an address, without its length."""
    for table in tables:
        for key in document.get(table, {}):
            port, _, address = key.partition("|")
            if address:
                yield port, address.partition("/")[0]
