"""Typing the site: its services, its operators, how it is monitored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.document import Path
from clusterwright.spec.reading import Reading
from clusterwright.spec.site import Operator, Services, Site, SnmpAccess


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
        operators=reading.each(
            data, "operators", lambda item, at: Operator(item["name"], item["role"], tuple(item["keys"]), at), path
        ),
        snmp=None
        if snmp is None
        else SnmpAccess(snmp["user"], snmp["authentication"], snmp["privacy"], (*path, "snmp")),
        path=path,
    )
