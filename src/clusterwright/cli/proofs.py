"""Making several proofs of one tree at once: forked processes share what was read and what the first proof parsed."""

from __future__ import annotations

import multiprocessing
import os
from typing import TYPE_CHECKING

from clusterwright.output.forked import fan_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.proofs.check import ProofCheck, Verdict
    from clusterwright.proofs.tree import RenderedTree

_LONG = frozenset({"isolation", "reachability", "ethernet-failures"})
_WORTH_FORKING = 2000
"""Files from which on two processes are faster than one; a lab is proven before a process has started."""


def prove(tree: RenderedTree, checks: Sequence[ProofCheck]) -> list[tuple[ProofCheck, Verdict]]:
    """The verdicts of those of ``checks`` that apply to the tree, in their order.

    Raises VerifyError for text that does not parse.
    """
    from clusterwright.proofs.reading import read_together

    read_together(reading for check in checks for reading in check.readings(tree))
    chosen = [check for check in checks if check.applies(tree)]
    # One after another, the first check parses for those that follow: so it goes before the processes part.
    done = [(check, check.run(tree)) for check in chosen[:1]]
    rest = chosen[1:]
    if len(tree.files) < _WORTH_FORKING or len(rest) < 2:
        return [*done, *((check, check.run(tree)) for check in rest)]
    # Those that take long go first, so that the processes end at about the same time.
    order = sorted(range(len(rest)), key=lambda at: rest[at].name not in _LONG)
    following = multiprocessing.get_context("fork").Value("i", 0)

    def take_turns(_: int) -> list[tuple[int, Verdict]]:
        found: list[tuple[int, Verdict]] = []
        while True:
            with following.get_lock():
                at = following.value
                following.value += 1
            if at >= len(order):
                return found
            found.append((order[at], rest[order[at]].run(tree)))

    verdicts = dict(fan_out(take_turns, range(min(os.cpu_count() or 1, len(rest)))))
    return [*done, *((check, verdicts[at]) for at, check in enumerate(rest))]
