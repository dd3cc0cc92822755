"""What a string may hold is said once, by kind, and no kind lets a line end or another control character through."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright import data_files
from clusterwright.rules.engine import lint_path
from clusterwright.spec.schema.check import check
from clusterwright.spec.schema.patterns import compiled
from clusterwright.spec.text.reader import parse_document

FOLDER = data_files.folder("inventory") / "schema"
READ_FROM_USERS = ("cluster", "hardware", "system", "access", "secrets")
KINDS: dict[str, Any] = json.loads((FOLDER / "strings.schema.json").read_text())["$defs"]
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def subschemas(value: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        yield place, value
        for key, below in value.items():
            yield from subschemas(below, f"{place}/{key}")
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from subschemas(below, f"{place}/{index}")


@pytest.mark.parametrize("name", READ_FROM_USERS)
def test_every_string_of_a_schema_is_of_a_kind(name: str) -> None:
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text())
    free = [
        place
        for place, below in subschemas(schema)
        if below.get("type") == "string"
        or "string" in (below.get("type") or ())
        or isinstance(below.get("pattern"), str)
    ]
    assert not free
    referred = {
        below["$ref"].rsplit("/", 1)[1] for _, below in subschemas(schema) if "strings.schema" in below.get("$ref", "")
    }
    assert referred <= set(KINDS)


def test_no_kind_is_left_that_nothing_is_of() -> None:
    text = "".join((FOLDER / f"{name}.schema.json").read_text() for name in READ_FROM_USERS)
    assert [name for name in KINDS if f'strings.schema.json#/$defs/{name}"' not in text] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_bounded_at_both_ends_and_holds_one_line(kind: str) -> None:
    pattern = KINDS[kind]["pattern"]
    assert pattern.startswith("^")
    assert pattern.endswith("$")
    assert not re.search(r"\\[dDsSwWbB]", pattern), "another meaning for JavaScript's regular expressions"

    @settings(max_examples=12, deadline=None, database=None)
    @given(st.from_regex(compiled(pattern)))
    def holds_one_line(text: str) -> None:
        assert not CONTROL.search(text)
        for end in ("\n", "\r\n", "\x85", "\u2028"):
            assert not compiled(pattern).search(text + end)

    holds_one_line()


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^[a-z]+$", "ab", True),
        ("^[a-z]+$", "ab\n", False),
        (r"^a\$$", "a$", True),
        (r"^a\$$", "a$\n", False),
        ("^[$]+$", "$$", True),
        (r"^[\]$]$", "$", True),
        ("^(a|b$)$", "b", True),
        ("^(a|b$)$", "b\n", False),
        (r"^\\$", "\\", True),
        (r"^\\$", "\\\n", False),
    ],
)
def test_an_end_is_the_end_of_the_text(pattern: str, text: str, matches: bool) -> None:
    assert bool(compiled(pattern).search(text)) is matches


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('title: "two\\nlines"', "title has a line end"),
        ('title: "tab\\there"', "title has a tab"),
        ("title: |\n  kept\n", "title has a line end at its end"),
        ('extra_config: [{role: tor, reason: x, file: a, merge: {A: {b: "c\\n"}}}]', "merge.A.b has a line end"),
        ('extra_config: [{role: tor, reason: x, file: a, merge: {"A\\t": 1}}]', "A key has a tab"),
    ],
)
def test_a_text_of_two_lines_is_refused_wherever_it_stands(line: str, said: str) -> None:
    found = [
        each for each in check(parse_document(f"version: 1\n{line}\n", "spec.yaml"), "cluster") if each.code == "CW172"
    ]
    assert len(found) == 1
    assert said in found[0].message
    assert found[0].position.line == 2
    assert "\n" not in found[0].message


def test_one_text_gets_one_finding(tmp_path: Path) -> None:
    """Its pattern is missed for the same reason."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        (data_files.folder("inventory") / "lab-roce.yaml")
        .read_text()
        .replace("name: lab-roce", 'name: "lab-roce\\n"', 1)
    )
    findings = lint_path(spec).findings
    assert [(finding.code, finding.path) for finding in findings] == [("CW172", "name")]
