"""Which nodes a job runs on, in the order of its ranks, and which job shares its racks.

``linear``: the first nodes in the plan's order, racks filled one after the other. ``random``: any nodes of the cluster,
in any order. ``fragmented``: every second slot, on average, of twice as many racks, in the plan's order; a job of the
same kind has the other slots.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from clusterwright.finding import ClusterwrightError
from clusterwright.simulate.network import FabricGraph, Ints
from clusterwright.simulate.scramble import scrambled

_ORDER = 3


@dataclass(frozen=True, slots=True)
class NicPlacement:
    """NIC indexes by [node in rank order, rail]: the job's, and its neighbour's (no rows when it has none)."""

    job: Ints
    neighbour: Ints


def place(network: FabricGraph, node_groups: Collection[str], ranks: int, kind: str, seed: int) -> NicPlacement:
    """Place a job of ``ranks`` GPUs on nodes of ``node_groups`` (none: any).

    Raises ClusterwrightError when the ranks are not whole nodes, or more than the cluster has in service.
    """
    nodes = [node for node in network.nodes if not node_groups or node.device.node_group in node_groups]
    if not nodes:
        raise ClusterwrightError(
            f"Fabric {network.fabric} has no GPU node in service with all of its cables; there is nothing to simulate."
        )
    # Only nodes of one kind make rails of one width.
    nodes = [node for node in nodes if node.device.model == nodes[0].device.model]
    per_node = nodes[0].gpus
    if ranks % per_node:
        raise ClusterwrightError(
            f"{ranks} ranks are not whole nodes of {per_node}: ask for a multiple, such as "
            f"{max(1, round(ranks / per_node)) * per_node}."
        )
    wanted = ranks // per_node
    if not 2 <= wanted <= len(nodes):
        raise ClusterwrightError(
            f"{ranks} ranks are {wanted} nodes; fabric {network.fabric} has {len(nodes)} in service, and a collective "
            f"needs 2 or more: ask for {2 * per_node} to {len(nodes) * per_node} ranks."
        )
    nics = np.array([node.nics for node in nodes], np.int64)
    nobody = nics[:0]
    if kind == "linear":
        return NicPlacement(nics[:wanted], nobody)
    if kind == "random":
        return NicPlacement(nics[np.argsort(scrambled(seed, _ORDER, len(nodes)))[:wanted]], nobody)
    region = nics[: 2 * wanted]
    if len(region) == wanted:
        raise ClusterwrightError("A job on every node cannot be fragmented: ask for fewer ranks.")
    drawn = np.argsort(scrambled(seed, _ORDER, len(region)))
    rest = region[np.sort(drawn[wanted:])]
    return NicPlacement(region[np.sort(drawn[:wanted])], rest if len(rest) > 1 else nobody)
