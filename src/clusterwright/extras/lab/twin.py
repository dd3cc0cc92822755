"""The twin of a fabric as data: its namespaces, their interfaces, and the BGP sessions of each switch."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from clusterwright.extras.lab.cut import Cut, kept_nodes, kept_switches
from clusterwright.finding import ClusterwrightError
from clusterwright.intent.switch import SwitchView, view_switch
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import fabric_of, format_address
from clusterwright.spec.model import SpecException

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.plan.model import Cable, Device, Interface, Plan

_LONGEST_INTERFACE = 15  # IFNAMSIZ without its terminating null
_PREFIX = "cwlab-"


@dataclass(frozen=True)
class Twin:
    """A part of one fabric of a plan, to run on one machine.

    ``views`` are the kept switches in the plan's order with their sessions inside the twin, ``nodes`` the kept nodes,
    ``cables`` all cables between them, in service or not.
    """

    plan: Plan
    fabric: str
    version: int
    views: tuple[SwitchView, ...]
    nodes: tuple[Device, ...]
    cables: tuple[Cable, ...]

    @property
    def name(self) -> str:
        """The lab's name on the machine: cluster and fabric."""
        return f"{self.plan.name}.{self.fabric}"

    @cached_property
    def view_of(self) -> Mapping[str, SwitchView]:
        """The kept switches by name."""
        return {view.device.name: view for view in self.views}

    @cached_property
    def interfaces(self) -> Mapping[tuple[str, str], str]:
        """The kernel's name of each port, by device and port."""
        ends = chain.from_iterable((cable.a, cable.b) for cable in self.cables)
        names = {(end.device, end.port): interface_name(end.port) for end in ends}
        if len({(device, name) for (device, _), name in names.items()}) < len(names):
            raise ClusterwrightError(f"{self.plan.name}: two ports of one switch would get one interface name.")
        return names

    @cached_property
    def racks(self) -> Mapping[str, str]:
        """The host prefix of each bottom switch as text, by switch."""
        subnets = {view.device.name: view.host_subnet for view in self.views if view.host_subnet is not None}
        return {
            name: f"{format_address(subnet.network, self.version)}/{subnet.prefix_length}"
            for name, subnet in subnets.items()
        }

    def namespace(self, device: str) -> str:
        """The network namespace of a device."""
        return f"{namespace_prefix(self.name)}{device}"

    def interface(self, end: Interface) -> str:
        """The kernel's name of a port."""
        return self.interfaces[end.device, end.port]

    def owner_of(self) -> Mapping[str, str]:
        """The device of each address, for the answers along a packet's path."""
        owner_by_address = {}
        for view in self.views:
            if view.loopback is not None:
                owner_by_address[view.loopback] = view.device.name
            if view.host_subnet is not None and view.host_subnet.gateway is not None:
                owner_by_address[format_address(view.host_subnet.gateway, self.version)] = view.device.name
        for cable in self.cables:
            for end in (cable.a, cable.b):
                if end.address is not None:
                    owner_by_address[format_address(end.address, self.version)] = end.device
        return owner_by_address


def namespace_prefix(name: str) -> str:
    """The prefix of a lab's namespaces. A lab's name has no second dot, so no prefix is part of another."""
    return f"{_PREFIX}{name}."


def build_twin(plan: Plan, fabric: str, cut: Cut) -> Twin:
    """The twin of a fabric. Raises ClusterwrightError for an unsupported fabric and for an impossible cut."""
    kind = fabric_of(plan, fabric)
    if kind.technology == "infiniband":
        raise ClusterwrightError(
            f"{plan.name}: {fabric} is InfiniBand, which the lab does not start: its switches do not route by BGP."
            " Name an Ethernet fabric with --fabric."
        )
    if kind.addressing is None:
        raise ClusterwrightError(f"{plan.name}: {fabric} has no addresses. Give it `addressing:`, so that it can run.")
    if any(attach.bond is not None for attach in kind.attach):
        raise ClusterwrightError(
            f"{plan.name}: NICs on {fabric} are joined to bonds, and the lab's switches speak no LACP."
            " Name another fabric with --fabric, or take `bond` out of a copy of the spec."
        )
    kept = kept_switches(plan, fabric, cut)
    nodes = kept_nodes(plan, fabric, [device for device in kept if plan.level(device) == 0], cut.nodes)
    return _twin(plan, fabric, tuple(device.name for device in kept), tuple(device.name for device in nodes))


def with_faults(twin: Twin, faults: tuple[SpecException, ...]) -> Twin:
    """The twin with these exceptions added to its spec. Raises SpecError as planning does."""
    spec = replace(twin.plan.spec, exceptions=(*twin.plan.spec.exceptions, *faults))
    return _twin(build_plan(spec), twin.fabric, tuple(twin.view_of), tuple(node.name for node in twin.nodes))


def _twin(plan: Plan, fabric: str, switches: tuple[str, ...], nodes: tuple[str, ...]) -> Twin:
    kept = set(switches)
    inside = {*switches, *nodes}
    views = []
    for name in switches:
        view = view_switch(plan, plan.by_name[name])
        views.append(replace(view, sessions=tuple(item for item in view.sessions if item.neighbour in kept)))
    return Twin(
        plan=plan,
        fabric=fabric,
        version=plan.address_version(fabric),
        views=tuple(views),
        nodes=tuple(plan.by_name[name] for name in nodes),
        cables=tuple(
            cable
            for cable in plan.cables
            if cable.fabric == fabric and cable.a.side != "management" and {cable.a.device, cable.b.device} <= inside
        ),
    )


def interface_name(port: str) -> str:
    """A port's name in a form valid for the kernel: Et3_18_1, eth8_1_1, be0."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", port.replace("Ethernet", "Et"))
    if len(name) > _LONGEST_INTERFACE:
        raise ClusterwrightError(f"port {port}: its name is too long for a network interface of Linux.")
    return name
