"""Typing the site: its services, its operators, how it is monitored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.reading import Reading
from clusterwright.spec.site import CentralAaa, Operator, Services, Site, SnmpAccess, Telemetry
from clusterwright.spec.text.document import Path

# What IANA gives to gNMI (gnmi-gnoi).
GNMI_PORT = 9339


def site(reading: Reading, data: Mapping[str, Any], path: Path) -> Site:
    """The site at ``path``."""
    snmp = data.get("snmp")
    everywhere = {key: reading.addresses(data, key, path) for key in ("dns", "ntp", "syslog")}
    over_management = data.get("management", {})
    return Site(
        domain=data["domain"],
        rack_units=data.get("rack_units", 42),
        **everywhere,
        management=Services(
            **{
                key: reading.addresses(over_management, key, (*path, "management")) if key in over_management else own
                for key, own in everywhere.items()
            }
        ),
        operators=reading.each(data, "operators", _operator, path),
        snmp=None
        if snmp is None
        else SnmpAccess(snmp["user"], snmp["authentication"], snmp["privacy"], (*path, "snmp")),
        aaa=_aaa(reading, data["aaa"], (*path, "aaa")) if "aaa" in data else None,
        telemetry=_telemetry(data["telemetry"], (*path, "telemetry")) if "telemetry" in data else None,
        path=path,
    )


def _operator(data: Mapping[str, Any], path: Path) -> Operator:
    return Operator(data["name"], data["role"], tuple(data["keys"]), data.get("password"), path)


def _aaa(reading: Reading, data: Mapping[str, Any], path: Path) -> CentralAaa:
    return CentralAaa(data["protocol"], reading.addresses(data, "servers", path), data["secret"], path)


def _telemetry(data: Mapping[str, Any], path: Path) -> Telemetry:
    return Telemetry(
        data.get("port", GNMI_PORT), data["certificate"], data["authority"], tuple(data["collectors"]), path
    )
