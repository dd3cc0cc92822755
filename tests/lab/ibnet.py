"""An InfiniBand fabric as a net file for ibsim, so that a real subnet manager can route the planned cabling."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.hosts.opensm.writer.fabric import fabric_file
from clusterwright.plan.model import Plan


@dataclass(frozen=True, slots=True)
class SimulatedFabric:
    """A net file and the limits that ibsim must be started with: adapters and switches, switches, ports of all."""

    text: str
    nodes: int
    switches: int
    ports: int


def simulate_fabric(plan: Plan, fabric: str) -> SimulatedFabric:
    """The net file of one InfiniBand fabric of a plan: the rendered one. Cables out of service are unplugged."""
    file = fabric_file(plan, fabric)
    return SimulatedFabric(file.text, file.chips + file.adapters, file.chips, file.ports)
