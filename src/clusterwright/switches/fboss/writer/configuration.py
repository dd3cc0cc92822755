"""FBOSS: the configurations of the switch agent and of the BGP daemon, for Meta's rack switches.

Paths are the daemons' start arguments: the agent's from fboss/agent/AgentConfig.cpp, the BGP daemon's from
FBOSS's CLI documentation.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clusterwright.artifact import Artifact
from clusterwright.intent.edge import management_reach
from clusterwright.intent.switch import view_switch
from clusterwright.intent.switch_links import management_port
from clusterwright.plan.own_addresses import HOST_VLAN
from clusterwright.switches.extra_config import with_patches
from clusterwright.switches.fboss.writer import host as fboss_host
from clusterwright.switches.fboss.writer.agent import agent_config
from clusterwright.switches.fboss.writer.bgp import bgp_config, speaks_bgp
from clusterwright.switches.fboss.writer.filters import fboss_filters
from clusterwright.switches.fboss.writer.services import PUBLISHING, SECRET_MODE, SNMPD, firewall_zone, snmpd_conf
from clusterwright.text.json_lines import lines_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.intent.switch import SwitchView
    from clusterwright.plan.model import Device, Plan

KIND = "fboss"
AGENT_PATH = "etc/coop/agent.conf"
BGP_PATH = "etc/coop/bgpcpp.conf"


def applies(plan: Plan, device: Device) -> bool:
    """True for switches with FBOSS."""
    return device.kind == "switch" and plan.spec.catalogue[device.model].network_os == "fboss"


def for_device(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The agent's configuration, on a routing switch the BGP daemon's, and the Linux files of this switch alone."""
    view = view_switch(plan, device)
    yield Artifact(device=device.name, path=fboss_host.HOSTNAME_PATH, source=f"{device.name}\n".encode(), kind=KIND)
    site = view.site
    port = None
    if view.management is not None:
        port = management_port(plan, view.management)
        profile = fboss_host.connection(
            port,
            dns=site.management.dns,
            domain=site.domain,
            reach=[str(network) for network in management_reach(plan, view.management.port.fabric)],
            zone=firewall_zone(plan, view),
        )
        yield Artifact(
            device=device.name,
            path=fboss_host.connection_path(port),
            source=profile,
            kind=KIND,
            mode=fboss_host.CONNECTION_MODE,
        )
    if site.snmp is not None:
        snmpd = snmpd_conf(site.snmp, device.name, port)
        yield Artifact(device=device.name, path=SNMPD, source=snmpd, kind=KIND, mode=SECRET_MODE)
    # Texts are made at their first access: the documents of all switches at once are a gigabyte.
    yield Artifact(device=device.name, path=AGENT_PATH, source=partial(_agent_text, plan, view), kind=KIND)
    if speaks_bgp(view):
        yield Artifact(device=device.name, path=BGP_PATH, source=partial(_bgp_text, plan, view), kind=KIND)


def _agent_text(plan: Plan, view: SwitchView) -> str:
    flags = {} if view.site.telemetry is None else PUBLISHING
    document = agent_config(view, fboss_filters(plan, view, HOST_VLAN), flags)
    return lines_text(with_patches(plan, view.device, AGENT_PATH, document), depth=3)


def _bgp_text(plan: Plan, view: SwitchView) -> str:
    return lines_text(with_patches(plan, view.device, BGP_PATH, bgp_config(view)), depth=4)
