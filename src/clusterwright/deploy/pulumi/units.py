"""Divide a plan into stacks, which may fail together, and units, which change together.

A stack is a blast radius: a pod, or the layer above the pods. A unit is one resource of it: a rack with its own
switches and its nodes, or a single switch or service machine. Service machines replace each other, so those of a rack
must be able to change one after another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError
from clusterwright.nearest_name import did_you_mean
from clusterwright.plan.pod_names import layers

if TYPE_CHECKING:  # a stack's program with a manifest needs no plan
    from clusterwright.plan.model import Device, Plan

UPPER = "upper"
SERVICE = "service"

KINDS = {"rack": "Rack", "switch": "Switch", "service": "Service"}
"""A unit's kind and the name of its resource type in the Pulumi package ``clusterwright``."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One resource: ``kind`` is ``rack``, ``switch`` or ``service``; ``pod`` is "" above the pods."""

    name: str
    kind: str
    pod: str
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stack:
    """One Pulumi stack: ``name`` is ``<cluster>-<layer>``, ``layer`` its name on the command line.

    A layer is ``upper``, or that of a pod (``plan/pod_names.py``).
    """

    name: str
    layer: str
    pod: str
    units: tuple[Unit, ...]

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of all units, in their order."""
        return tuple(chain.from_iterable(unit.devices for unit in self.units))


def cut(plan: Plan) -> tuple[Stack, ...]:
    """All stacks of a plan in deployment order; every device is in exactly one unit.

    The upper layer comes first: pods depend on it, so a fault there stops the update before any pod is touched, and a
    pod's uplinks come up with neighbours already configured for them.
    """
    stacks: list[Stack] = []
    upper = tuple(_units(plan, ""))
    if upper:
        stacks.append(Stack(name=f"{plan.name}-{UPPER}", layer=UPPER, pod="", units=upper))
    for layer, pod in layers(plan).items():
        stacks.append(Stack(name=f"{plan.name}-{layer}", layer=layer, pod=pod, units=tuple(_units(plan, pod))))
    return tuple(stacks)


def choose(stacks: Collection[Stack], layers: Collection[str]) -> tuple[Stack, ...]:
    """The stacks of the named layers (or pods) in deployment order; all of them if none is named.

    Raises ClusterwrightError for an unknown layer.
    """
    unknown = [layer for layer in layers if not any(layer in (stack.layer, stack.pod) for stack in stacks)]
    if unknown:
        names = [stack.layer for stack in stacks]
        shown = ", ".join(names if len(names) <= 12 else [*names[:10], "...", names[-1]])
        message = f"there is no layer {unknown[0]!r}; this cluster has {shown}. {did_you_mean(unknown[0], names)}"
        raise ClusterwrightError(message.rstrip())
    return tuple(stack for stack in stacks if not layers or stack.layer in layers or stack.pod in layers)


def stacks_of_devices(stacks: Collection[Stack], devices: Collection[str]) -> tuple[Stack, ...]:
    """The ``stacks`` with one of ``devices``, in their order.

    Raises ClusterwrightError for a device in none of them.
    """
    device_names = set(chain.from_iterable(stack.devices for stack in stacks))
    for name in devices:
        if name not in device_names:
            shown = ", ".join(stack.name for stack in stacks)
            message = f"there is no device {name!r} in {shown}. {did_you_mean(name, device_names)}"
            raise ClusterwrightError(message.rstrip())
    return tuple(stack for stack in stacks if units_of_devices(stack, devices))


def units_of_devices(stack: Stack, devices: Collection[str]) -> tuple[str, ...]:
    """Names of the units of ``stack`` with one of ``devices``."""
    return tuple(unit.name for unit in stack.units if any(name in devices for name in unit.devices))


def _units(plan: Plan, pod: str) -> Iterator[Unit]:
    racks: dict[str, list[str]] = {}
    single: list[Device] = []
    for device in plan.devices:
        if device.pod != pod:
            continue
        is_of_rack = bool(device.node_group) or device.group == device.rack
        if pod and device.rack and device.role != SERVICE and is_of_rack:
            racks.setdefault(device.rack, []).append(device.name)
        else:
            single.append(device)
    for rack in sorted(racks):
        yield Unit(name=rack, kind="rack", pod=pod, devices=tuple(sorted(racks[rack])))
    for device in sorted(single, key=lambda device: device.name):
        kind = "switch" if device.kind == "switch" else "service"
        yield Unit(name=device.name, kind=kind, pod=pod, devices=(device.name,))
