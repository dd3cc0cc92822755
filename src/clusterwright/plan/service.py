"""Devices, whole groups and single ports of switches out of service by the spec.

Drained means "carries no traffic, stays managed": the cables of a drained device are out of service, except the one at
its management port, needed for repairs. Out of service means gone: all of its cables are, and the cable of a port out
of service moves to a spare port if the switch has one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.plan.model import Cable, Device, Interface, Plan
from clusterwright.plan.skeleton import FabricSkeleton, Skeleton
from clusterwright.spec.model import ClusterSpec

ACTIVE = "active"
DRAINED = "drained"
OUT_OF_SERVICE = "out-of-service"


@dataclass(frozen=True, slots=True)
class Service:
    """Names of devices not active, of those among them gone, and (device, port) of stopped ports."""

    idle: frozenset[str]
    gone: frozenset[str]
    ports: frozenset[tuple[str, str]]

    def carries(self, lower: Interface, upper: Interface) -> bool:
        """Whether a cable between these interfaces is in service."""
        if not self.idle and not self.ports:
            return True
        stopped_below = self.gone if lower.side == "management" else self.idle
        if lower.device in stopped_below or upper.device in self.idle:
            return False
        return (lower.device, lower.port) not in self.ports and (upper.device, upper.port) not in self.ports


def service_of(spec: ClusterSpec, devices: Iterable[Device]) -> Service:
    """Everything out of service among ``devices`` by the states in the spec's exceptions."""
    idle = [device for device in devices if device.state != ACTIVE]
    ports: set[tuple[str, str]] = set()
    for item in spec.exceptions:
        if item.device and item.port and item.state:
            ports.add((item.device, item.port))
    return Service(
        idle=frozenset(device.name for device in idle),
        gone=frozenset(device.name for device in idle if device.state == OUT_OF_SERVICE),
        ports=frozenset(ports),
    )


def cabled(plan: Plan, subnet: str) -> Iterator[Cable]:
    """The cables of an InfiniBand subnet without those of devices and ports out of service.

    A drained device keeps its cables, and its links are up: an InfiniBand switch has no routes to withdraw, so the
    routing engine must be configured to avoid it.
    """
    gone = frozenset(device.name for device in plan.devices if device.state == OUT_OF_SERVICE)
    dead = dead_ports(plan.spec)
    fabric, switches = plan.ib_subnets[subnet].fabric.name, plan.ib_subnets[subnet].switches
    for cable in plan.cables:
        if cable.fabric != fabric or cable.b.device not in switches:
            continue
        is_gone = cable.a.device in gone or cable.b.device in gone
        is_dead = cable.a.port in dead.get(cable.a.device, ()) or cable.b.port in dead.get(cable.b.device, ())
        if not is_gone and not is_dead:
            yield cable


def stated(spec: ClusterSpec) -> Mapping[str, str]:
    """States of whole devices and groups other than active, by name."""
    states: dict[str, str] = {}
    for item in spec.exceptions:
        if item.state and not item.port:
            states[item.device or item.group or ""] = item.state
    return states


def state_of(states: Mapping[str, str], name: str, groups: Sequence[str]) -> str:
    """The state of a device: its own, or that of the smallest group around it with one."""
    for name_or_group in (name, *groups):
        if name_or_group in states:
            return states[name_or_group]
    return ACTIVE


def groups_around(skeleton: Skeleton, fabric: FabricSkeleton, seat: int) -> list[str]:
    """Names of the groups around a switch, the smallest first."""
    layout, group = skeleton.layout, fabric.seats[seat].group
    if group < 0:
        return []
    return [layout.groups[group_index].name for group_index in layout.around[group]]


def device_states(spec: ClusterSpec, skeleton: Skeleton) -> Mapping[str, str]:
    """The state of every node and switch by name, as the plan will have it."""
    stated_items, layout = stated(spec), skeleton.layout
    states = dict.fromkeys((node.name for node in layout.nodes), ACTIVE)
    for fabric in skeleton.fabrics:
        states |= dict.fromkeys((seat.name for seat in fabric.seats), ACTIVE)
    if not stated_items:
        return states
    for node in layout.nodes:
        around = [layout.groups[group_index].name for group_index in node.groups]
        states[node.name] = state_of(stated_items, node.name, around)
    for fabric in skeleton.fabrics:
        for number, seat in enumerate(fabric.seats):
            states[seat.name] = state_of(stated_items, seat.name, groups_around(skeleton, fabric, number))
    return states


def dead_ports(spec: ClusterSpec) -> Mapping[str, frozenset[str]]:
    """Ports out of service by switch; their cables move to spare ports."""
    ports: dict[str, set[str]] = defaultdict(set)
    for item in spec.exceptions:
        if item.device and item.port and item.state == OUT_OF_SERVICE:
            ports[item.device].add(item.port)
    return {device: frozenset(names) for device, names in ports.items()}
