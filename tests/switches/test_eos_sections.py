"""Sections of an EOS configuration, and what is unread in them, are as a plain reader has them, also after edits."""

from __future__ import annotations

import random
import re

import pytest
from tests.proofs.ethernet_trees import EOS, text_of

from clusterwright.switches.eos.reader import unread
from clusterwright.switches.eos.reader.sections import sections_of

EDITS = 250
SECTION = re.compile(r"^([^\s!].*)\n?((?:[ \t].*\n?)*)", re.M)
DEVICES = (
    ("lab-roce", "ctsw-p00-00"),
    ("lab-border", "ssw-00"),
    ("lab-roce", "mgmt-00"),
    ("lab-tenants", "mgmtagg-00"),
)
LINES = (
    "   shutdown",
    "   description to a   shutdown",
    "   description   shutdown",
    "   description of an access-group",
    "   description neighbor fd00::1 remote-as 7",
    "   ip address dhcp",
    "   ip address virtual 10.0.0.1/24",
    "   ip address 10.0.0.1/31",
    "   ip address 10.0.0.1/31 secondary",
    "   ipv6 address auto-config",
    "   ipv6 address fd00::1/64",
    "   ipv6 address fd00:::/64",
    "   vrf MGMT",
    "   channel-group 7 mode active",
    "   ip access-group FABRIC in",
    "   neighbor fd00::1 remote-as 7",
    "   neighbor fd00::1 peer group UP",
    "      network fd00::/64",
    "      aggregate-address fd00::/48",
    "   ip proxy-arp",
    "   ip directed-broadcast",
    "   switchport trunk allowed vlan 7",
    "interface Ethernet1/1",
    "interface Ethernet1-7",
    "interface Vlan7",
    "interface Port-Channel7",
    "no router bgp 7",
    "monitor session 7 source Ethernet1",
    "\r",
    "\x0bx",
    "\u2028   shutdown",
    "\t",
)


def edited(text: str, drawn: random.Random) -> str:
    lines = text.split("\n")
    for _ in range(drawn.randint(1, 3)):
        at, other = drawn.randrange(len(lines)), drawn.randrange(len(lines))
        line = lines[at]
        strange = drawn.choice(LINES)
        put = drawn.choice(
            (lines[other], strange, strange, strange, f" {line}", line.strip(), line[:-1], "", "!", "\t!")
        )
        lines[at : at + drawn.randrange(2)] = [put]
    return "\n".join(lines) + drawn.choice(("", "\n", "\n\n", "   ", "\ninterface Ethernet9\n   ip proxy-arp"))


@pytest.mark.parametrize(("spec", "device"), DEVICES)
def test_an_edited_text_is_taken_apart_as_by_one_pattern(spec: str, device: str) -> None:
    text, drawn = text_of(spec, device, EOS), random.Random(device)
    for _ in range(EDITS):
        changed = edited(text, drawn)
        assert [tuple(section) for section in sections_of(changed)] == sections_by_pattern(changed), changed


@pytest.mark.parametrize(("spec", "device"), DEVICES)
def test_sections_checked_together_leave_what_line_by_line_is_left(
    spec: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, drawn = text_of(spec, device, EOS), random.Random(device)
    for _ in range(EDITS):
        changed = edited(text, drawn)
        together = unread.unread(changed)
        with monkeypatch.context() as line_by_line:
            line_by_line.setattr(unread, "_is_read", lambda _: False)
            assert together == unread.unread(changed), changed


def sections_by_pattern(text: str) -> list[tuple[int, int, str, str]]:
    return [
        (text.count("\n", 0, match.start()) + 1, match.start(), match[1], match[2]) for match in SECTION.finditer(text)
    ]
