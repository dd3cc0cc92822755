"""Scans merged into one graph of numbered ends: who is cabled to whom, and who claims to be somebody else.

An end is ``node << 8 | port``: InfiniBand's port numbers have 8 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.observe.ibnetdiscover import ReportedLink, ReportedNode, Scan

PORT_BITS = 8
PORT_MASK = (1 << PORT_BITS) - 1
# A Quantum switch that reduces in the network (SHARP) lists its aggregation node as an adapter on a port of its own.
_AGGREGATION = "Aggregation Node"


@dataclass(frozen=True, slots=True)
class DiscoveredSubnet:
    """What was seen. ``peer`` has every link in both directions; ``by_port_guid`` finds an adapter's end.

    ``rates`` gives lanes and lane speed by end; ``contested`` lists ends that two others claim as their peer, with the
    ends that lost; ``duplicates`` are GUIDs that ibnetdiscover itself met twice.
    """

    nodes: tuple[ReportedNode, ...]
    by_guid: Mapping[int, int]
    by_port_guid: Mapping[int, int]
    peer: Mapping[int, int]
    rates: Mapping[int, tuple[int, str]]
    contested: Mapping[int, tuple[int, ...]]
    duplicates: tuple[int, ...]

    def ends_of(self, node: int) -> list[int]:
        """The cabled ends of a node, by port."""
        base = node << PORT_BITS
        return [base + port for port in range(1, PORT_MASK) if base + port in self.peer]


def merge(scans: Sequence[Scan]) -> DiscoveredSubnet:
    """Merge scans of the same subnet; what several of them have is counted once.

    A link that only one side lists is believed, unless it contradicts another one.
    """
    nodes, by_guid = _nodes(scans)
    claims: dict[int, int] = {}
    rates: dict[int, tuple[int, str]] = {}
    by_port_guid: dict[int, int] = {}
    contested: dict[int, list[int]] = {}
    aside = {at for at, node in enumerate(nodes) if node.kind == "adapter" and _AGGREGATION in node.description}
    for link in _links(scans):
        near_end = by_guid[link.guid] << PORT_BITS | link.port
        other = by_guid[link.peer] << PORT_BITS | link.peer_port
        if link.port_guid:
            by_port_guid[link.port_guid] = near_end
        if link.peer_port_guid:
            by_port_guid.setdefault(link.peer_port_guid, other)
        if aside and (near_end >> PORT_BITS in aside or other >> PORT_BITS in aside):
            continue
        if claims.setdefault(near_end, other) != other:
            contested.setdefault(near_end, []).append(other)
        if link.width:
            rates[near_end] = (link.width, link.rate)
    peer: dict[int, int] = {}
    for near_end, other in claims.items():
        back = claims.get(other)
        if back == near_end or back is None:
            taken = peer.get(other)
            if taken is None or taken == near_end:
                peer[near_end] = other
                peer[other] = near_end
                continue
        contested.setdefault(other, []).append(near_end)
    duplicates = tuple(dict.fromkeys(guid for scan in scans for guid in scan.duplicates))
    losers = {end: tuple(others) for end, others in contested.items()}
    seen = tuple(nodes)
    return DiscoveredSubnet(
        nodes=seen,
        by_guid={g: at for g, at in by_guid.items() if at not in aside},
        by_port_guid=by_port_guid,
        peer=peer,
        rates=rates,
        contested=losers,
        duplicates=duplicates,
    )


def _nodes(scans: Sequence[Scan]) -> tuple[list[ReportedNode], dict[int, int]]:
    """Every node once, and its index by GUID."""
    nodes: list[ReportedNode] = []
    by_guid: dict[int, int] = {}
    for scan in scans:
        for node in scan.nodes:
            if node.guid not in by_guid:
                by_guid[node.guid] = len(nodes)
                nodes.append(node)
    return nodes, by_guid


def _links(scans: Iterable[Scan]) -> Iterable[ReportedLink]:
    for scan in scans:
        yield from scan.links
