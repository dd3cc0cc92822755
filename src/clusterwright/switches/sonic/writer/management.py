"""Destinations of a SONiC switch's management port: routes to declared prefixes, and nowhere else.

SONiC's models require a gateway with the port's address, and its start-up makes a default route of it, with metric 201.
A static discard route comes before it (FRR installs those with metric 20), so it never carries a packet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.intent.edge import management_reach

if TYPE_CHECKING:
    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import ManagementPort
    from clusterwright.plan.model import Plan

ANYWHERE = {4: "0.0.0.0/0", 6: "::/0"}
Table = dict[str, dict[str, str]]


def management_routes(plan: Plan, view: SwitchView, port: ManagementPort | None) -> dict[str, Table]:
    """STATIC_ROUTE of the management VRF."""
    if port is None or port.gateway is None or view.management is None:
        return {}
    routes: Table = {}
    for network in management_reach(plan, view.management.port.fabric):
        routes[f"mgmt|{network}"] = {"nexthop": port.gateway, "ifname": port.port}
    routes[f"mgmt|{ANYWHERE[port.version]}"] = {"blackhole": "true"}
    return {"STATIC_ROUTE": routes}
