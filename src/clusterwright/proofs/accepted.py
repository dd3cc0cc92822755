"""Single failures accepted by the spec with a reason: notes instead of counterexamples."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.tree import RenderedTree


def unaccepted(
    tree: RenderedTree, fabric: str | None, counterexamples: Sequence[Counterexample]
) -> tuple[list[Counterexample], list[str]]:
    """Split counterexamples of single failures into refuting ones and notes on those accepted by the spec."""
    reason = tree.declaration.accepted.get(fabric) if tree.declaration is not None and fabric is not None else None
    if reason is None or not counterexamples:
        return list(counterexamples), []
    more = f"; so it is in {len(counterexamples):,} cases" if len(counterexamples) > 1 else ""
    return [], [f"{fabric}: {counterexamples[0]}{more}. The spec accepts it: {reason}"]
