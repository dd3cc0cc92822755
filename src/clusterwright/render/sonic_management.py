"""Where the management port of a SONiC switch may go: routes to declared prefixes, and no default route."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.render.filter_edge import management_reach

if TYPE_CHECKING:
    from clusterwright.plan.model import Plan
    from clusterwright.render.management_port import ManagementPort
    from clusterwright.render.switch_view import SwitchView

Table = dict[str, dict[str, str]]


def management_routes(plan: Plan, view: SwitchView, port: ManagementPort | None) -> dict[str, Table]:
    """STATIC_ROUTE of the management VRF; a gateway in MGMT_INTERFACE would be a default route instead."""
    if port is None or port.gateway is None or view.management is None:
        return {}
    reach = management_reach(plan, view.management.port.fabric)
    return {"STATIC_ROUTE": {f"mgmt|{network}": {"nexthop": port.gateway, "ifname": port.port} for network in reach}}
