"""Equal-cost paths from networkx's shortest paths over a plan's cables: knows no BGP, no policy and no AS number."""

from __future__ import annotations

from collections import defaultdict

import networkx

from clusterwright.extras.lab.twin import Twin


def widths(twin: Twin) -> dict[tuple[str, str], int]:
    """How many links of each switch lie on shortest paths to each rack switch, by (switch, rack switch)."""
    parallel: dict[tuple[str, str], int] = defaultdict(int)
    for cable in twin.cables:
        if cable.in_service and {cable.a.device, cable.b.device} <= set(twin.view_of):
            parallel[cable.a.device, cable.b.device] += 1
            parallel[cable.b.device, cable.a.device] += 1
    graph = networkx.Graph(list(parallel))
    found = {}
    for rack in (name for name in twin.racks if twin.view_of[name].device.tier == 0):
        distance = networkx.single_source_shortest_path_length(graph, rack)
        for switch in distance:
            if switch != rack:
                nearer = [near for near in graph[switch] if distance[near] == distance[switch] - 1]
                found[switch, rack] = sum(parallel[switch, near] for near in nearer)
    return found
