"""Closed world: what no reader takes in is named, and leaves the claims that it could touch not proven."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.platforms.plans import plan_of, plan_with
from tests.proofs.ethernet_trees import EOS, text_of, tree

from clusterwright.output.engine import render_device, render_kinds
from clusterwright.proofs.declaration import declaration_of
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.proofs.unread import UNREAD

CTSW, ATSW = "ctsw-p00-00", "atsw-00"
NAMES = ("ethernet-links", "bgp-sessions", "reachability", "valley-free", "qos", "ecmp-hash", "isolation")
JUDGES = {check.name: check for check in CHECKS if check.name in NAMES}
PORT = "\ninterface Ethernet3/1/1\n"
AT_MARGIN, IN_PORT, IN_BGP = "\nend\n", PORT, "   graceful-restart\n"


def planted(line: str, before: str = AT_MARGIN) -> RenderedTree:
    """A reference network whose first cluster switch says ``line`` as well, at one place."""
    at = text_of("lab-roce", CTSW, EOS).index(before) + (len(before) if before != AT_MARGIN else 1)
    return tree("lab-roce", {(CTSW, EOS): lambda text: f"{text[:at]}{line}\n{text[at:]}"})


def test_a_line_that_no_reader_knows_leaves_every_claim_not_proven() -> None:
    for name, check in JUDGES.items():
        verdict = check.run(planted("sand rate-limiter 5"))
        assert not verdict.is_proven, name
        assert not verdict.is_settled, name
        if not verdict.is_refuted:
            assert f"{CTSW}:/{EOS}:" in verdict.word, name
            assert '"sand rate-limiter 5"' in verdict.word, name
        (place,) = verdict.unread
        assert (place.device, place.what.text, place.because) == (CTSW, "sand rate-limiter 5", "")


@pytest.mark.parametrize("spec", ["lab-roce", "lab-border", "lab-ib", "lab-sonic", "rsc", "ib-24k", "roce-24k"])
def test_nothing_rendered_is_unread(spec: str) -> None:
    plan = plan_of(spec)
    first = {(device.fabric, device.role): device.name for device in reversed(plan.devices) if device.kind == "switch"}
    texts = {
        (name, artifact.path): artifact.content.decode()
        for name in first.values()
        for artifact in render_device(plan, name)
        if artifact.path in UNREAD
    }
    assert texts
    found = {place: own for place, text in texts.items() if (own := UNREAD[place[1]](text))}
    assert found == {}


def test_the_spec_vouches_for_a_line_and_the_verdict_says_so(tmp_path: Path) -> None:
    overlay = """extra_config:
  - role: ctsw
    lines: ["router bgp", "   bgp always-compare-med", "interface Ethernet3/1/1", "   sflow enable", "sflow run"]
    unread:
      - {line: "bgp always-compare-med", because: "no neighbour of ours sends a metric"}
      - {line: "   sflow enable", because: "no neighbour of ours sends a metric"}
      - {line: "sflow run", because: "no neighbour of ours sends a metric"}
    reason: "a test"
"""
    plan = plan_with(tmp_path, "lab-roce", overlay)
    subject = tree_of("lab-roce", render_kinds(plan, KINDS), declaration_of(plan))
    verdict = JUDGES["bgp-sessions"].run(subject)
    assert verdict.is_proven
    (note,) = [note for note in verdict.notes if "on the spec's word" in note]
    assert "because no neighbour of ours sends a metric: ctsw-p00-00:/mnt/flash/startup-config:" in note
    assert '/ bgp always-compare-med"' in note
    without = plan_with(tmp_path, "lab-roce", overlay.replace('{line: "sflow run"', '{line: "sflow enable"'))
    verdict = JUDGES["bgp-sessions"].run(tree_of("lab-roce", render_kinds(without, KINDS), declaration_of(without)))
    assert "no reader knows ctsw-p00-00:/" in verdict.word
    assert '"sflow run" (as on 3 more)' in verdict.word


def test_each_line_is_told_once_and_the_others_are_counted() -> None:
    lines = [f"sand rate-limiter {at}" for at in range(5)]
    verdict = JUDGES["bgp-sessions"].run(planted("\n".join(lines)))
    assert verdict.word.count("sand rate-limiter") == 3
    assert verdict.word.endswith("and 2 more")


def test_claims_that_a_line_cannot_touch_stay_proven() -> None:
    subject = planted("snmp-server trap-source lo0")
    assert JUDGES["bgp-sessions"].run(subject).is_proven
    assert not JUDGES["isolation"].run(subject).is_settled
