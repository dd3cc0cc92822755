"""All answers of one spec, in the suite's order."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.evidence.answer import Basis, Evidence, ProofResult
from clusterwright.evidence.infiniband import NEEDED as NEEDED_OF_INFINIBAND
from clusterwright.evidence.infiniband import infiniband_evidence
from clusterwright.evidence.management import NEEDED as NEEDED_OF_ETHERNET
from clusterwright.evidence.management import isolation_evidence, logging_evidence
from clusterwright.evidence.suite import TESTS
from clusterwright.evidence.topology import topology_evidence
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import ProofCheck
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.tree import RenderedTree

NEEDED: tuple[ProofCheck, ...] = tuple(dict.fromkeys((*NEEDED_OF_INFINIBAND, *NEEDED_OF_ETHERNET)))
"""Proofs used by answers."""


def collect_evidence(
    plan: Plan, tree: RenderedTree, proofs: Sequence[ProofResult], node: str | None = None
) -> tuple[Evidence, ...]:
    """Answers from ``plan`` and the proofs of ``tree``; ``node`` is the node of answers about one node.

    Raises ClusterwrightError for an unknown node.
    """
    basis = Basis.TEXT if tree.rendering is None else Basis.OBSERVED
    declaration = Declaration(plan)
    answers = [*topology_evidence(plan, node), *infiniband_evidence(tree, declaration, proofs, basis)]
    if declaration.isolation is not None:
        answers += isolation_evidence(plan, tree, declaration.isolation, proofs, basis)
        answers += logging_evidence(tree, declaration.isolation, proofs, basis)
    order = [test.id for test in TESTS]
    return tuple(sorted(answers, key=lambda answer: order.index(answer.test.id)))
