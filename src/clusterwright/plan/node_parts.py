"""Parts of a node in a deployment: all with an image, those in ``takes`` on an existing system.

Every kind of file of a node belongs to a part, or to the system itself, left alone on an existing one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from clusterwright.plan.model import Plan
from clusterwright.spec.image import ACCOUNTS, FILTER, HEALTH, MOUNTS, NCCL, NETWORK, PARTS, SLURM

PARTS_BY_KIND: Mapping[str, tuple[str, ...]] = {
    "node-network": (NETWORK,),
    "node-qos": (NETWORK,),
    "node-rdma": (NETWORK,),
    "node-ipoib": (NETWORK,),
    "nftables": (FILTER,),
    "node-watch": (FILTER, HEALTH),  # it asks what the node check knows
    "node-logins": (ACCOUNTS,),
    "node-secrets": (ACCOUNTS,),
    "nccl": (NCCL,),
    "node-memory-exchange": (NCCL,),
    "slurm": (SLURM,),
    "kueue": (SLURM,),
    "node-health": (HEALTH,),
    "mounts": (MOUNTS,),
}
SYSTEM = "system"
# The operating system itself: certificates, programs of protected mounts and what waits for them.
OF_THE_SYSTEM = frozenset({"encryption", "node-credentials"})
# Written whatever is taken: what the spec names nodes for, and of ``node-system`` what the parts need.
WHATEVER_IS_TAKEN = frozenset({"node-system", "opensm", "opensm-fabric", "subnet-topology", "ufm", "receptor"})


def owns_part(plan: Plan, image_name: str | None, part: str) -> bool:
    """Whether deployments own a part of nodes with an image; of nodes without one they own nothing."""
    image = plan.spec.image(image_name or "")
    return image is not None and image.owns(part)


def owns_kind(plan: Plan, image_name: str | None, kind: str) -> bool:
    """Whether deployments write files of a kind onto nodes with an image."""
    image = plan.spec.image(image_name or "")
    if image is None or not image.is_existing:
        return True
    parts = PARTS_BY_KIND.get(kind)
    return kind in WHATEVER_IS_TAKEN if parts is None else all(image.owns(part) for part in parts)


def left_out_parts(plan: Plan) -> Mapping[str, tuple[str, ...]]:
    """By part, the nodes with the part owned by others; mounts and their system only if the spec mounts anything."""
    nodes: dict[str, list[str]] = {}
    mounted = set(chain.from_iterable(mount.nodes for mount in plan.spec.mounts))
    for device in plan.devices:
        image = plan.spec.image(device.image or "")
        if device.kind != "node" or image is None or not image.is_existing:
            continue
        is_mounting = device.node_group in mounted
        for part in PARTS:
            if not image.owns(part) and (part != MOUNTS or is_mounting):
                nodes.setdefault(part, []).append(device.name)
        if is_mounting:
            nodes.setdefault(SYSTEM, []).append(device.name)
    return {part: tuple(names) for part, names in nodes.items()}


def kinds_of_part(part: str) -> frozenset[str]:
    """The kinds of files in a part, or in the system."""
    if part == SYSTEM:
        return OF_THE_SYSTEM
    return frozenset(kind for kind, parts in PARTS_BY_KIND.items() if part in parts)
