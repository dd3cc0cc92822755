"""Locating a wrong policy line: the first line missing on other switches of the tier."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice

from clusterwright.facts.reader import Unsupported
from clusterwright.facts.router import Mark, Router, shown
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS

_ENOUGH = 5  # neighbours to compare with; more would only cost time


def odd_mark(tree: RenderedTree, fabric: RoutedFabric, router: Router, fallback: Mark) -> Mark:
    """The first policy line missing on the other switches of this tier; ``fallback`` without one."""
    of_tier = (peer for peer in fabric.routers if peer.stem == router.stem)
    others = list(islice((peer for peer in of_tier if peer is not router), _ENOUGH))
    usual_lines = set(chain.from_iterable(_lines(tree, other) for other in others))
    if usual_lines:
        for line in _lines(tree, router):
            if line not in usual_lines:
                return (f"\n{line}\n",)
    return fallback


def _lines(tree: RenderedTree, router: Router) -> Iterable[str]:
    """Lines defining policies, without those holding the switch's own prefixes."""
    addresses = {shown(prefix[0]) for prefix, _ in router.networks}
    for reader in READERS:
        if reader.file != router.ports_file or isinstance(reader.policy_lines, Unsupported):
            continue
        for line in reader.policy_lines(tree.text(router.device, router.bgp_file) or ""):
            if not any(f"{address}/" in line for address in addresses):
                yield line
        return
