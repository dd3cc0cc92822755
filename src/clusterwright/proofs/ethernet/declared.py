"""The fabric of the spec behind a fabric of the text."""

from __future__ import annotations

from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.fabric import Fabric


def declared(tree: RenderedTree, fabric: RoutedFabric) -> Fabric | None:
    """The fabric of the spec with these switches; None without a spec or a planned switch."""
    planned = tree.declaration.ethernet if tree.declaration is not None else {}
    return next((planned[router.device] for router in fabric.routers if router.device in planned), None)


def has_uplinks(fabric: Fabric) -> bool:
    """Whether a fabric has switches above others."""
    return len(fabric.tiers) > 1
