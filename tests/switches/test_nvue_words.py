"""Words of NVUE that are not written: harmless ones touch no claim, others are unread at their line and end nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from tests.plans import plan_of
from tests.proofs.ethernet_trees import tree, verdict
from tests.switches.test_nvue import NAME, PATH, text_of

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.management import MANAGEMENT
from clusterwright.proofs.tree import tree_of
from clusterwright.switches.nvue.reader.known import KNOWN

Objects = dict[str, Any]
OPENS = frozenset({"isolation", "management"})
WEIGHTS = {"rule": {"10": {"action": {"permit": {}}, "set": {"ext-community-bw": {"multipaths": {}}}}}}
DENIES = {"rule": {"10": {"action": "deny", "community": {"65000:1": {}}}}}


def with_objects(words: Objects) -> Callable[[str], str]:
    def edit(text: str) -> str:
        document = yaml.safe_load(text)
        (settings,) = (part["set"] for part in document if "set" in part)
        merge(settings, words)
        return yaml.safe_dump(document, sort_keys=False)

    return edit


def merge(into: Objects, words: Objects) -> None:
    for name, value in words.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict):
            merge(into[name], value)
        else:
            into[name] = value


def managed(words: Objects) -> Verdict:
    """What `management` says of the switch with these words."""
    plan = plan_of("lab-nvue")
    files = []
    for file in Rendering(plan).of_device(NAME):
        text = with_objects(words)(file.content.decode()) if file.path == PATH else ""
        files.append(Artifact(NAME, PATH, text.encode(), file.kind) if text else file)
    return MANAGEMENT.run(tree_of(plan.spec.name, files, Declaration(plan)))


@pytest.mark.parametrize(
    "words",
    [
        {"system": {"timezone": "Etc/UTC"}},
        {"system": {"message": {"pre-login": "Hello", "post-login": "Bye"}}},
        {"system": {"config": {"auto-save": {"state": "enabled"}}}},
    ],
    ids=["time zone", "banners", "auto-save"],
)
def test_harmless_words_touch_no_claim(words: Objects) -> None:
    assert KNOWN.unread(with_objects(words)(text_of(plan_of("lab-nvue")))) == ()


@pytest.mark.parametrize(
    ("words", "text", "claims"),
    [
        ({"qos": {"traffic-pool": {"default-lossy": {"memory-percent": 10}}}}, "qos / traffic-pool", {"qos"}),
        ({"router": {"policy": {"route-map": {"W": WEIGHTS}}}}, "ext-community-bw", frozenset()),
        ({"router": {"policy": {"community-list": {"C": DENIES}}}}, "C / rule / 10 / action", frozenset()),
        ({"system": {"aaa": {"ldap": {"base-dn": "dc=x"}}}}, "system / aaa / ldap", OPENS),
        ({"system": {"aaa": {"authentication-order": {"5": "ldap"}}}}, "authentication-order / 5", OPENS),
        ({"system": {"gnmi-server": {"state": "enabled"}}}, "system / gnmi-server", OPENS),
        ({"system": {"telemetry": {"state": "enabled"}}}, "system / telemetry", OPENS),
    ],
    ids=["pools", "weights", "communities", "LDAP", "method", "gNMI", "OTLP"],
)
def test_other_words_are_unread_at_their_line(words: Objects, text: str, claims: frozenset[str]) -> None:
    (unread,) = KNOWN.unread(with_objects(words)(text_of(plan_of("lab-nvue"))))
    assert unread.text.endswith(text)
    assert unread.line > 0
    assert unread.claims == frozenset(claims)


def test_a_rule_that_is_not_read_ends_nothing() -> None:
    """The sessions of the file are still read: only what the rule could touch is open."""
    edit = with_objects({"router": {"policy": {"route-map": {"W": WEIGHTS}}}})
    result = verdict("bgp-sessions", tree("lab-nvue", {(NAME, PATH): edit}))
    assert not result.counterexamples


def test_servers_that_are_asked_after_local_accounts_are_named_in_vain() -> None:
    assert managed({}).is_proven
    found = managed({"system": {"aaa": {"authentication-order": {"5": "local"}}}})
    assert any("does not use 10.98.240.49 for logins" in example.message for example in found.counterexamples)
