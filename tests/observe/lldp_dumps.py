"""LLDP dumps of a plan whose cables are all right, as each system and machine announces itself by its documentation.

SONiC has a port's alias as port id and its description beside it (lldpmgrd), EOS and NVUE the interface's name, FBOSS
the port's name; a node's lldpd the MAC address and the interface in the description (lldpd(8)), unless it is told
otherwise; a BMC says nothing, or its node's name and ``eth0``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.intent.switch import view_switch
from clusterwright.plan.model import Interface, Plan
from clusterwright.spec.hardware.platform_ports import PlatformPortError

MAC = "02:00:00:00:00:01"


@dataclass(frozen=True)
class Announcement:
    """What a neighbour says of itself at ``port``."""

    port: str
    name: str
    kind: str
    identity: str
    description: str


def announcements(plan: Plan, *, bmc: str = "silent") -> Mapping[str, list[Announcement]]:
    """What each device hears; ``bmc`` says what management controllers do: silent, named, node or own."""
    ethernet = {fabric.name for fabric in plan.spec.fabrics if fabric.technology != "infiniband"}
    heard: dict[str, list[Announcement]] = defaultdict(list)
    for cable in plan.cables:
        if cable.fabric not in ethernet or not cable.in_service:
            continue
        for near, far in ((cable.a, cable.b), (cable.b, cable.a)):
            if not _is_bmc(plan, near):  # the host does not hear it
                heard[near.device] += _said(plan, near.port, far, bmc)
    return heard


def _is_bmc(plan: Plan, end: Interface) -> bool:
    return end.side == "management" and plan.by_name[end.device].kind == "node"


def _said(plan: Plan, port: str, far: Interface, bmc: str) -> Iterator[Announcement]:
    device = plan.by_name[far.device]
    name = f"{far.device}.{plan.spec.site.domain}"
    if _is_bmc(plan, far):
        forms = {
            "named": (name, "ifname", far.port, ""),
            "node": (far.device, "ifname", "eth0", ""),
            "own": (f"{far.device}-bmc", "mac", MAC, "eth0"),
        }
        if bmc in forms:
            yield Announcement(port, *forms[bmc])
    elif device.kind == "node":
        yield Announcement(port, far.device, "mac", MAC, far.port)
    else:
        alias = _alias(plan, far)
        yield Announcement(port, name, "local" if alias else "ifname", alias or far.port, "towards somebody")


def _alias(plan: Plan, end: Interface) -> str:
    """The alias of a SONiC switch's port, from the view that its configuration is written from."""
    device = plan.by_name[end.device]
    if plan.spec.catalogue[device.model].network_os != "sonic" or end.side == "management":
        return ""
    try:
        return view_switch(plan, device).platform_port(end).alias
    except PlatformPortError:
        return ""


def eos(said: Sequence[Announcement]) -> str:
    """`show lldp neighbors detail | json`."""
    ports: dict[str, Any] = defaultdict(lambda: {"lldpNeighborInfo": []})
    for one in said:
        interface = {"interfaceId": f'"{one.identity}"', "interfaceId_v2": one.identity}
        if one.description:
            interface["interfaceDescription"] = one.description
        ports[one.port]["lldpNeighborInfo"].append({"systemName": one.name, "neighborInterfaceInfo": interface})
    return json.dumps({"lldpNeighbors": ports})


def eapi(said: Sequence[Announcement]) -> str:
    """The same, as eAPI answers."""
    return json.dumps({"jsonrpc": "2.0", "id": "x", "result": [{"version": "4.32.0F"}, json.loads(eos(said))]})


def lldpcli(said: Sequence[Announcement]) -> str:
    """`lldpcli -f json show neighbors`, with a byte order mark as editors of Windows add it."""
    interfaces = [
        {
            one.port: {
                "chassis": {one.name: {"id": {"type": "mac", "value": MAC}}},
                "port": {"id": {"type": one.kind, "value": one.identity}, "descr": one.description},
            }
        }
        for one in said
    ]
    return "\ufeff" + json.dumps({"lldp": {"interface": interfaces[0] if len(interfaces) == 1 else interfaces}})


def json0(said: Sequence[Announcement]) -> str:
    """`lldpcli -f json0 show neighbors`."""
    interfaces = [
        {
            "name": one.port,
            "chassis": [{"id": [{"type": "mac", "value": MAC}], "name": [{"value": one.name}]}],
            "port": [{"id": [{"type": one.kind, "value": one.identity}], "descr": [{"value": one.description}]}],
        }
        for one in said
    ]
    return json.dumps({"lldp": [{"interface": interfaces}]})


def nvue(said: Sequence[Announcement]) -> str:
    """`nv show interface lldp -o json`."""
    ports: dict[str, Any] = defaultdict(lambda: {"lldp": {"neighbor": {}}})
    for one in said:
        ports[one.port]["lldp"]["neighbor"][one.name] = {
            "chassis": {"chassis-id": MAC, "system-name": one.name},
            "port": {"name": one.identity, "description": one.description, "type": one.kind},
        }
    return json.dumps(ports | {"lo": {}})


FORMS: Mapping[str, Sequence[Callable[[Sequence[Announcement]], str]]] = {
    "eos": (eos, eapi),
    "nvue": (nvue, lldpcli, json0),
    "": (lldpcli, json0),
}


def dumps(plan: Plan, *, bmc: str = "silent", turn: int = 0) -> dict[str, str]:
    """A dump of every device, each in a form that its system prints: the next one with each ``turn``."""
    found = {}
    for device, said in announcements(plan, bmc=bmc).items():
        model = plan.spec.catalogue[plan.by_name[device].model]
        forms = FORMS.get(model.network_os or "", FORMS[""])
        found[device] = forms[turn % len(forms)](said)
    return found
