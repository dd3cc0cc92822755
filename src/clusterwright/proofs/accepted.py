"""Single failures that a spec accepts with its reason: said, and no fault of the design."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.tree import RenderedTree


def unaccepted(
    tree: RenderedTree, fabric: str | None, found: Sequence[Counterexample]
) -> tuple[list[Counterexample], list[str]]:
    """Of what single failures in a fabric of the spec do: what refutes the claim, and what is noted instead."""
    reason = tree.declaration.accepted.get(fabric) if tree.declaration is not None and fabric is not None else None
    if reason is None or not found:
        return list(found), []
    more = f"; so it is in {len(found):,} cases" if len(found) > 1 else ""
    return [], [f"{fabric}: {found[0]}{more}. The spec accepts it: {reason}"]
