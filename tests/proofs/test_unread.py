"""Closed world: what no reader takes in is named, and leaves the claims that it could touch not proven."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with
from tests.proofs.ethernet_edits import SONIC
from tests.proofs.ethernet_trees import EOS, artifacts_of, text_of, tree
from tests.switches import eos_commands

from clusterwright.output.rendering import Rendering
from clusterwright.proofs.declaration import Declaration
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
        assert (place.device, place.unread.text, place.because) == (CTSW, "sand rate-limiter 5", "")


@pytest.mark.parametrize("spec", ["lab-roce", "lab-border", "lab-ib", "lab-sonic", "rsc", "ib-24k", "roce-24k"])
def test_nothing_rendered_is_unread(spec: str) -> None:
    plan = plan_of(spec)
    first = {(device.fabric, device.role): device.name for device in reversed(plan.devices) if device.kind == "switch"}
    texts = {
        (name, artifact.path): artifact.content.decode()
        for name in first.values()
        for artifact in Rendering(plan).of_device(name)
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
    subject = tree_of("lab-roce", Rendering(plan).of_kinds(KINDS), Declaration(plan))
    verdict = JUDGES["bgp-sessions"].run(subject)
    assert verdict.is_proven
    (note,) = [note for note in verdict.notes if "on the spec's word" in note]
    assert "because no neighbour of ours sends a metric: ctsw-p00-00:/mnt/flash/startup-config:" in note
    assert '/ bgp always-compare-med"' in note
    without = plan_with(tmp_path, "lab-roce", overlay.replace('{line: "sflow run"', '{line: "sflow enable"'))
    verdict = JUDGES["bgp-sessions"].run(tree_of("lab-roce", Rendering(without).of_kinds(KINDS), Declaration(without)))
    assert "no reader knows ctsw-p00-00:/" in verdict.word
    assert '"sflow run" (as on 3 more)' in verdict.word


def test_each_line_is_told_once_and_the_others_are_counted() -> None:
    lines = [f"sand rate-limiter {index}" for index in range(5)]
    verdict = JUDGES["bgp-sessions"].run(planted("\n".join(lines)))
    assert verdict.word.count("sand rate-limiter") == 3
    assert verdict.word.endswith("and 2 more")


def test_claims_that_a_line_cannot_touch_stay_proven() -> None:
    subject = planted("snmp-server trap-source lo0")
    assert JUDGES["bgp-sessions"].run(subject).is_proven
    assert not JUDGES["isolation"].run(subject).is_settled


COMMANDS = {
    AT_MARGIN: ("", eos_commands.MARGIN),
    IN_PORT: ("   ", eos_commands.INTERFACE),
    IN_BGP: ("   ", eos_commands.BGP),
}


def test_a_command_that_is_not_rendered_is_unread_wherever_it_stands() -> None:
    """Whole commands of the manual, each at its place: the claims that it could touch are then not proven."""
    text, known, tried = text_of("lab-roce", CTSW, EOS), [], 0
    for before, (blanks, lines) in COMMANDS.items():
        at = text.index(before) + (len(before) if before != AT_MARGIN else 1)
        for line in filter(None, lines.split("\n")):
            tried += 1
            if not UNREAD[EOS](f"{text[:at]}{blanks}{line}\n{text[at:]}"):
                known.append(line)
    assert tried > 180
    assert known == []


def test_where_a_line_stands_counts() -> None:
    """Lines that are known in one section are not in another, below a comment, twice, or in a second section."""
    text = text_of("lab-roce", CTSW, EOS)
    for line, before in (
        ("   mtu 9000", "\nrouter bgp 4200010000\n"),
        ("      network ::/0", PORT),
        ("   shutdown", "   graceful-restart\n"),
        ("   qos trust dscp", PORT),
        ("mtu 9000", AT_MARGIN),
        ("interface Ethernet3/1/1\n   mtu 9000", AT_MARGIN),
        ("!\n   shutdown", AT_MARGIN),
        ("   no shutdown", "   description unused\n   shutdown\n"),
        ("   switchport", "   no switchport\n"),
        ("   maximum-paths 1 ecmp 1", "   graceful-restart\n"),
        (
            "   match ip address prefix-list OWN",
            "route-map FROM-UP permit 10\n   match ipv6 address prefix-list FABRIC\n",
        ),
    ):
        at = text.index(before if before in text else "\nrouter bgp ") + 1
        at = at if before == AT_MARGIN else at + len(before) - 1 if before in text else text.index("\n", at) + 1
        assert UNREAD[EOS](f"{text[:at]}{line}\n{text[at:]}"), line


@pytest.mark.parametrize(
    "line",
    [
        "   priority-flow-control priority 2 drop",
        "   qos trust cos",
        "   shape rate 1000000",
        "   random-detect ecn minimum-threshold 10 kbytes maximum-threshold 20 kbytes",
        "   flowcontrol receive on",
    ],
)
def test_words_on_classes_beside_a_profile_leave_the_classes_not_proven(line: str) -> None:
    verdict = JUDGES["qos"].run(planted(line, PORT))
    assert "not proven, because no reader knows" in verdict.word
    assert f'"interface Ethernet3/1/1 / {line.strip()}"' in verdict.word


def test_a_list_on_a_port_between_switches_is_judged() -> None:
    list_ = "ipv6 access-list OWN\n   10 deny ipv6 any any"
    text = text_of("lab-roce", CTSW, EOS)
    edited = text.replace("\nend\n", f"\n{list_}\n!\nend\n").replace(PORT, f"{PORT}   ipv6 access-group OWN in\n")
    subject = tree("lab-roce", {(CTSW, EOS): lambda _: edited})
    for name in ("bgp-sessions", "reachability", "isolation"):
        (first, *_) = [example for example in JUDGES[name].run(subject).counterexamples if example.device == CTSW]
        assert "Ethernet3/1/1" in first.message, name
    open_list = tree("lab-roce", {(CTSW, EOS): lambda _: edited.replace("10 deny", "10 permit")})
    assert JUDGES["bgp-sessions"].run(open_list).is_proven
    assert JUDGES["reachability"].run(open_list).is_proven


@pytest.mark.parametrize(
    ("entries", "is_refuted"),
    [("10 deny udp any any eq 7\n   20 permit ipv6 any any", False), ("10 permit udp any any eq 4791", True)],
)
def test_a_list_where_none_is_enforced_may_stop_what_no_flow_declares(entries: str, is_refuted: bool) -> None:
    text = text_of("lab-roce", CTSW, EOS)
    edited = text.replace("\nend\n", f"\nipv6 access-list OWN\n   {entries}\n!\nend\n")
    edited = edited.replace(PORT, f"{PORT}   ipv6 access-group OWN out\n")
    counterexamples = JUDGES["isolation"].run(tree("lab-roce", {(CTSW, EOS): lambda _: edited})).counterexamples
    assert any("list outwards of" in example.message for example in counterexamples) is is_refuted


def test_an_account_without_a_password_is_refuted() -> None:
    result = JUDGES["isolation"].run(planted("username eve privilege 15 role network-admin nopassword"))
    messages = [example.message for example in result.counterexamples if "account" in example.message]
    assert messages[0] == "the account eve opens without a password and without a key"
    assert messages[1:] == ["the account eve is no operator's: the spec does not plan it"]


def test_equal_seeds_on_all_switches_of_two_tiers_are_refuted() -> None:
    devices = [a.device for a in artifacts_of("lab-roce") if a.path == EOS and a.device.startswith(("ctsw", "atsw"))]
    edits = {(device, EOS): lambda text: re.sub(r"arad [12]", "arad 0", text) for device in devices}
    assert JUDGES["ecmp-hash"].run(tree("lab-roce", edits)).is_refuted


def test_one_end_that_encrypts_is_refuted() -> None:
    subject = tree(
        "lab-roce",
        {
            (CTSW, EOS): lambda text: text.replace(
                "\nend\n", "\nmac security\n   profile P\n      cipher aes256-gcm-xpn\n      key 01 7 070E\n!\nend\n"
            ).replace(PORT, f"{PORT}   mac security profile P\n"),
        },
    )
    counterexamples = JUDGES["ethernet-links"].run(subject).counterexamples
    assert "encrypts by cipher aes256-gcm-xpn, key 01, the other end" in counterexamples[0].message


def test_a_server_that_nobody_planned_is_named() -> None:
    for line in ("tacacs-server host 203.0.113.9 vrf MGMT key 0 x", "ntp server vrf MGMT 203.0.113.9 prefer"):
        counterexamples = JUDGES["isolation"].run(planted(line)).counterexamples
        assert any("relies on 203.0.113.9" in example.message for example in counterexamples), line


DENY = {
    "lab-roce rtsw-p00r00 etc/coop/agent.conf": (
        r'("name": "closed",.*?"aclEntries": \[)',
        r'\1{"name": "more", "actionType": 0, "proto": 6},',
    ),
    "lab-sonic rtsw-p00r00 etc/sonic/config_db.json": (
        r'"ACL_TABLE": \{',
        '"ACL_TABLE": {"OWN": {"type": "L3V6", "stage": "STAGE", "ports": ["PORT"]},',
    ),
}


@pytest.mark.parametrize("stage", ["ingress", "egress"])
@pytest.mark.parametrize("place", DENY)
def test_a_list_on_a_port_between_switches_is_judged_on_every_system(place: str, stage: str) -> None:
    spec, device, path = place.split()
    text = text_of(spec, device, path)
    old, new = DENY[place]
    port = next(
        end.port
        for cable in plan_of(spec).cables_of[device]
        for end in (cable.a, cable.b)
        if end.device == device and end.side == "up"
    )
    edited = re.sub(old, new.replace("STAGE", stage).replace("PORT", port), text, count=1, flags=re.S)
    if path == SONIC:
        rule = '"ACL_RULE": {"OWN|DENY": {"PRIORITY": "10", "PACKET_ACTION": "DROP", "IP_PROTOCOL": "6"},'
        edited = edited.replace('"ACL_RULE": {', rule, 1)
    assert edited != text
    subject = tree(spec, {(device, path): lambda _: edited})
    for name in ("bgp-sessions", "reachability"):
        examples = [
            example for example in JUDGES[name].run(subject).counterexamples if "the lists of" in example.message
        ]
        assert examples, name
        assert {each.device for each in examples} == {device}
        assert all(each.line for each in examples)
