"""Names as NVUE prints them: stems that stand once, ranges of cages and parts, communities without quotes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with
from tests.proofs.ethernet_trees import tree, verdict
from tests.switches.test_nvue import NAME, PATH, text_of

from clusterwright.packets.tokens import Unreadable
from clusterwright.switches.nvue.drift import compare_nvue
from clusterwright.switches.nvue.reader.known import KNOWN
from clusterwright.switches.nvue.reader.yaml_text import read_objects

CAGES = """
extra_config:
  - device: rsw-p00r00
    file: etc/clusterwright/nvue.yaml
    merge:
      interface:
        "{name}": {{bridge: {{domain: {{br_default: {{access: 100}}}}}}, link: {{state: {{up: {{}}}}}}, type: swp}}
    reason: "spare cages opened for a visitor"
"""
RACK_SWITCH = "rsw-p00r00"


def ports(key: str) -> list[str]:
    return list(read_objects(f'- set:\n    interface:\n      "{key}": {{type: swp}}\n').at("interface").below)


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("swp1,4-6,28", ["swp1", "swp4", "swp5", "swp6", "swp28"]),
        ("vlan200,300", ["vlan200", "vlan300"]),
        ("swp1-2,5,swp3s0-1", ["swp1", "swp2", "swp5", "swp3s0", "swp3s1"]),
        ("swp3s0,2", ["swp3s0", "swp3s2"]),
        ("swp1-2s0-1", ["swp1s0", "swp1s1", "swp2s0", "swp2s1"]),
        ("spine_bond,swp1-2,7", ["spine_bond", "swp1", "swp2", "swp7"]),
        ("vlan3001_l3,vlan20", ["vlan3001_l3", "vlan20"]),
        ("uplink-bond", ["uplink-bond"]),
        ("swp8", ["swp8"]),
    ],
)
def test_a_stem_that_stands_once_is_that_of_all_numbers_behind_it(key: str, names: list[str]) -> None:
    assert ports(key) == names


@pytest.mark.parametrize(
    "key",
    ["1,2", "spine_bond,3", "swp1-2s0,3", "swp4-1", "swp1,,2", "swp1, 2", "swp1,2s", "bond-1-2", "swp1-9999", "swp1-"],
)
def test_a_list_that_is_understood_in_part_is_not_read(key: str) -> None:
    try:
        found = ports(key)
    except Unreadable:
        return
    text = text_of(plan_of("lab-nvue"), RACK_SWITCH)
    opened = text.replace("    interface:\n", f'    interface:\n      "{key}": {{link: {{state: {{up: {{}}}}}}}}\n', 1)
    assert f"interface / {found[-1]}" in [unread_part.text for unread_part in KNOWN.unread(opened)]


@pytest.mark.parametrize("key", ["3,5", "3-5", "3"])
def test_numbers_of_classes_are_read_as_lists(key: str) -> None:
    path = ("qos", "mapping", "default-global", "dscp")
    text = f'- set:\n    qos:\n      mapping:\n        default-global:\n          dscp:\n            "{key}": {{}}\n'
    assert set(read_objects(text).at(*path).below) == {"3,5": {"3", "5"}, "3-5": {"3", "4", "5"}, "3": {"3"}}[key]


def test_a_comma_in_any_other_name_is_not_read() -> None:
    with pytest.raises(Unreadable, match="several objects"):
        read_objects("- set:\n    acl:\n      A,B: {type: ipv4}\n")


@pytest.mark.parametrize("name", ["swp20", "swp20-22", "swp20,22", "swp20-22,swp24", "swp20s0,1"])
def test_open_cages_are_seen_however_they_are_named(name: str, tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-nvue", CAGES.format(name=name))
    text = text_of(plan, RACK_SWITCH)
    result = verdict("isolation", tree("lab-nvue", {(RACK_SWITCH, PATH): lambda _: text}))
    assert any(
        "is in service, and the plan has no cable there" in example.message for example in result.counterexamples
    )


@pytest.mark.parametrize(
    "edit",
    [
        "swp20.100: {link: {state: {up: {}}}, type: sub}",
        "swp20: {link: {state: {up: {}}}, type: bond}",
        "visitor: {link: {state: {up: {}}}}",
        "swp20x: {link: {state: {up: {}}}, type: swp}",
    ],
)
def test_an_interface_of_an_unknown_kind_is_unread(edit: str) -> None:
    text = text_of(plan_of("lab-nvue"), RACK_SWITCH)
    assert KNOWN.unread(text) == ()
    opened = text.replace("    interface:\n", f"    interface:\n      {edit}\n", 1)
    (unread,) = KNOWN.unread(opened)
    assert unread.line == opened[: opened.index(edit)].count("\n") + 1
    assert unread.text == f"interface / {edit.partition(':')[0]}"
    assert unread.claims == frozenset()


def test_neighbours_that_are_named_by_interface_are_unread() -> None:
    text = text_of(plan_of("lab-nvue"))
    text = text.replace("neighbor:\n", "neighbor:\n              swp1s0-1: {type: unnumbered}\n", 1)
    assert [unread_part.text.rpartition(" / ")[2] for unread_part in KNOWN.unread(text)] == ["swp1s0", "swp1s1"]
    result = verdict("bgp-sessions", tree("lab-nvue", {(NAME, PATH): lambda _: text}))
    assert not result.counterexamples


def test_communities_without_quotes_are_no_drift() -> None:
    planned = text_of(plan_of("lab-nvue"))
    printed = planned.replace('"64512:1"', "64512:1").replace('"64512:2"', "64512:2")
    assert printed != planned
    assert list(compare_nvue(planned, printed)) == []
    changed = printed.replace("64512:1: {}", "64512:3: {}")
    assert {found[0].value for found in compare_nvue(planned, changed)} == {"missing", "unexpected"}


def test_places_behind_a_question_mark_are_lines() -> None:
    text = "- set:\n    interface:\n      ? swp1,3,swp2s0-1\n      : description: two\n        type: swp\n"
    port = read_objects(text).at("interface", "swp3")
    assert port.text("description") == "two"
    assert port.mark[-1] == "\n      ? swp1,3,swp2s0-1"
    assert text.count("\n", 0, text.index(port.mark[-1]) + 1) + 1 == port.line


@pytest.mark.parametrize("state", ["{up: {}, down: {}}", "up", "{UP: {}}"])
def test_a_port_whose_state_is_said_twice_or_otherwise_is_unread(state: str) -> None:
    text = text_of(plan_of("lab-nvue"), RACK_SWITCH)
    opened = text.replace(
        "    interface:\n", f"    interface:\n      swp20: {{link: {{state: {state}}}, type: swp}}\n", 1
    )
    assert [
        unread_part.text
        for unread_part in KNOWN.unread(opened)
        if unread_part.text.startswith("interface / swp20 / link / state")
    ]
