"""From spec to plan: devices with names and places, cables with ports and addresses.

The skeleton decides which devices are joined; here everything gets its port, address, AS number and GUID. Pure: no
clock, no randomness, no order that depends on hashing.
"""

from __future__ import annotations

from itertools import chain

from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.plan.cabling import cable_fabric
from clusterwright.plan.model import Device, Plan
from clusterwright.plan.placing import place_nodes, place_switches
from clusterwright.plan.ports import PortShortage
from clusterwright.plan.racks.filling import fill_racks
from clusterwright.plan.racks.lengths import CableRuns
from clusterwright.plan.service import service_of
from clusterwright.plan.skeleton import Skeleton, build_skeleton
from clusterwright.spec.model import ClusterSpec


def build_plan(spec: ClusterSpec, skeleton: Skeleton | None = None) -> Plan:
    """Expand a spec. The rules have to hold (``lint``); SpecError names the tier of a switch without enough ports."""
    if skeleton is None:
        skeleton = build_skeleton(spec)
    racks = fill_racks(spec, skeleton)
    nodes = place_nodes(spec, skeleton, racks)
    switches = place_switches(spec, skeleton, racks)
    devices: list[Device] = [*nodes]
    groups = (*skeleton.layout.groups, *racks.added)
    by_name = {device.name: device for device in chain(nodes, *switches)}
    service = service_of(spec, by_name.values())
    runs = CableRuns(spec, groups, by_name)
    cables = []
    subnets = []
    for fabric, placed in zip(skeleton.fabrics, switches, strict=True):
        devices.extend(placed)
        try:
            fabric_cables, fabric_subnets = cable_fabric(
                spec, skeleton.layout, fabric, switches=placed, nodes=nodes, service=service, runs=runs
            )
        except PortShortage as error:
            raise _shortage(spec, fabric.fabric.path, error) from error
        cables.extend(fabric_cables)
        subnets.extend(fabric_subnets)
    return Plan(spec=spec, groups=groups, devices=tuple(devices), cables=tuple(cables), subnets=tuple(subnets))


def _shortage(spec: ClusterSpec, path: tuple[str | int, ...], error: PortShortage) -> SpecError:
    return SpecError(
        [
            Finding(
                code="CW201",
                severity=Severity.ERROR,
                message=f"A switch has too few ports: {error}.",
                hint="Use a larger model, more switches in the tier, or fewer links.",
                position=spec.document.locate(path),
            )
        ]
    )
