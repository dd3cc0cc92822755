"""Single failures that a spec accepts with its reason: notes, and no fault of the design."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.tree import RenderedTree


def unaccepted(
    tree: RenderedTree, fabric: str | None, counterexamples: Sequence[Counterexample]
) -> tuple[list[Counterexample], list[str]]:
    """Counterexamples of single failures that refute a fabric's claim, and notes on those that the spec accepts."""
    reason = tree.declaration.accepted.get(fabric) if tree.declaration is not None and fabric is not None else None
    if reason is None or not counterexamples:
        return list(counterexamples), []
    more = f"; so it is in {len(counterexamples):,} cases" if len(counterexamples) > 1 else ""
    return [], [f"{fabric}: {counterexamples[0]}{more}. The spec accepts it: {reason}"]
