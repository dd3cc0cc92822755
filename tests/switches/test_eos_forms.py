"""What is found once for all interfaces of a form is what the text of each of them says, however it was edited."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import pytest
from tests.proofs.ethernet_trees import EOS, text_of

from clusterwright.finding import VerifyError
from clusterwright.packets.tokens import Unreadable
from clusterwright.switches.eos.reader import interfaces, openings, sections
from clusterwright.switches.eos.reader.configuration import read_eos
from clusterwright.switches.eos.reader.lists import read_eos_lists
from clusterwright.switches.eos.reader.sections import EosSection, sections_of
from clusterwright.switches.eos.reader.unread import unread

EDITS = 250
SECTION = re.compile(r"^([^\s!].*)\n?((?:[ \t].*\n?)*)", re.M)
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


class Plan:
    """Something to compare with that finds fault with one in three."""

    linked: Mapping[str, frozenset[str]] = {"switch": frozenset({"Ethernet1/1", "Ethernet3/1/1"})}

    def knows(self, text: str) -> bool:
        return len(text) % 3 > 0

    def misplaced(self, switch: str, port: str, text: str) -> str:
        return "" if len(text) % 3 else f"{port} has {text}"

    def unmet(self, switch: str, neighbour: str) -> str:
        return "" if len(neighbour) % 3 else f"nobody is at {neighbour}"


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


def said(text: str) -> list[object]:
    """All that readers make of a text, or why they do not."""

    def lists() -> Any:
        read = read_eos_lists(text)
        live = {name: each[:4] for name, each in read.live.items()}
        rest = [getattr(read, each.name) for each in fields(read) if each.name != "live"]
        return live, rest, list(read.bound()), list(read.faults())

    def router() -> Any:
        read = read_eos("switch", text)
        return read if read is None else [getattr(read, each.name) for each in fields(read)]

    found: list[object] = []
    for take in (
        router,
        lists,
        lambda: list(openings.openings(text, "switch", None)),
        lambda: list(openings.openings(text, "switch", Plan())),
        lambda: unread(text),
    ):
        try:
            found.append(take())
        except (VerifyError, Unreadable, ValueError, AttributeError) as error:
            found.append(repr(error))
    return found


@contextmanager
def without_forms(monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as alone:
        for module in (sections, interfaces):
            alone.setattr(module, "form_of", lambda body: (f"\n{body}", ()))
        alone.setattr(openings, "_with_own_words", lambda text: [(0, len(text) + 2)])
        alone.setattr(openings, "_opens", lambda header: True)
        forget()
        yield
    forget()


def forget() -> None:
    for known in (sections._taken_apart, sections.sections_by_word, read_eos_lists):
        known.cache_clear()


@pytest.mark.parametrize(
    ("spec", "device"),
    [("lab-roce", "ctsw-p00-00"), ("lab-border", "ssw-00"), ("lab-roce", "mgmt-00"), ("lab-tenants", "mgmtagg-00")],
)
def test_an_edited_text_is_read_as_without_forms(spec: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, drawn = text_of(spec, device, EOS), random.Random(device)
    for _ in range(EDITS):
        changed = edited(text, drawn)
        found = said(changed)
        assert [each[:4] for each in sections_of(changed)] == [*sections_by_pattern(changed)], changed
        with without_forms(monkeypatch):
            assert found == said(changed), changed


def sections_by_pattern(text: str) -> list[tuple[int, int, str, str]]:
    return [
        (text.count("\n", 0, found.start()) + 1, found.start(), found[1], found[2]) for found in SECTION.finditer(text)
    ]


def test_interfaces_that_differ_in_their_own_lines_have_one_form() -> None:
    own = [each for each in sections_of(text_of("lab-roce", "ctsw-p00-00", EOS)) if "Ethernet" in each.header]
    assert len({each.form for each in own}) < len(own) / 2
    assert all(written(each) == sorted(each.body.splitlines()) for each in own)


def written(section: EosSection) -> list[str]:
    return sorted((*section.form.splitlines()[1:], *(f"   {line}" for line in section.port_lines)))
