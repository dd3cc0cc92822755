"""Changes that break a proof: refused with their counterexample, unless somebody answers for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with
from tests.rollout.deployments import Edit, Site, Tampered, deploy
from tests.rollout.test_preview import DRAIN, FLOW, PORT, SYSCTL, exception

from clusterwright.device_files.effect import Effect
from clusterwright.finding import ClusterwrightError
from clusterwright.rollout.guard import Override, boundary, require_known, unanswered
from clusterwright.rollout.preview.preview import drained_alone
from clusterwright.rollout.preview.spec_lines import SpecChange
from clusterwright.rollout.preview.text import refusal_lines, text_lines
from clusterwright.rollout.waves import Wave


def extra(device: str, *lines: str) -> Edit:
    """Lines on a switch that no key of the spec expresses."""
    listed = ", ".join(f'"{line}"' for line in lines)
    item = f'{{device: {device}, lines: [{listed}], reason: "tried by hand", assumed: "only in a test"}}'
    text = f"\nextra_config:\n  - {item}\n"
    return "\nexpect:\n", f"{text}\nexpect:\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The lab, deployed completely."""
    return deploy(tmp_path_factory.mktemp("deployment"))


def refused(site: Site, *edits: Edit) -> str:
    site.edit(*edits)
    return "\n".join(refusal_lines(site.preview().guarded, ()))


def test_draining_the_second_last_way_beside_another_change_is_refused_and_says_who_would_be_cut_off(
    site: Site,
) -> None:
    text = refused(site, DRAIN, SYSCTL)

    assert "ethernet-failures does not hold after the change." in text
    assert "rtsw-p00r00:/etc/coop/agent.conf: is cut off when ctsw-p00-01 fails" in text
    assert "--accept-refuted ethernet-failures --because REASON" in text


def test_a_drain_alone_is_not_refused_for_what_it_is_for(site: Site) -> None:
    site.edit(DRAIN)
    guarded = site.preview().guarded

    assert not guarded.refusals
    assert {proof.check for proof in guarded.broken if proof.lasts} == {"ethernet-bisection", "ethernet-failures"}
    text = "\n".join(text_lines(site.preview()))
    assert "while ctsw-p00-00 is drained: ethernet-failures does not hold" in text
    assert "is cut off when ctsw-p00-01 fails" in text


@pytest.mark.parametrize(
    ("exceptions", "alone"),
    [
        ("{device: ctsw-p00-00, state: drained, reason: a fan}", ("ctsw-p00-00",)),
        ("{device: rtsw-p00r00, state: drained, reason: nothing stands in for it}", ()),
        ("{device: ctsw-p00-00, state: out-of-service, reason: gone}", ()),
        (
            "{device: ctsw-p00-00, state: drained, reason: a fan}, {device: ctsw-p00-01, state: drained, reason: two}",
            (),
        ),
        ("{device: mgmt-00, state: drained, reason: the only one}", ()),
        ("{device: rtsw-p00r00, port: eth8/1/1, state: drained, reason: an optic}", ("rtsw-p00r00 eth8/1/1",)),
        ("{device: rtsw-p00r00, port: eth2/1/1, state: drained, reason: a node has no other}", ()),
        ("{device: rtsw-p00r00, port: eth8/1/1, state: out-of-service, reason: the cable moves}", ()),
    ],
)
def test_only_one_of_a_group_is_a_drain_alone(exceptions: str, alone: tuple[str, ...], tmp_path: Path) -> None:
    after = plan_with(tmp_path, "lab-roce", f"exceptions: [{exceptions}]\n")
    values = [SpecChange("exceptions", "", exceptions, "spec.yaml:1")]

    assert drained_alone(plan_of("lab-roce"), after, values) == alone
    assert drained_alone(plan_of("lab-roce"), after, [*values, SpecChange("nodes", "1", "2", "spec.yaml:2")]) == ()


