"""Making several proofs of one tree, one after another in one process.

Two processes would end a second earlier where processors are idle, and take a fifth more time of them: each copies
every page of the network that it looks at, as looking counts references, and works out anew what proofs have in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.proofs.check import ProofCheck, Verdict
    from clusterwright.proofs.tree import RenderedTree


def prove(tree: RenderedTree, checks: Sequence[ProofCheck]) -> list[tuple[ProofCheck, Verdict]]:
    """The verdicts of those of ``checks`` that apply to the tree, in their order.

    Raises VerifyError for text that does not parse.
    """
    from clusterwright.proofs.reading import read_together

    read_together(reading for check in checks for reading in check.readings(tree))
    return [(check, check.run(tree)) for check in checks if check.applies(tree)]
