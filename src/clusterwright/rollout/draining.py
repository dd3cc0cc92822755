"""Devices with changed files after an exception: the device concerned, its neighbours, and its managers.

Only devices with the name of the concerned one in their files are rendered without the exception and with it: itself,
the other ends of its cables, the machines of services, and the hosts of subnet managers. A machine of services is in
the files of all. ``tests/rollout/test_draining.py`` compares that with rendering everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from clusterwright.deploy.pulumi.units import SERVICE
from clusterwright.hosts.opensm.writer.configuration import manager_hosts
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan


def devices_changed(before: Plan, after: Plan, devices: Iterable[str]) -> tuple[str, ...]:
    """Devices with different files in two plans, in order; the plans differ in an exception about ``devices``."""
    concerned: set[str] = set()
    for device in devices:
        concerned.update(_concerned(before, device))
        concerned.update(_concerned(after, device))
    names = [device.name for device in after.devices if device.name in concerned]
    return tuple(name for name in names if _files(before, name, concerned) != _files(after, name, concerned))


def _concerned(plan: Plan, device: str) -> Iterator[str]:
    if plan.by_name[device].role == SERVICE:
        yield from plan.by_name
        return
    yield device
    for cable in plan.cables_of.get(device, ()):
        yield cable.a.device
        yield cable.b.device
    yield from (device.name for device in plan.devices if device.role == SERVICE)
    for fabric in plan.spec.fabrics:
        if fabric.subnet_manager is not None:
            yield from manager_hosts(plan, fabric.name)


def _files(plan: Plan, device: str, concerned: Collection[str]) -> frozenset[tuple[str, int, str]]:
    """A device's files, without a boot server's archives for other nodes than the ``concerned`` ones."""
    files = Rendering(plan).for_nodes(device, concerned)
    return frozenset((file.path, file.mode, file.sha256) for file in files)
