"""Pools of headroom: a switch's pool holds the headroom promised to all its ports, and its chip holds the pool.

All ports may pause at once, so a pool must hold the sum of its promises. Without a pool in the text, the chip sizes its
own by the speed of each port, and there is nothing to compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from clusterwright.proofs.check import Counterexample, Fact, example
from clusterwright.proofs.ethernet.declared import declared
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree


def pool_faults(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """Pools smaller than the headroom promised to their ports, and pools larger than the chip's memory."""
    wanted = declared(tree, fabric)
    for router in fabric.routers:
        tier = wanted.tier(router.stem) if wanted is not None else None
        buffer = tier.model.buffer if tier is not None else None
        for pool in router.pools:
            if pool.promised_bytes > pool.headroom_bytes:
                ratio = f", {pool.promised_bytes / pool.headroom_bytes:.2f}:1" if pool.headroom_bytes else ""
                message = (
                    f"the ports are promised {pool.promised_bytes:,} bytes of headroom and pool {pool.name} has "
                    f"{pool.headroom_bytes:,}{ratio}: it runs out when all of them pause"
                )
                yield example(tree, router.device, router.ports_file, pool.mark, message)
            if pool.shared_bytes <= 0:
                message = f"pool {pool.name} has nothing to share beside {pool.headroom_bytes:,} bytes of headroom"
                yield example(tree, router.device, router.ports_file, pool.mark, message)
            size = pool.headroom_bytes + pool.shared_bytes
            if buffer is not None and size > buffer.size_bytes:
                message = f"pool {pool.name} takes {size:,} bytes with its headroom, the chip has {buffer.size_bytes:,}"
                yield example(tree, router.device, router.ports_file, pool.mark, message)


def pool_facts(fabric: RoutedFabric) -> Iterator[Fact]:
    """The largest promised fraction of a pool, and the number of switches leaving headroom to their chip."""
    pools = chain.from_iterable(router.pools for router in fabric.routers)
    shares = [pool.promised_bytes / pool.headroom_bytes for pool in pools if pool.headroom_bytes]
    if shares:
        yield Fact(f"{fabric.name}: headroom promised over what the pool has, at most", f"{max(shares):.2f}:1")
    silent = sum(1 for router in fabric.routers if not router.pools)
    if silent:
        yield Fact(f"{fabric.name}: switches whose chip sizes the headroom", silent)
