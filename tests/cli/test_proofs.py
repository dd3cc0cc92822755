"""Proofs made side by side say what they say one after another."""

from __future__ import annotations

import os

import pytest

from clusterwright.cli import proofs
from clusterwright.data_files import folder
from clusterwright.finding import VerifyError
from clusterwright.output.engine import render_devices
from clusterwright.plan.build import build_plan
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.declaration import declaration_of
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.spec.load import load_spec


def _lab() -> RenderedTree:
    plan = build_plan(load_spec(folder("inventory") / "lab-roce.yaml"))
    return tree_of(plan.name, render_devices(plan), declaration_of(plan))


def _always(_: RenderedTree) -> bool:
    return True


def _process(_: RenderedTree) -> Verdict:
    return Verdict((Fact("process", os.getpid()),), (), Cases("processes", 1))


def _unreadable(_: RenderedTree) -> Verdict:
    raise VerifyError("rtsw-p00r00:/etc/coop/agent.conf:3: not JSON")


def test_verdicts_are_the_same_and_in_the_order_of_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = _lab()
    alone = proofs.prove(tree, CHECKS)
    monkeypatch.setattr(proofs, "_WORTH_FORKING", 1)

    assert proofs.prove(tree, CHECKS) == alone
    assert len(alone) > 5


def test_large_trees_are_proven_in_processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = [ProofCheck(f"check-{at}", "", frozenset(), _always, _process, "") for at in range(4)]
    monkeypatch.setattr(proofs, "_WORTH_FORKING", 1)

    first, *others = [verdict.facts[0].value for _, verdict in proofs.prove(_lab(), checks)]

    assert first == os.getpid()
    assert os.getpid() not in others


def test_text_that_does_not_parse_is_told_whichever_process_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = ProofCheck("bad", "", frozenset(), _always, _unreadable, "")
    good = ProofCheck("good", "", frozenset(), _always, _process, "")
    monkeypatch.setattr(proofs, "_WORTH_FORKING", 1)

    with pytest.raises(VerifyError, match=r"agent\.conf:3: not JSON"):
        proofs.prove(_lab(), [good, good, bad])


def test_a_counterexample_survives_the_way_between_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Counterexample("rtsw-p00r00", "etc/coop/agent.conf", 3, "maps DSCP 26 to class 0")
    refuted = ProofCheck("refuted", "", frozenset(), _always, lambda _: Verdict((), (found,), Cases("cases", 1)), "")
    monkeypatch.setattr(proofs, "_WORTH_FORKING", 1)

    assert [verdict.counterexamples for _, verdict in proofs.prove(_lab(), [refuted] * 3)] == [(found,)] * 3