def test_losing_an_uplink_is_refused_as_oversubscription(site: Site) -> None:
    two = PORT[1].replace(PORT_ITEM, PORT_ITEM + PORT_ITEM.replace("eth8/1/1", "eth8/3/1"))
    assert "rtsw is oversubscribed 1.0323 to 1, the spec promises 1 to 1" in refused(site, (PORT[0], two))
    assert "rtsw is oversubscribed 1.0159 to 1, the spec promises 1 to 1" in refused(site, PORT, SYSCTL)


def test_one_cable_drained_alone_is_told_and_not_refused(site: Site) -> None:
    assert not refused(site, PORT)
    words = "while rtsw-p00r00 eth8/1/1 is drained: ethernet-bisection does not hold"
    assert words in "\n".join(text_lines(site.preview()))


@pytest.mark.parametrize(
    ("edit", "check", "told"),
    [
        (
            extra("ctsw-p00-00", "route-map TO-UP permit 5"),
            "valley-free",
            "policy TO-UP announces fd00:1ab:b:ffff::9/128 to atsw-01, learned from atsw-00: both are above",
        ),
        (
            extra("atsw-00", "router bgp 4200000100", "   neighbor fd00:1ab:b:fffe::82 shutdown"),
            "bgp-sessions",
            "the session with fd00:1ab:b:fffe::83 cannot come up: atsw-00 has no neighbour fd00:1ab:b:fffe::82",
        ),
        (
            extra("ctsw-p00-00", "interface Ethernet3/1/1", "   service-profile OTHER"),
            "qos",
            "Ethernet3/1/1 to rtsw-p00r00 eth8/1/1 pauses no priority, the class needs priority 2 at both ends",
        ),
        (
            extra("ctsw-p00-00", "interface Ethernet3/1/1", "   mtu 1500"),
            "ethernet-links",
            "Ethernet3/1/1 takes packets of 1500 bytes, the other hops 9000",
        ),
    ],
    ids=["a deadlock", "a session with one end", "a queue without pause", "a short MTU"],
)
def test_what_the_spec_lets_pass_and_a_proof_does_not_is_refused(site: Site, edit: Edit, check: str, told: str) -> None:
    text = refused(site, edit)

    assert f"{check} does not hold after the change." in text
    assert told in text


def test_a_filter_that_opens_without_a_flow_is_refused_with_a_packet(site: Site) -> None:
    """As a mistake in a template would open it: the spec knows nothing of it."""
    site.edit()
    opened = Tampered("gpu-p00r00n0", "etc/nftables.conf", "tcp dport { 22 }", "tcp dport { 22, 8080 }")

    preview = site.preview(tampered=opened)

    proof, node_check = preview.guarded.refusals
    assert (proof.check, node_check.check) == ("isolation", "node-check")  # a node looks whether its filter is the one
    assert "tcp port 8080" in proof.counterexamples[0].message or "8080" in proof.counterexamples[0].message
    assert "no flow allows it" in proof.counterexamples[0].message


def test_files_that_differ_under_the_same_spec_are_told_as_what_they_are(site: Site) -> None:
    site.edit()
    other = Tampered("gpu-p00r00n0", "etc/nccl.conf", "NCCL_", "# By another version.\nNCCL_")

    assert "no value of the spec changed: this program, or a file that" in site.preview(tampered=other).basis
    site.edit(SYSCTL)
    assert "no value of the spec changed" not in site.preview(tampered=other).basis


def test_text_that_a_check_cannot_read_is_refused_at_its_place(site: Site) -> None:
    site.edit()
    torn = Tampered("gpu-p00r00n0", "etc/nftables.conf", "table inet clusterwright {", "table inet clusterwright {{")

    refusals = site.preview(tampered=torn).guarded.refusals

    assert {refusal.check for refusal in refusals} == {"isolation", "exchanges", "node-check"}
    proof = next(refusal for refusal in refusals if refusal.check == "isolation")
    assert proof.counterexamples[0].message.startswith("settled before, and now not proven")
    assert "gpu-p00r00n0:/etc/nftables.conf:" in proof.counterexamples[0].message


