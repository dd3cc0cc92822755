"""Ports described in another convention than ours: what cables decide is not proven, and nothing of it is refuted."""

from __future__ import annotations

import re

import pytest
from tests.proofs.ethernet_trees import AGENT, EOS, artifacts_of, tree, whole

from clusterwright.cli.proofs import prove
from clusterwright.proofs.registry import CHECKS

OF_CABLES = (
    *("ethernet-links", "bgp-sessions", "reachability", "valley-free", "ethernet-bisection", "ethernet-failures"),
    "qos",
)


def of_another_convention(text: str) -> str:
    """Descriptions as AVD writes them (aristanetworks/avd, examples/single-dc-l3ls)."""
    return re.sub(r'(description(?:": ")? ?)to (\S+) ([^"\n]+)', r"\1P2P_\2_\3", text)


@pytest.mark.parametrize("declaration", [True, False])
def test_other_descriptions_leave_open_what_cables_decide(declaration: bool) -> None:
    files = [made for made in artifacts_of("lab-roce") if made.path in (EOS, AGENT)]
    edits = {(made.device, made.path): of_another_convention for made in files if b"description" in made.content}
    changed = tree("lab-roce", edits, declaration=declaration)
    answers = {check.name: verdict for check, verdict in prove(changed, CHECKS) if check.name in OF_CABLES}
    assert answers.keys() == set(OF_CABLES)
    for name, verdict in answers.items():
        assert not verdict.is_refuted, (name, verdict.counterexamples[:2])
        assert not verdict.is_settled, name
        assert "no description names the cable" in verdict.unjudged


def test_our_descriptions_are_judged() -> None:
    assert not any("no description" in verdict.unjudged for _, verdict in prove(whole("lab-roce"), CHECKS))
