"""A fabric of the text and the fabric of the spec that it is meant to be."""

from __future__ import annotations

from clusterwright.proofs.ethernet.network import Fabric
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.fabric import Fabric as Declared


def declared(tree: RenderedTree, fabric: Fabric) -> Declared | None:
    """A fabric as the spec has it; None where there is no spec, or where none of its switches is planned."""
    planned = tree.intent.ethernet if tree.intent is not None else {}
    return next((planned[router.device] for router in fabric.routers if router.device in planned), None)
