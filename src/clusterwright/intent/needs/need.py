"""A row of the table of needs: client, server, port, reason and unit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.spec.address_space import address_or_none
from clusterwright.spec.isolation import BOOT, Flow, Zone
from clusterwright.spec.model import ClusterSpec, NodeGroup
from clusterwright.spec.text.document import Path
from clusterwright.spec.zone_reach import covers, zones_at, zones_of

ANY = "any"


@dataclass(frozen=True, slots=True)
class Party:
    """A client or a server."""

    name: str
    zones: tuple[str, ...] | None
    """Its zones; None if the spec cannot know them."""
    group: NodeGroup | None = None
    """Its node group; None for another machine."""
    fabric: str | None = None
    """The fabric to reach it over; None for any."""


@dataclass(frozen=True, slots=True)
class Need:
    """One row: ``topic`` is its heading, ``why`` a clause about ``whom``, ``unit`` the asking program.

    ``protocol`` is tcp, udp or any, ``low`` to ``high`` are ports, all of which have to be open. ``path`` is the origin
    in the spec. ``booting`` needs are those of starting or installing machines.
    """

    topic: str
    who: Party
    whom: Party
    protocol: str
    low: int
    high: int
    why: str
    unit: str
    path: Path
    booting: bool = False

    @property
    def port(self) -> str:
        """Protocol and ports in words: TCP port 22, UDP ports 1000 to 2000, any protocol."""
        if self.protocol == ANY:
            return "any protocol"
        if self.low == self.high:
            return f"{self.protocol.upper()} port {self.low}"
        return f"{self.protocol.upper()} ports {self.low} to {self.high}"


def meets(spec: ClusterSpec, need: Need, flow: Flow) -> bool:
    """Whether a flow opens everything needed.

    Booting machines ask zones of kind ``boot``, if there are any; the running system's filter has none of those.
    """
    source, target = spec.zone(flow.source), spec.zone(flow.target)
    if source is None or target is None:
        return False
    if need.booting:
        has_boot_zone = any(zone.kind == BOOT for zone in spec.zones)
        if has_boot_zone and target.kind != BOOT:
            return False
    elif BOOT in (source.kind, target.kind):
        return False
    if not _may_be_in(need.who, source) or not _may_be_in(need.whom, target):
        return False
    return need.protocol == ANY or flow.opens(need.protocol, need.low, need.high)


def _may_be_in(party: Party, zone: Zone) -> bool:
    """Whether a party is in a zone, as far as the spec can know."""
    return party.zones is None or zone.name in party.zones


def imaged(spec: ClusterSpec) -> Iterator[NodeGroup]:
    """The node groups with an image of the spec."""
    for group in spec.node_groups:
        if group.image is not None and spec.image(group.image) is not None:
            yield group


def imaged_party(spec: ClusterSpec, name: str) -> Iterator[Party]:
    """A node group by its name, if it runs an image."""
    for party in party_of(spec, name):
        if party.group is not None and party.group.image is not None:
            yield party


def party_of(spec: ClusterSpec, name: str, fabric: str | None = None) -> Iterator[Party]:
    """A node group by its name, with its zones: with ``fabric``, those with addresses there.

    None for an unknown group or fabric.
    """
    group = spec.node_group(name)
    if group is None:
        return
    zones = [spec.zone(zone_name) for zone_name in zones_of(spec, name)]
    zones_of_group = [zone for zone in zones if zone is not None]
    if fabric is not None:
        met_on = spec.fabric(fabric)
        if met_on is None:
            return
        zones_of_group = [zone for zone in zones_of_group if covers(spec, zone, met_on)]
    yield Party(name=name, zones=tuple(zone.name for zone in zones_of_group), group=group, fabric=fabric)


def server_at(spec: ClusterSpec, text: str) -> Party:
    """A server by its address, in all zones around it; by a name, with no address known to the spec.

    A port may follow either, but not an address of IPv6, as in the spec.
    """
    address = address_or_none(text) or address_or_none(text.partition(":")[0])
    if address is None:
        return Party(text, None)
    return Party(text, zones_at(spec, address))
