"""What somebody who starts a cluster says of it, and what a sizing of it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.spec.hardware.models import HardwareModel


FIRST_DISTRIBUTION = "Debian 13"


class CannotSizeError(ClusterwrightError):
    """No fabric of these switches carries these nodes; the message says which port or model is in the way."""


@dataclass(frozen=True, slots=True)
class NodesOfTenant:
    """A node group, and what the names of flows of its own end in."""

    name: str
    prefix: str
    count: int
    tail: str


@dataclass(frozen=True, slots=True)
class Wish:
    """A cluster in a few words.

    ``switches`` are the models wanted for the GPUs' fabric from the leaves up; the last one serves for the tiers above
    it too, and none leaves the choice to the sizing. ``oversubscription`` is the bandwidth of the nodes over that of
    the leaves' uplinks. With ``rails`` a pod has one leaf for each rail, otherwise a rack has one for all. ``tenants``
    share switches, and have racks, pods and zones of their own. ``hardware`` are catalogue files that it names.
    """

    name: str
    nodes: int
    node_model: HardwareModel
    fabric: str
    switches: tuple[HardwareModel, ...]
    oversubscription: float
    rails: bool
    storage: HardwareModel | None
    scheduler: str
    tenants: int = 1
    hardware: tuple[str, ...] = ()
    distribution: str = FIRST_DISTRIBUTION
    """What runs on nodes."""
    one_switch: bool | None = None
    """Whether one switch joins the GPUs; None where the sizing decides."""
    bare: bool = False
    """Whether the spec ends with the GPUs' fabric."""

    @property
    def groups(self) -> tuple[NodesOfTenant, ...]:
        """The node groups, as large as each other or one node larger: one called compute, or one for each tenant."""
        if self.tenants == 1:
            return (NodesOfTenant(name="compute", prefix="gpu", count=self.nodes, tail=""),)
        nodes_each, more = divmod(self.nodes, self.tenants)
        return tuple(
            NodesOfTenant(name=f"tenant{at}", prefix=f"t{at}gpu", count=nodes_each + (at <= more), tail=f"-tenant{at}")
            for at in range(1, self.tenants + 1)
        )


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
    """Tiers of every fabric from below, and how nodes stand: ``pod_racks`` racks of ``rack_nodes`` nodes in a pod."""

    backend: tuple[SizedTier, ...]
    frontend: tuple[SizedTier, ...]
    management: tuple[SizedTier, ...]
    rack_nodes: int
    pod_racks: int
    storage_count: int
    service_count: int
    is_on_one_switch: bool = False
    """Whether one switch joins all GPUs, and nodes keep the system that somebody installed."""
