"""JSON in lines: what any reader makes of it is the document, and the lines are broken where they should be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.text.json_lines import dump_lines

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def test_as_many_levels_are_broken_as_asked_for() -> None:
    document = {"sw": {"ports": [{"id": 1, "up": True}, {"id": 2}], "vlans": []}, "name": 'r"ä'}
    assert dump_lines(document, depth=1).decode() == (
        '{\n  "sw": {"ports": [{"id": 1, "up": true}, {"id": 2}], "vlans": []},\n  "name": "r\\"\\u00e4"\n}\n'
    )
    assert dump_lines(document, depth=3).decode() == (
        '{\n  "sw": {\n    "ports": [\n      {"id": 1, "up": true},\n      {"id": 2}\n    ],\n    "vlans": []\n  },\n'
        '  "name": "r\\"\\u00e4"\n}\n'
    )


@given(st.dictionaries(st.text(), VALUES), st.integers(1, 5))
def test_a_reader_gets_the_document_and_lines_differ_from_plain_json_in_breaks_alone(
    document: dict[str, Any], depth: int
) -> None:
    text = dump_lines(document, depth).decode()
    assert json.loads(text) == document
    broken = text.replace(",\n", ", \n").splitlines()
    assert "".join(line.lstrip(" ") for line in broken) == json.dumps(document)


def test_what_json_has_no_text_for_is_an_error() -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        dump_lines({"a": {1, 2}})
