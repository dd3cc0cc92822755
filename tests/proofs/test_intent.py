"""What a check reads of the spec's declaration stands in its ``intent``: rollouts skip checks by it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with
from tests.proofs.test_damage import damage

from clusterwright.cli.trees import tree_of_plan
from clusterwright.finding import VerifyError
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import ProofCheck
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.intent_change import is_changed
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree

LABS = ("lab-ib", "lab-roce")
PARTS = frozenset(name for name, value in vars(Declaration).items() if isinstance(value, cached_property))


class NotingDeclaration(Declaration):
    """A declaration that notes which of its properties are read, those that other properties read left out."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.read: set[str] = set()
        self.depth = 0

    def __getattribute__(self, name: str) -> object:
        if name not in PARTS:
            return super().__getattribute__(name)
        if self.depth == 0:
            self.read.add(name)
        self.depth += 1
        try:
            return super().__getattribute__(name)
        finally:
            self.depth -= 1


def _damaged(tree: RenderedTree, check: ProofCheck) -> RenderedTree:
    """The tree with damaged lines in a quarter of the files that a check reads."""
    chosen = random.Random(check.name)
    places = [place for place, file in tree.files.items() if file.kind in check.kinds]
    files = dict(tree.files)
    for place in chosen.sample(places, -(-len(places) // 4)):
        text = files[place].read()
        for _ in range(3):
            text = damage(text, chosen)
        files[place] = replace(files[place], read=partial(str, text))
    return replace(tree, files=files)


@cache
def _tree(lab: str) -> RenderedTree:
    return tree_of_plan(plan_of(lab), CHECKS)


@cache
def _declarations(lab: str) -> tuple[Declaration, Declaration]:
    """Those of two plans of one spec."""
    return Declaration(plan_of(lab)), Declaration(plan_of.__wrapped__(lab))


def _trees(lab: str, check: ProofCheck) -> Iterator[RenderedTree]:
    tree = _tree(lab)
    yield tree
    yield _damaged(tree, check)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_check_reads_nothing_of_the_declaration_but_its_intent(check: ProofCheck) -> None:
    for lab in LABS:
        for tree in _trees(lab, check):
            declaration = NotingDeclaration(plan_of(lab))
            with suppress(VerifyError):
                check.run(replace(tree, declaration=declaration, unreadable={}, left_open={}))
            assert declaration.read <= check.whole_intent, f"{lab}: {declaration.read - check.whole_intent}"


def test_an_intent_names_properties_of_the_declaration() -> None:
    for check in CHECKS:
        assert check.whole_intent <= PARTS, check.name


@pytest.mark.parametrize("part", sorted(PARTS))
def test_parts_of_a_declaration_are_compared_by_value(part: str) -> None:
    for lab in LABS:
        assert not is_changed(part, *_declarations(lab)), lab


def test_another_value_changes_its_part_alone(tmp_path: Path) -> None:
    drained = plan_with(tmp_path, "lab-roce", "exceptions: [{device: ctsw-p00-00, state: drained, reason: a fan}]\n")
    was, wanted = Declaration(plan_of("lab-roce")), Declaration(drained)
    assert {part for part in PARTS if is_changed(part, was, wanted)} == {"drained", "stopped"}
