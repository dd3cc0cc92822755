"""Impossible AS numbers in rendered text, of switches and of neighbours outside."""

from __future__ import annotations

import re

import pytest
from tests.proofs.ethernet_trees import EOS, Edit, tree, verdict

BORDER, BEYOND = "ssw-00", 1 << 32


def messages(edits: dict[tuple[str, str], Edit]) -> list[str]:
    return [example.message for example in verdict("bgp-sessions", tree("lab-border", edits)).counterexamples]


def to_neighbour(asn: int) -> Edit:
    """Another AS number for the neighbour of a border."""
    return lambda text: re.sub(r"(neighbor fd00:1ab:f:fffd::1 remote-as) \d+", rf"\g<1> {asn}", text)


@pytest.mark.parametrize(
    ("asn", "reason"),
    [
        (23456, "RFC 6793"),
        (65535, "RFC 7300"),
        (BEYOND - 1, "RFC 7300"),
        (BEYOND, "the last number is 4294967294"),
    ],
)
def test_a_neighbour_outside_has_a_possible_number(asn: int, reason: str) -> None:
    assert messages({}) == []
    (message,) = messages({(BORDER, EOS): to_neighbour(asn)})
    assert f"cannot be AS {asn}" in message
    assert reason in message


def test_a_switch_has_a_possible_number() -> None:
    """All switches of the tier and their neighbours agree on a number that EOS refuses."""
    impossible = {
        (device, EOS): lambda text: text.replace("4200000100", str(BEYOND))
        for device in ("atsw-00", "atsw-01", "ctsw-p00-00", "ctsw-p00-01", "ctsw-p01-00", "ctsw-p01-01")
    }
    faults = messages(impossible)
    assert [message for message in faults if f"AS {BEYOND} is no router's" in message] == faults
    assert len(faults) == len(("atsw-00", "atsw-01"))
