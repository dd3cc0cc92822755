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
    ("before", "twice"),
    [
        ("   neighbor fd", True),  # BGP's lines count one by one
        ("   description ", False),  # the last one of an interface's holds
    ],
)
def test_a_line_that_varies_and_stands_twice(before: str, twice: bool) -> None:
    text = text_of("lab-roce", "ctsw-p00-00", EOS)
    line = next(line for line in text.split("\n") if line.startswith(before))
    doubled = text.replace(f"\n{line}\n", f"\n{line}\n{line}\n", 1)
    assert [unread_part.text.rpartition(" / ")[2] for unread_part in unread(doubled)] == [line.strip()] * twice
    assert unread(doubled) == line_by_line(doubled)
