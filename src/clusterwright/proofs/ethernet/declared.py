"""The fabric of the spec behind a fabric of the text."""

from __future__ import annotations

from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.fabric import Fabric


def declared(tree: RenderedTree, fabric: RoutedFabric) -> Fabric | None:
    """The fabric of the spec with these switches; None without a spec or a planned switch."""
    if tree.declaration is None:
        return None
    for router in fabric.routers:
        if router.device in tree.declaration.ethernet:
            return tree.declaration.ethernet[router.device]
    return None


def has_uplinks(fabric: Fabric) -> bool:
    """Whether a fabric has switches above others."""
    return len(fabric.tiers) > 1
