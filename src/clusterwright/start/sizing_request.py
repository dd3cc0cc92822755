"""A request for a first spec, and its sizing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.spec.hardware.models import HardwareModel


FIRST_DISTRIBUTION = "Debian 13"


class CannotSizeError(ClusterwrightError):
    """No fabric of these switches carries these nodes; the message names the port or model in the way."""


@dataclass(frozen=True, slots=True)
class NodesOfTenant:
    """A node group, with the suffix ``tail`` for the names of its own flows."""

    name: str
    prefix: str
    count: int
    tail: str


@dataclass(frozen=True, slots=True)
class SizingRequest:
    """A cluster described by the options of ``init``."""

    name: str
    nodes: int
    node_model: HardwareModel
    fabric: str
    switches: tuple[HardwareModel, ...]
    """Models for the GPUs' fabric from the leaves up; the last one serves for the tiers above it too. Empty leaves the
    choice to the sizing."""
    oversubscription: float
    """Bandwidth of the nodes over that of the leaves' uplinks."""
    rails: bool
    """True for a leaf for each rail of a pod, False for a leaf for each rack."""
    storage: HardwareModel | None
    scheduler: str
    tenants: int = 1
    """They share switches, and have racks, pods and zones of their own."""
    hardware: tuple[str, ...] = ()
    """Catalogue files named in the spec."""
    distribution: str = FIRST_DISTRIBUTION
    """Name of the nodes' Linux distribution."""
    one_switch: bool | None = None
    """Whether one switch joins the GPUs; None leaves the choice to the sizing."""
    bare: bool = False
    """Whether the spec ends with the GPUs' fabric."""

    @property
    def groups(self) -> tuple[NodesOfTenant, ...]:
        """The node groups, equal in size or one node larger: one called compute, or one for each tenant."""
        if self.tenants == 1:
            return (NodesOfTenant(name="compute", prefix="gpu", count=self.nodes, tail=""),)
        nodes_each, more = divmod(self.nodes, self.tenants)
        groups = []
        for number in range(1, self.tenants + 1):
            count = nodes_each + 1 if number <= more else nodes_each
            groups.append(
                NodesOfTenant(name=f"tenant{number}", prefix=f"t{number}gpu", count=count, tail=f"-tenant{number}")
            )
        return tuple(groups)


@dataclass(frozen=True, slots=True)
class SizedTier:
    """One tier as the spec writes it; ``up_links`` 0 for the uppermost. ``switches`` counts them in the cluster."""

    role: str
    model: HardwareModel
    per: str
    join: str
    count: int
    switches: int
    up_links: int = 0
    up_speed_gbps: int = 0


@dataclass(frozen=True, slots=True)
class Sizing:
    """Tiers of every fabric from below, and the layout of nodes: ``pod_racks`` racks of ``rack_nodes`` nodes in a
    pod."""

    backend: tuple[SizedTier, ...]
    frontend: tuple[SizedTier, ...]
    management: tuple[SizedTier, ...]
    rack_nodes: int
    pod_racks: int
    storage_count: int
    service_count: int
    is_on_one_switch: bool = False
    """Whether one switch joins all GPUs, and nodes keep the system installed by the user."""
