"""SONiC: config_db.json of a rack switch, in the tables and fields of SONiC's published YANG models.

BGP is configured in the same file (``frr_mgmt_framework_config``) rather than by templates of SONiC's own, so that what
is announced and accepted is what stands here. Buffers are the traditional, static ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.artifact import Artifact
from clusterwright.render.extra_config import with_patches
from clusterwright.render.json_lines import dump_lines
from clusterwright.render.management_port import management_port
from clusterwright.render.sonic_bgp import bgp_tables
from clusterwright.render.sonic_filters import filter_tables
from clusterwright.render.sonic_ports import port_tables
from clusterwright.render.sonic_qos import qos_tables
from clusterwright.render.switch_view import view_switch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.model import Device, Plan
    from clusterwright.render.switch_view import SwitchView

KIND = "sonic"
PATH = "etc/sonic/config_db.json"


def applies(plan: Plan, device: Device) -> bool:
    """True for switches that run SONiC."""
    return device.kind == "switch" and plan.spec.catalogue[device.model].network_os == "sonic"


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The whole configuration of one switch. Raises SonicPortError for a platform or port that is not known."""
    document = with_patches(plan, device, PATH, config_db(plan, view_switch(plan, device)))
    yield Artifact(device.name, PATH, dump_lines(document, depth=2), KIND)


def config_db(plan: Plan, view: SwitchView) -> dict[str, Any]:
    """The tables, by name."""
    tables = {**_metadata(view), **_services(plan, view), **port_tables(view), **qos_tables(view), **bgp_tables(view)}
    for name, rows in filter_tables(plan, view).items():
        tables[name] = {**tables.get(name, {}), **rows}
    return {name: table for name, table in sorted(tables.items()) if table}


def _metadata(view: SwitchView) -> dict[str, Any]:
    localhost = {
        "hostname": view.device.name,
        "hwsku": view.model.platform,
        "type": "ToRRouter",
        "docker_routing_config_mode": "unified",
        "frr_mgmt_framework_config": "true",
        "buffer_model": "traditional",
        "default_pfcwd_status": "disable",
    }
    if view.device.asn is not None:
        localhost["bgp_asn"] = str(view.device.asn)
    return {"DEVICE_METADATA": {"localhost": localhost}}


def _services(plan: Plan, view: SwitchView) -> dict[str, Any]:
    servers = plan.spec.site.management
    tables: dict[str, Any] = {
        "NTP_SERVER": {server: {"association_type": "server", "iburst": "on"} for server in servers.ntp},
        "SYSLOG_SERVER": {server: {} for server in servers.syslog},
        "DNS_NAMESERVER": {server: {} for server in servers.dns},
    }
    if view.management is None:
        return tables
    port = management_port(plan, view.management)
    tables["MGMT_PORT"] = {port.port: {"description": port.description, "admin_status": "up"}}
    if port.address is not None:
        gateway = {} if port.gateway is None else {"gwaddr": port.gateway}
        tables["MGMT_INTERFACE"] = {f"{port.port}|{port.address}": gateway}
    tables["MGMT_VRF_CONFIG"] = {"vrf_global": {"mgmtVrfEnabled": "true"}}
    tables["NTP"] = {"global": {"src_intf": [port.port], "vrf": "mgmt", "dhcp": "disabled"}}
    tables["SYSLOG_SERVER"] = {server: {"vrf": "mgmt"} for server in servers.syslog}
    return tables
