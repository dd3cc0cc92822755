"""Exceptions written into the text of a spec and taken out of it: comments and all other lines stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright.finding import ClusterwrightError
from clusterwright.spec.model import SpecException
from clusterwright.spec.text.exception_text import with_exception, without_exception
from clusterwright.spec.text.reader import read_document

ITEM = SpecException("ctsw-00", None, "Ethernet1/1", "drained", None, 'ticket 1: "fan"', ("exceptions", 0))
WRITTEN = '  - device: ctsw-00\n    port: "Ethernet1/1"\n    state: drained\n    reason: "ticket 1: \\"fan\\""\n'
OTHERS = """version: 1
exceptions:  # what is broken
  # since the storm
  - {device: a, state: drained, reason: a fan}

  - device: b  # two
    state: drained
    reason: a card
name: x
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: x\n", "name: x\n\nexceptions:\n" + WRITTEN),
        ("name: x", "name: x\n\nexceptions:\n" + WRITTEN),
        ("exceptions: []\nname: x\n", "exceptions:\n" + WRITTEN + "name: x\n"),
        ("exceptions:\n- {device: a}\n", "exceptions:\n" + WRITTEN.replace("\n  ", "\n")[2:] + "- {device: a}\n"),
        (OTHERS, OTHERS.replace("broken\n", "broken\n" + WRITTEN)),
    ],
)
def test_an_exception_is_written_first(text: str, expected: str, tmp_path: Path) -> None:
    written = with_exception(text, ITEM)
    assert written == expected
    file = tmp_path / "spec.yaml"
    file.write_text(written)
    assert read_document(file).data["exceptions"][0]["reason"] == ITEM.reason


@pytest.mark.parametrize("text", ["name: x\n", "name: x\nexceptions:\n  - {device: a, state: drained}\n", OTHERS])
def test_what_was_written_is_taken_out(text: str, tmp_path: Path) -> None:
    file = tmp_path / "spec.yaml"
    file.write_text(with_exception(text, ITEM))
    assert without_exception(file.read_text(), read_document(file), ITEM) == text


def test_any_item_is_taken_out_with_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "spec.yaml"
    file.write_text(OTHERS)
    second = SpecException("b", None, None, "drained", None, "a card", ("exceptions", 1))
    first = SpecException("a", None, None, "drained", None, "a fan", ("exceptions", 0))
    start, end = OTHERS.index("  - device: b"), OTHERS.index("name: x")
    assert without_exception(OTHERS, read_document(file), second) == OTHERS[:start] + OTHERS[end:]
    line = "  - {device: a, state: drained, reason: a fan}\n"
    assert without_exception(OTHERS, read_document(file), first) == OTHERS.replace(line, "")


def test_a_list_in_brackets_is_not_edited(tmp_path: Path) -> None:
    text = "exceptions: [{device: ctsw-00, port: Ethernet1/1, state: drained, reason: a fan}]\n"
    file = tmp_path / "spec.yaml"
    file.write_text(text)
    with pytest.raises(ClusterwrightError, match="Write it by hand"):
        with_exception(text, ITEM)
    with pytest.raises(ClusterwrightError, match="by hand"):
        without_exception(text, read_document(file), ITEM)
