"""Numbered rules that FRR would take in another way than they read leave every claim of an NVUE file open."""

from __future__ import annotations

import pytest
from tests.plans import plan_of
from tests.switches.test_nvue import text_of

from clusterwright.switches.nvue.reader.known import KNOWN

LIST = "router policy prefix-list FABRIC rule"
WIDE = '{"fd00:2ab:b::/48": {max-prefix-len: 128}}'


@pytest.mark.parametrize(
    ("path", "rule", "place"),
    [
        (LIST, f'"020": {{action: deny, match: {WIDE}}}', "020"),
        (LIST, f'"15": {{action: Deny, match: {WIDE}}}', "15 / action"),
        (LIST, f'"15": {{match: {WIDE}}}', "15 / action"),
        (LIST, '"20": {match: {"fd00:2ab:c::/56": {}}}', "20 / action"),
        ("router policy route-map TO-UP rule", '"010": {action: {deny: {}}}', "010"),
        ("acl HOSTS-V6 rule", '"060": {action: {deny: {}}, match: {ip: {protocol: udp}}}', "060"),
    ],
)
def test_a_rule_that_frr_takes_in_another_way_is_unread(path: str, rule: str, place: str) -> None:
    above, below = "- set: {", "}"
    for name in path.split():
        above, below = f"{above}{name}: {{", f"}}{below}"
    text = text_of(plan_of("lab-nvue"))
    assert KNOWN.unread(text) == ()
    unread = KNOWN.unread(f"{text}{above}{rule}{below}\n")
    assert " / ".join([*path.split(), place]) in [each.text for each in unread]
