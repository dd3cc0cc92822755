"""SONiC: config_db.json of a rack switch, in the tables and fields of SONiC's published YANG models, and its accounts.

BGP is configured in the same file (``frr_mgmt_framework_config``) rather than by templates of SONiC's own, so that
announced and accepted routes are those of this file. Buffers are the traditional, static ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.artifact import Artifact
from clusterwright.intent.switch import view_switch
from clusterwright.intent.switch_links import management_port
from clusterwright.switches.extra_config import with_patches
from clusterwright.switches.sonic.writer.access import access_tables
from clusterwright.switches.sonic.writer.bgp import bgp_tables
from clusterwright.switches.sonic.writer.filters import filter_tables
from clusterwright.switches.sonic.writer.management import management_routes
from clusterwright.switches.sonic.writer.ports import port_tables
from clusterwright.switches.sonic.writer.qos import qos_tables
from clusterwright.switches.sonic.writer.services import service_tables
from clusterwright.text.json_lines import dump_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.intent.switch import SwitchView
    from clusterwright.plan.model import Device, Plan

KIND = "sonic"
PATH = "etc/sonic/config_db.json"


def applies(plan: Plan, device: Device) -> bool:
    """True for switches with SONiC."""
    return device.kind == "switch" and plan.spec.catalogue[device.model].network_os == "sonic"


def for_device(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The configuration of one switch. Raises PlatformPortError for an unknown platform or port."""
    document = with_patches(plan, device, PATH, config_db(plan, view_switch(plan, device)))
    yield Artifact(device=device.name, path=PATH, source=dump_lines(document, depth=2), kind=KIND)


def config_db(plan: Plan, view: SwitchView) -> dict[str, Any]:
    """The tables, by name."""
    port = None if view.management is None else management_port(plan, view.management)
    tables = {
        **service_tables(view.site, view, port),
        **access_tables(plan, view, port),
        **port_tables(view),
        **qos_tables(view),
        **bgp_tables(view),
    }
    for name, rows in (*filter_tables(plan, view).items(), *management_routes(plan, view, port).items()):
        tables[name] = {**tables.get(name, {}), **rows}
    return {name: table for name, table in sorted(tables.items()) if table}
