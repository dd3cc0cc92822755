"""Isolation on switches with NVUE: faults in their text are told at their line, and what nobody knows is not proven."""

from __future__ import annotations

import re

import pytest
from tests.proofs.isolation.trees import Edit, text_of, tree

from clusterwright.cli.proofs import prove
from clusterwright.device_files.differing import by_keys
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.nvue.drift import compare_nvue
from clusterwright.switches.nvue.reader.system import READER

DEFAULT_ROUTE = """\
            "0.0.0.0/0":
              address-family: ipv4-unicast
              via:
                "10.98.0.1":
                  type: ipv4-address
"""
SPEC, LEAF, PATH = "lab-nvue", "rtsw-p00r00", "etc/clusterwright/nvue.yaml"


def put(old: str, new: str) -> Edit:
    return lambda text: re.sub(old, new, text, count=1, flags=re.M)


def judged(subject: RenderedTree, check: str = ISOLATION.name) -> Verdict:
    return next(each for each in CHECKS if each.name == check).run(subject)


FAULTS: dict[str, Edit] = {
    "a rule for all targets": put(r'dest-ip: "fd00:2ab:b::/56"', "dest-ip: ANY"),
    "a rule less": put(r"^          \"90\":\n(?:            .*\n)+", ""),
    "a denial that permits": put(r"(?<=action:\n              )deny", "permit"),
    "a port without its list": put(r"^          HOSTS-V6:\n            inbound: \{\}\n", ""),
    "a port without lists": put(r"^        acl:\n(?:          .*\n){4}(?=        description: \"to gpu)", ""),
    "lists of the management port gone": put(r"^          MANAGEMENT-V4:\n.*\n.*\n", ""),
    "management in the fabric": put(r"^          vrf: mgmt\n", ""),
    "a default route": put(r"(?<=^          static:\n)(?=            \"10)", DEFAULT_ROUTE),
    "an account that anybody may be": put(r'hashed-password: ".*"', 'hashed-password: ""'),
    "SNMP by a word": put(
        r"^        username:\n", "        readonly-community:\n          public: {}\n        username:\n"
    ),
    "an address of nobody": put(r'(?<=^            )(?="fd00:2ab:b:ffff::)', '"198.51.100.1/32": {}\n            '),
    "SSH in both VRFs": put(r"^          mgmt: \{\}\n(?=    vrf:)", "          mgmt: {}\n          default: {}\n"),
    "SSH in the other VRF": put(r"^          mgmt: \{\}\n(?=    vrf:)", "          default: {}\n"),
    "root over SSH": put(r"permit-root-login: disabled", "permit-root-login: enabled"),
    "the API for all": put(r"^          localhost: \{\}\n", '          "0.0.0.0": {}\n'),
    "SNMP in the fabric": put(r"(?<=            )vrf: mgmt\n(?=        username)", "vrf: default\n"),
    "logins by a host": put(r'host: "10.98.240.49"', 'host: "10.98.0.17"'),
    "the time by a host": put(r'"10.98.240.123":', '"10.98.0.17":'),
    "names by a host": put(r'"10.98.240.53":', '"10.98.0.17":'),
    "the log to a host": put(r'"10.98.240.14":', '"10.98.0.17":'),
    "a session with a host": put(r'(?<=^              )"fd00:2ab:b:fffe::3":', '"fd00:2ab:b::3":'),
    "policy routing": put(r"^      policy:\n", "      pbr:\n        map: {}\n      policy:\n"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_at_its_line(fault: str) -> None:
    result = judged(tree(SPEC, LEAF, edits={(LEAF, PATH): FAULTS[fault]}))
    (first, *_) = result.counterexamples
    assert (first.device, first.file) == (LEAF, PATH)
    assert first.line > 0


def test_what_nobody_knows_leaves_the_claims_that_it_could_touch_unproven() -> None:
    line = text_of(SPEC, LEAF, PATH).split("\n").index("      ssh-server:") + 1
    unknown = put(r"^      ssh-server:\n", "      ssh-server:\n        trusted-ca-keys: {}\n")
    result = judged(tree(SPEC, LEAF, edits={(LEAF, PATH): unknown}))
    assert not result.counterexamples
    assert f"{LEAF}:/{PATH}:{line + 1}:" in result.word
    assert "trusted-ca-keys" in result.word
    anywhere = judged(
        tree(SPEC, LEAF, edits={(LEAF, PATH): put(r"^      ssh-server:\n", "      wjh: {}\n      ssh-server:\n")})
    )
    assert not anywhere.is_proven
    assert f":{line}:" in anywhere.word


def test_a_file_that_does_not_read_leaves_its_ports_open() -> None:
    twice = put(r"^      hostname: .*\n", "      hostname: a\n      hostname: b\n")
    for edit in (twice, put(r'"4791": \{\}', "")):  # and a rule for ports that names none
        ((_, found),) = prove(tree(SPEC, LEAF, edits={(LEAF, PATH): edit}), [ISOLATION])
        assert not found.is_settled
        assert f"{LEAF}:/{PATH}" in found.word


def test_adaptive_routing_that_no_spec_asks_for_is_a_value_that_no_proof_lets_differ() -> None:
    """It is not written, and who turns it on has paths chosen by no hash that is proven."""
    text = text_of(SPEC, LEAF, PATH)
    assert "adaptive-routing" not in text
    enabled = put(r"^    router:\n", "    router:\n      adaptive-routing:\n        enable: on\n")(text)
    keys = [*by_keys(compare_nvue)(text, enabled)]
    assert keys
    assert not any(READER.values[PATH].may_differ(key) for key in keys)


def test_it_is_said_that_no_bound_of_a_chip_is_known() -> None:
    notes = judged(tree(SPEC, LEAF)).notes
    assert any("with NVUE" in note and "hold their lists was not checked" in note for note in notes)
