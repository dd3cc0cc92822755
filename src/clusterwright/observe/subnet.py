"""Scans merged into one graph of numbered ends, with contradicting links and duplicate GUIDs.

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
    """The observed nodes and links. ``peer`` has every link in both directions; ``by_port_guid`` has adapters' ends.

    ``rates`` gives lanes and lane speed by end; ``contested`` lists ends that two others claim as their peer, with the
    rejected ends; ``duplicates`` are GUIDs that ibnetdiscover itself reported twice.
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
    """Merge scans of the same subnet; nodes and links in several scans are counted once.

    A link listed by one side alone is accepted, unless it contradicts another one.
    """
    nodes, by_guid = _nodes(scans)
    peer_claims: dict[int, int] = {}
    rates: dict[int, tuple[int, str]] = {}
    by_port_guid: dict[int, int] = {}
    contested: dict[int, list[int]] = {}
    aggregation_nodes = _aggregation_nodes(nodes)
    for link in _links(scans):
        node, peer_node = by_guid[link.guid], by_guid[link.peer]
        near_end = node << PORT_BITS | link.port
        far_end = peer_node << PORT_BITS | link.peer_port
        if link.port_guid:
            by_port_guid[link.port_guid] = near_end
        if link.peer_port_guid:
            by_port_guid.setdefault(link.peer_port_guid, far_end)
        if node in aggregation_nodes or peer_node in aggregation_nodes:
            continue
        if peer_claims.setdefault(near_end, far_end) != far_end:
            contested.setdefault(near_end, []).append(far_end)
        if link.width:
            rates[near_end] = (link.width, link.rate)
    peer: dict[int, int] = {}
    for near_end, far_end in peer_claims.items():
        is_confirmed = peer_claims.get(far_end, near_end) == near_end
        if is_confirmed and peer.get(far_end, near_end) == near_end:
            peer[near_end] = far_end
            peer[far_end] = near_end
        else:
            contested.setdefault(far_end, []).append(near_end)
    duplicates: dict[int, None] = {}
    for scan in scans:
        duplicates.update(dict.fromkeys(scan.duplicates))
    return DiscoveredSubnet(
        nodes=tuple(nodes),
        by_guid={guid: index for guid, index in by_guid.items() if index not in aggregation_nodes},
        by_port_guid=by_port_guid,
        peer=peer,
        rates=rates,
        contested={end: tuple(rejected_ends) for end, rejected_ends in contested.items()},
        duplicates=tuple(duplicates),
    )


def _aggregation_nodes(nodes: Sequence[ReportedNode]) -> set[int]:
    """Indices of the switches' aggregation nodes (SHARP)."""
    indices = set()
    for index, node in enumerate(nodes):
        if node.kind == "adapter" and _AGGREGATION in node.description:
            indices.add(index)
    return indices


def _nodes(scans: Sequence[Scan]) -> tuple[list[ReportedNode], dict[int, int]]:
    """The nodes without duplicates, and their indices by GUID."""
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
