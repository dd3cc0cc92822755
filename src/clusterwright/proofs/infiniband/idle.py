"""Shortages of a fabric with parts drained or stopped by the spec: notes instead of faults of the files."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.and_more import and_more
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.infiniband.subnet import ManagedSubnet
from clusterwright.proofs.tree import RenderedTree

_NAMED = 4
_SHOWN = 3


def excused(
    tree: RenderedTree, subnet: ManagedSubnet, counterexamples: Sequence[Counterexample]
) -> tuple[list[Counterexample], list[str], str]:
    """Counterexamples against a claim on the whole fabric, or notes instead of them and the reason of no proof.

    A spec that takes parts away accepts a shortage, but then nothing is proven either.
    """
    idle: tuple[str, ...] = ()
    if tree.declaration is not None:
        name = tree.declaration.subnet_with(adapter.guid for adapter in subnet.fabric.adapters)
        idle = tree.declaration.idle.get(name or "", ())
    if not idle or not counterexamples:
        return list(counterexamples), [], ""
    without = f"without {and_more(list(idle), _NAMED)}"
    lead = f"{without}, which the spec drains or takes out of service"
    notes = [f"{lead}: {counterexample.message}" for counterexample in counterexamples[:_SHOWN]]
    return [], notes, f"not proven {without}"
