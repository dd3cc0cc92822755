"""Several proofs of one tree, one after another in one process.

Two processes would end a second earlier on idle processors, and take a fifth more processor time: each copies every
page of the network that it reads, as reading counts references, and computes the shared parts of proofs again.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.proofs.check import ProofCheck, Verdict
    from clusterwright.proofs.tree import RenderedTree


def prove(tree: RenderedTree, checks: Sequence[ProofCheck]) -> list[tuple[ProofCheck, Verdict]]:
    """The verdicts of the ``checks`` applicable to the tree, in their order."""
    from clusterwright.finding import VerifyError
    from clusterwright.proofs.reading import read_together

    with suppress(VerifyError):  # the checks of such a text fail again, and report it
        read_together(chain.from_iterable(check.readings(tree) for check in checks))
    return [(check, _verdict(check, tree)) for check in checks if check.answers(tree)]


def _verdict(check: ProofCheck, tree: RenderedTree) -> Verdict:
    """The verdict of a check. A text that it cannot read leaves it not proven, and ends no other check."""
    from clusterwright.finding import VerifyError
    from clusterwright.proofs.check import Cases, Verdict

    try:
        return check.run(tree)
    except VerifyError as error:
        return Verdict((), (), Cases("files that read", 0), unjudged=f"not proven, because {error}")
