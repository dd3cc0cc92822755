"""Sections of EOS that differ in names and addresses alone are judged once: with the same answer as line by line."""

from __future__ import annotations

import random

import pytest
from tests.proofs.ethernet_trees import EOS, text_of

from clusterwright.switches.eos.reader.unread import unread

STRANGE = "\n!\nsand rate-limiter 5"  # a file that has it is gone through line by line
EDITS = 200


def line_by_line(text: str) -> tuple[object, ...]:
    *found, strange = unread(text + STRANGE)
    assert strange.text == "sand rate-limiter 5"
    return tuple(found)


def edited(lines: list[str], drawn: random.Random) -> list[str]:
    at, other = drawn.randrange(len(lines)), drawn.randrange(len(lines))
    line = lines[at]
    put = drawn.choice(
        (line, lines[other], f" {line}", f"   {line}", line.strip(), f"{line} x", line[:-1], "", "!", "\t!")
    )
    return [*lines[:at], *((line,) if drawn.random() < 0.5 else ()), put, *lines[at + 1 :]]


@pytest.mark.parametrize("device", ["ctsw-p00-00", "mgmt-00"])
def test_an_edit_is_told_as_line_by_line(device: str) -> None:
    lines, drawn = text_of("lab-roce", device, EOS).split("\n"), random.Random(device)
    answers = set()
    for _ in range(EDITS):
        text = "\n".join(edited(lines, drawn))
        assert unread(text) == line_by_line(text), text
        answers.add(bool(unread(text)))
    assert answers == {False, True}


@pytest.mark.parametrize(
    ("device", "first", "second"),
    [
        ("ctsw-p00-00", "   description {}", "   description to nobody"),
        ("ctsw-p00-00", "   mtu {}", "   mtu 1500"),
        ("ctsw-p00-00", "   ipv6 address {}", "   ipv6 address fd00::99/127"),
        ("ctsw-p00-00", "   service-profile {}", "   service-profile other"),
        ("ctsw-p00-00", "   neighbor fd{}", "   neighbor fd{}"),
        ("ctsw-p00-00", "   router-id {}", "   router-id 192.0.2.1"),
        ("ctsw-p00-00", "   maximum-paths {}", "   maximum-paths 1 ecmp 1"),
        ("ctsw-p00-00", "      bandwidth percent {}", "      bandwidth percent 1"),
        ("ctsw-p00-00", "ip load-sharing arad {}", "ip load-sharing arad 2"),
        ("mgmt-00", "   switchport access vlan {}", "   switchport access vlan 4000"),
        ("ctsw-p00-00", "   no switchport", "   switchport"),
        ("ctsw-p00-00", "      shutdown", "      no shutdown"),  # of eAPI in the default VRF
    ],
)
def test_a_setting_that_is_made_twice_is_unread(device: str, first: str, second: str) -> None:
    """EOS keeps the last of two lines; readers may take the first."""
    text = text_of("lab-roce", device, EOS)
    begins = first.partition("{")[0]
    line = next(line for line in text.split("\n") if line.startswith(begins))
    other = line if "{}" in second else second
    doubled = text.replace(f"\n{line}\n", f"\n{line}\n{other}\n", 1)
    assert doubled != text
    assert [place.text.rpartition(" / ")[2] for place in unread(doubled)] == [other.strip()]
    assert unread(doubled) == line_by_line(doubled)


@pytest.mark.parametrize("line", ["load-interval 30", "lldp transmit", "no snmp trap link-status"])
def test_a_line_without_effect_is_accounted_for_at_its_own_place(line: str) -> None:
    text = "interface Ethernet1/1\n   {}\n!\nend\n"
    assert not unread(text.format(line))
    assert unread(f"{line}\n!\nend\n")
