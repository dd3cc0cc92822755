"""Reading rendered objects line by line, compared with what YAML reads of the same text."""

from __future__ import annotations

import random

import pytest
from tests.plans import plan_of
from tests.switches.test_nvue import switches, text_of

from clusterwright.packets.tokens import Unreadable
from clusterwright.switches.nvue.reader.block_lines import read_lines
from clusterwright.switches.nvue.reader.objects import Object
from clusterwright.switches.nvue.reader.yaml_text import read_yaml

LAB = plan_of("lab-nvue")
TEXTS = [text_of(LAB, name) for name in switches(LAB)]
BEGINNING = "- set:\n    interface:\n"
# Text that YAML may take for something else, or that ends, opens or repeats an object.
_BLANKS = (" ", "  ", "    ", "\n", "\t", "\r", "\x85", "\u2028", "\ufeff", "\x07", "é")
_SIGNS = (":", ": ", '"', "'", "\\", "#", " #", "-", "- ", "{", "}", "{}", "[", ",", "?", "&a ", "*a")
_MORE = ("|", ">", "!", "%", "@", "`")
_WORDS = (
    "~",
    "null",
    "on",
    "No",
    "010",
    "0x1f",
    "1e3",
    "1:30",
    "2026-01-02",
    ".inf",
    "=",
    "<<",
    "!!str ",
    "---",
    "...",
)
PIECES = (*_BLANKS, *_SIGNS, *_MORE, *_WORDS, "swp1-2", "swp1,2", "vlan10", "set:", "interface:")


def expected(text: str) -> Object | None:
    """What YAML reads; None where it refuses the text."""
    try:
        return read_yaml(text)
    except Unreadable:
        return None


def test_every_rendered_switch_is_read_line_by_line_as_yaml_reads_it() -> None:
    for text in TEXTS:
        lines = read_lines(text)
        assert lines is not None
        assert lines == read_yaml(text)


@pytest.mark.parametrize("seed", range(4))
def test_a_changed_text_is_read_as_yaml_reads_it_or_left_to_yaml(seed: int) -> None:
    chance = random.Random(seed)
    read = 0
    for _ in range(500):
        lines = chance.choice(TEXTS).splitlines(keepends=True)
        start = chance.randrange(1, len(lines) - 30)
        text = "".join([lines[0], *lines[1:20], *lines[start : start + 30]])
        for _ in range(chance.randint(0, 2)):
            place = chance.randrange(len(text))
            text = text[:place] + chance.choice(PIECES) + text[place + chance.randint(0, 3) :]
        found = read_lines(text)
        if found is not None:
            read += 1
            assert found == expected(text), text
    assert read > 20


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- set:\n",
        "set:\n    interface:\n      swp1: {}\n",
        f"{BEGINNING}      swp1:\n",
        f"{BEGINNING}      swp1:\n    router: {{}}\n",
        f"{BEGINNING}      swp1: {{}}\n      swp1: {{}}\n",
        f"{BEGINNING}      swp1-2: {{}}\n",
        f"{BEGINNING}      swp1: {{}}\n       swp2: {{}}\n",
        f"{BEGINNING}      swp1: {{}}\n     swp2: {{}}\n",
        f"{BEGINNING}      swp1:\n        type: on\n",
        f"{BEGINNING}      swp1:\n        type: 010\n",
        f"{BEGINNING}      swp1:\n        type: swp\n          more: text\n",
        f"{BEGINNING}      no:\n        type: swp\n",
        f'{BEGINNING}      "{"a" * 2000}": {{}}\n',
        f"{BEGINNING}      swp1: {{}}",
        f"{BEGINNING}      swp1: {{}}\n- set:\n    router: {{}}\n",
    ],
)
def test_other_forms_are_left_to_yaml(text: str) -> None:
    assert read_lines(text) is None
