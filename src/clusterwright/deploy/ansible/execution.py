"""Distribution of devices over execution nodes, by pod.

A pod stays together, because it fails together: if an execution node is lost, others take over its pods, and their own
pods go on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clusterwright.finding import ClusterwrightError
from clusterwright.given_file import read_given
from clusterwright.spec.execution import MESH_TLS


@dataclass(frozen=True, slots=True)
class MeshNode:
    """``name`` is its identity on the mesh; ``pods`` are assigned to it, all others to the node with fewest devices."""

    name: str
    pods: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConnectedMesh:
    """The execution nodes of a cluster, seen from the control node.

    ``control_socket`` is that of the control node's own receptor. ``pods`` maps each device to its pod, for the whole
    cluster: shares are computed over all of it, so that independent runs use the same ones. A node counts as lost after
    ``lost_after_s`` without a route on the mesh, or ``silent_after_s`` without output of its worker, which sends a
    keepalive every few seconds.
    """

    control_socket: Path
    nodes: tuple[MeshNode, ...]
    pods: Mapping[str, str]
    lost_after_s: float
    silent_after_s: float
    tls: str = MESH_TLS

    def partition(self, devices: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Execution node -> its share of ``devices``, in their order; no node without devices.

        Every device is in one share; a device without a pod is in the first node's.
        """
        homes = home_of_pods(Counter(self.pods.values()), self.nodes)
        shares: dict[str, list[str]] = {}
        for device in devices:
            shares.setdefault(homes.get(self.pods.get(device, ""), self.nodes[0].name), []).append(device)
        return {name: tuple(share) for name, share in shares.items()}


def read_execution(path: Path) -> ConnectedMesh:
    """Read the control node's file of its execution nodes. Raises ClusterwrightError."""
    try:
        document = json.loads(read_given(path))
        nodes = tuple(MeshNode(str(name), tuple(pods)) for name, pods in document["nodes"].items())
        execution = ConnectedMesh(
            path.parent / document["control_socket"],
            nodes,
            dict(document["pods"]),
            lost_after_s=float(document["lost_after_s"]),
            silent_after_s=float(document["silent_after_s"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ClusterwrightError(
            f"{path}: this is no file of execution nodes; the control node's tree has one under etc/clusterwright/"
        ) from None
    if not nodes:
        raise ClusterwrightError(f"{path}: it names no execution node; leave `execution` out of the access file")
    return execution


def home_of_pods(sizes: Mapping[str, int], nodes: Sequence[MeshNode]) -> dict[str, str]:
    """Pod -> its node of ``nodes`` (at least one). ``sizes`` is the number of devices of each pod.

    Pods named by a node are assigned to it, the others, largest first, to the node with the fewest devices: without
    named pods, the shares of two nodes differ by no more than the largest pod.
    """
    loads = {node.name: 0 for node in nodes}
    homes: dict[str, str] = {}
    for node in reversed(nodes):  # the first node naming a pod counts
        homes.update((pod, node.name) for pod in node.pods if pod in sizes)
    for pod, name in homes.items():
        loads[name] += sizes[pod]
    for pod in sorted(sizes.keys() - homes.keys(), key=lambda pod: (-sizes[pod], pod)):
        homes[pod] = min(loads, key=lambda name: loads[name])
        loads[homes[pod]] += sizes[pod]
    return homes
