"""Several proofs of one tree are made in their order."""

from __future__ import annotations

from dataclasses import replace

from clusterwright.cli.proofs import prove
from clusterwright.finding import VerifyError
from clusterwright.proofs.check import Cases, Counterexample, ProofCheck, Verdict
from clusterwright.proofs.tree import RenderedTree

_TREE = RenderedTree("lab", {})
_FOUND = Counterexample("rtsw-p00r00", "etc/coop/agent.conf", 3, "maps DSCP 26 to class 0")
_REFUTED = Verdict((), (_FOUND,), Cases("cases", 1))


def _check(name: str, *, applies: bool = True) -> ProofCheck:
    return ProofCheck(
        name=name,
        claim="",
        kinds=frozenset(),
        intent=frozenset(),
        applies=lambda _: applies,
        check=lambda _: _REFUTED,
        spec_only="",
    )


def _unreadable(_: RenderedTree) -> Verdict:
    raise VerifyError("rtsw-p00r00:/etc/coop/agent.conf:3: not JSON")


def test_verdicts_are_in_the_order_of_those_checks_that_apply() -> None:
    checks = [_check("one"), _check("other", applies=False), _check("last")]
    assert prove(_TREE, checks) == [(checks[0], _REFUTED), (checks[2], _REFUTED)]


def test_text_that_does_not_parse_leaves_its_check_open_and_ends_no_other() -> None:
    bad = replace(_check("bad"), check=_unreadable)
    (_, first), (_, second) = prove(_TREE, [bad, _check("good")])
    assert first.word == "not proven, because rtsw-p00r00:/etc/coop/agent.conf:3: not JSON"
    assert second == _REFUTED