def test_an_override_answers_for_its_own_check_alone(site: Site) -> None:
    site.edit(DRAIN, SYSCTL)
    guarded = site.preview().guarded
    why = "the spare line card goes in tonight"
    cut, narrow, other = (Override(name, why, "netops") for name in ("ethernet-failures", "ethernet-bisection", "qos"))

    assert not unanswered(guarded, [cut, narrow])
    assert {proof.check for proof in unanswered(guarded, [cut, other])} == {"ethernet-bisection"}
    text = "\n".join(text_lines(site.preview(), [cut, narrow]))
    assert "accepted by netops although refuted: ethernet-failures. Because: the spare line card goes in" in text
    assert "REFUSED" not in text


def test_what_was_refuted_before_is_told_and_not_refused(tmp_path: Path) -> None:
    drained = deploy(tmp_path, "lab-roce", DRAIN)
    drained.edit((DRAIN[1], DRAIN[1].replace("\nexpect:", f"{PORT_ITEM}\nexpect:").replace("eth8/1/1", "eth8/3/1")))

    guarded = drained.preview().guarded

    assert "ethernet-failures" in guarded.stale
    assert {proof.check for proof in guarded.refusals} == {"ethernet-bisection"}


PORT_ITEM = PORT[1].removeprefix("\nexceptions:\n").removesuffix("\nexpect:\n")


def test_only_the_checks_that_read_what_changes_are_made(site: Site) -> None:
    site.edit(SYSCTL)

    guarded = site.preview().guarded

    assert guarded.held == ("isolation", "encryption", "node-check")
    assert {"reachability", "qos", "ethernet-failures"} <= set(guarded.untouched)


def test_a_flow_that_half_of_the_nodes_know_is_no_leak(site: Site) -> None:
    site.edit(FLOW)

    guarded = site.preview().guarded

    assert "isolation" in guarded.held
    assert not guarded.broken
    assert guarded.states == tuple(f"after wave {number} of 6" for number in range(1, 6))


def test_a_session_that_waits_for_its_other_end_is_told_and_not_refused(site: Site) -> None:
    site.edit(exception('device: ctsw-p00-00, port: Ethernet3/17/1, state: drained, reason: "CRC errors"'))

    preview = site.preview()

    waiting = [proof for proof in preview.guarded.broken if proof.check == "bgp-sessions"]
    assert waiting
    assert not any(proof.refuses for proof in waiting)
    assert "  for a while, after wave 1 of 2: bgp-sessions does not hold" in "\n".join(text_lines(preview))


def test_the_moments_on_the_way_are_bounded_and_never_the_last() -> None:
    def wave(number: int) -> Wave:
        return Wave(f"pod{number // 20}", "rack", False, (f"r{number}",), (), Effect.RESTART, (), 1.0, "", "", "")

    waves = [wave(number) for number in range(100)]

    assert {19, 39, 59, 79} < set(boundary(waves, 30))
    assert len(boundary(waves, 30)) == 8
    assert len(boundary(waves, 14_632)) == 1
    assert 99 not in boundary(waves, 30)
    assert boundary(waves[:1], 30) == ()


def test_a_check_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ClusterwrightError, match='There is no check "isolatoin"'):
        require_known(["isolatoin"])


SILENT = Tampered("atsw-00", "mnt/flash/startup-config", "ip load-sharing arad 2", "ip load-sharing arad x")


def test_a_proof_that_the_change_takes_away_is_refused(site: Site) -> None:
    """No counterexample: the seed is no longer stated, and so nobody can compare it."""
    site.edit()

    guarded = site.preview(tampered=SILENT).guarded

    assert "ecmp-hash" not in guarded.held
    (proof,) = guarded.refusals
    assert proof.check == "ecmp-hash"
    assert proof.counterexamples[0].message.startswith(
        "settled before, and now not proven, because atsw-00 does not state"
    )


def test_what_was_not_proven_before_either_is_told_and_not_held(site: Site, tmp_path: Path) -> None:
    fresh = Site(tmp_path, site.text, {})
    fresh.edit()
    first = fresh.preview(tampered=SILENT)

    assert [each.check for each in first.guarded.unproven] == ["ecmp-hash"]
    assert "ecmp-hash" not in first.guarded.held
    assert not first.guarded.refusals
    assert "neither held nor refuted: ecmp-hash, not proven, because atsw-00" in "\n".join(text_lines(first))
