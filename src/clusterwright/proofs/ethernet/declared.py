"""A fabric of the text and the fabric of the spec that it is meant to be."""

from __future__ import annotations

from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.fabric import Fabric


def declared(tree: RenderedTree, fabric: RoutedFabric) -> Fabric | None:
    """A fabric as the spec has it; None where there is no spec, or where none of its switches is planned."""
    planned = tree.declaration.ethernet if tree.declaration is not None else {}
    return next((planned[router.device] for router in fabric.routers if router.device in planned), None)


def has_uplinks(fabric: Fabric) -> bool:
    """Whether a fabric has switches above others."""
    return len(fabric.tiers) > 1
