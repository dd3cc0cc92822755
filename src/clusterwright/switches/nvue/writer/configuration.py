"""NVUE: the configuration of a switch with Cumulus Linux, in the objects of its release's model.

The file is staged whole with `nv config replace` and takes effect with `nv config apply`. Unnamed settings return to
NVUE's defaults, so the factory account is gone after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.artifact import Artifact
from clusterwright.intent.edge import host_lists, management_reach
from clusterwright.intent.switch import view_switch
from clusterwright.intent.switch_links import management_port
from clusterwright.switches.extra_config import with_patches
from clusterwright.switches.nvue.words.table import parsed_release
from clusterwright.switches.nvue.writer.bgp import default_vrf, router
from clusterwright.switches.nvue.writer.filters import bound_lists, host_filters, management_filters
from clusterwright.switches.nvue.writer.interfaces import bridge, interfaces
from clusterwright.switches.nvue.writer.qos import qos
from clusterwright.switches.nvue.writer.releases import written_for
from clusterwright.switches.nvue.writer.services import MANAGEMENT_VRF, SYSTEM, service, system
from clusterwright.switches.nvue.writer.yaml_lines import dump

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import ManagementPort
    from clusterwright.plan.model import Device, Plan

KIND = "nvue"
PATH = "etc/clusterwright/nvue.yaml"
Objects = dict[str, Any]


def applies(plan: Plan, device: Device) -> bool:
    """True for switches with NVUE."""
    return device.kind == "switch" and plan.spec.catalogue[device.model].network_os == SYSTEM


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The whole configuration of one switch."""
    document = with_patches(plan, device, PATH, configuration(plan, view_switch(plan, device)))
    yield Artifact(device=device.name, path=PATH, source=dump(document), kind=KIND)


def configuration(plan: Plan, view: SwitchView) -> Objects:
    """Everything below ``set`` in the words of the switch's release, in NVUE's order: by name."""
    port = None if view.management is None else management_port(plan, view.management)
    lists = host_lists(plan, view)
    management_lists = management_filters(plan, view)
    management_bindings: Objects = {name: {"inbound": {"control-plane": {}}} for name in management_lists}
    sections = {
        "acl": host_filters(lists) | management_lists,
        "bridge": bridge(view),
        "interface": interfaces(view, port, bound_lists(lists), management_bindings),
        "qos": qos(view),
        "router": router(view),
        "service": service(view, port),
        "system": system(view, port),
        "vrf": _vrfs(plan, view, port),
    }
    objects = {name: section for name, section in sections.items() if section}
    return written_for(objects, parsed_release(view.release))


def _vrfs(plan: Plan, view: SwitchView, port: ManagementPort | None) -> Objects:
    vrfs: Objects = {}
    default_router = default_vrf(view)
    if default_router:
        vrfs["default"] = {"router": default_router}
    if port is not None and port.gateway is not None and view.management is not None:
        family, kind = f"ipv{port.version}-unicast", f"ipv{port.version}-address"
        routes_by_prefix: Objects = {}
        for network in management_reach(plan, view.management.port.fabric):
            routes_by_prefix[str(network)] = {"address-family": family, "via": {port.gateway: {"type": kind}}}
        vrfs[MANAGEMENT_VRF] = {"router": {"static": routes_by_prefix}}
    return vrfs
