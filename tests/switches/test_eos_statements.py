"""Whatever stands in a file of EOS is read or told as unread, at its line; nothing of it ends the answers of others."""

from __future__ import annotations

import pytest
from tests.proofs.ethernet_trees import text_of, tree
from tests.switches.eos_statements import statements, with_statement
from tests.switches.running_forms import eos_printed

from clusterwright.cli.proofs import prove
from clusterwright.packets.tokens import Unreadable
from clusterwright.proofs.registry import CHECKS
from clusterwright.switches.eos.drift import compare_eos
from clusterwright.switches.eos.reader.lists import read_eos_lists
from clusterwright.switches.eos.reader.normal_form import normal_form
from clusterwright.switches.eos.reader.sections import PATH
from clusterwright.switches.eos.reader.system import READER

SWITCH = "ctsw-p00-00"


def test_every_form_of_every_statement_is_read_or_unread() -> None:
    text = text_of("lab-roce", SWITCH, PATH)
    for section, statement in statements():
        changed = normal_form(with_statement(text, section, statement))
        READER.unread[PATH](changed)
        assert not isinstance(READER.router, tuple)
        assert READER.router(SWITCH, lambda _, changed=changed: changed) is not None, statement  # type: ignore[misc]
        try:
            lists = read_eos_lists(changed)
        except Unreadable:
            continue
        assert list(lists.lists)


def test_a_text_that_does_not_read_leaves_claims_open_and_ends_no_check() -> None:
    broken = tree(
        "lab-roce", {(SWITCH, PATH): lambda text: text.replace("neighbor fd00:1ab:b:fffe::2 ", "neighbor fd00:::2 ")}
    )
    verdicts = {check.name: verdict for check, verdict in prove(broken, CHECKS)}
    assert not verdicts["bgp-sessions"].is_proven
    assert f"{SWITCH}:/{PATH}" in verdicts["bgp-sessions"].unjudged
    assert {"ethernet-links", "qos", "ecmp-hash", "reachability"} <= verdicts.keys()


@pytest.mark.parametrize("device", ["ctsw-p00-00", "mgmt-00", "ssw-00", "atsw-01"])
def test_what_eos_prints_of_a_rendered_text_is_no_difference_and_reads_the_same(device: str) -> None:
    text = text_of("lab-roce", device, PATH)
    running = eos_printed(text)
    assert running != text
    assert not list(compare_eos(text, running))
    assert normal_form(text) == text
    assert not READER.unread[PATH](normal_form(running))


def test_planted_differences_in_what_eos_prints_are_all_found() -> None:
    text = text_of("lab-roce", SWITCH, PATH)
    lines = eos_printed(text).split("\n")
    planted = 0
    for index, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith("!") or line == "end" or lines.count(line) > 1:
            continue
        left_out = "\n".join([*lines[:index], *lines[index + 1 :]])
        assert list(compare_eos(text, left_out)), line
        planted += 1
    assert planted >= 100


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("interface Ethernet1\n   ipv6 address FD00:1::A/64", "interface Ethernet1\n   ipv6 address fd00:1::a/64"),
        ("interface Ethernet1\n   mtu 9000  ", "interface Ethernet1\n   mtu 9000"),
        ("router bgp 64087.4368\n   neighbor X peer-group", "router bgp 4200010000\n   neighbor X peer group"),
        (
            "router bgp 1\n   neighbor X description peer-group AB:CD",
            "router bgp 1\n   neighbor X description peer-group AB:CD",
        ),
        (
            "ip access-list A\n   permit tcp any host 10.0.0.1 eq ssh https",
            "ip access-list A\n   10 permit tcp any 10.0.0.1/32 eq 22 443",
        ),
        (
            "ip access-list A\n   remark eq ssh\n   permit udp any eq syslog any",
            "ip access-list A\n   10 remark eq ssh\n   20 permit udp any eq 514 any",
        ),
        (
            "ip access-list A\n   10 permit tcp any any eq nosuchport",
            "ip access-list A\n   10 permit tcp any any eq nosuchport",
        ),
        (
            "ipv6 access-list A\n   10 permit icmpv6 any any packet-too-big",
            "ipv6 access-list A\n   10 permit icmpv6 any any 2",
        ),
        ("interface Ethernet1\n   description AB:CD:EF", "interface Ethernet1\n   description AB:CD:EF"),
    ],
)
def test_other_forms_become_the_one_that_readers_know(written: str, normal: str) -> None:
    assert normal_form(written) == normal
    assert normal_form(normal) == normal
