"""Reading: plain YAML with positions comes out, everything else is refused where it stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.finding import Finding, Position, SpecError
from clusterwright.spec.text.reader import MAX_DEPTH, MAX_NODES, parse_document, read_document
from clusterwright.spec.text.source import MAX_BYTES


def refused(text: str) -> Finding:
    """The first finding for ``text``."""
    with pytest.raises(SpecError) as caught:
        parse_document(text, "f.yaml")
    return caught.value.findings[0]


def test_values_keys_and_comments_keep_their_places() -> None:
    document = parse_document("# top\na: {b: [1, x]} # why\nc: 'it''s # no comment' # yes\n", "f.yaml")
    assert document.data == {"a": {"b": [1, "x"]}, "c": "it's # no comment"}
    assert document.keys["a", "b"] == Position("f.yaml", 2, 5)
    assert document.values["a", "b", 1] == Position("f.yaml", 2, 12)
    assert document.comments == {("f.yaml", 1): "top", ("f.yaml", 2): "why", ("f.yaml", 3): "yes"}
    assert document.locate(("a", "b", 7)) == Position("f.yaml", 2, 8)
    assert document.files == ("f.yaml",)


@pytest.mark.parametrize(
    ("text", "comments"),
    [
        ("a: b#c\n", {}),
        ("a: 'x' # one # two\n", {1: "one # two"}),
        ("a: | # head\n  # text\n  b\n# after\nc: 1 # end\n", {1: "head", 4: "after", 5: "end"}),
        ("a: >-\n  x # y\n\n\n# after\n", {5: "after"}),
        ('a: "x\n  # y"\nb: ["#", 1] # z\n', {3: "z"}),
        ('"k # k": 1 # v\n', {1: "v"}),
    ],
)
def test_a_number_sign_starts_a_comment_only_outside_of_text(text: str, comments: dict[int, str]) -> None:
    found = parse_document(text, "f").comments
    assert {line: comment for (_, line), comment in found.items()} == comments


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"),
        ("NO", "NO"),
        ("on", "on"),
        ("true", True),
        ("~", None),
        ("", None),
        ("12:30:45", "12:30:45"),
        ("2024-03-12", "2024-03-12"),
        ("0x8001", 0x8001),
        ("0o644", 0o644),
        ("-7", -7),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("fd00::/48", "fd00::/48"),
        ("00:1c:73:aa:bb:cc", "00:1c:73:aa:bb:cc"),
        ("'010'", "010"),
        ("10.0.0.1", "10.0.0.1"),
    ],
)
def test_unquoted_words_mean_what_yaml_1_2_says(written: str, value: object) -> None:
    found = parse_document(f"a: {written}\n", "f").data["a"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "said"),
    [
        ("a: 1\nb: {c: 1, c: 2}\n", "CW102", 2, 11, '"c" is already given on line 2'),
        ("a: &x 1\n", "CW103", 1, 4, "anchor (&x)"),
        ("a: *x\n", "CW103", 1, 4, "alias (*x)"),
        ("a: !!python/object:os.system x\n", "CW103", 1, 4, "a tag"),
        ("a: ! x\n", "CW103", 1, 4, "a tag"),
        ("a: {<<: 1}\n", "CW103", 1, 5, "merge key"),
        ("1: a\n", "CW103", 1, 1, "a key that is not text"),
        ("~: a\n", "CW103", 1, 1, "a key that is not text"),
        ("? [a]\n: 1\n", "CW103", 1, 3, "as a key"),
        ("a: .nan\n", "CW103", 1, 4, ".nan"),
        ("a: -.inf\n", "CW103", 1, 4, "-.inf"),
        ("a: 010\n", "CW103", 1, 4, "010"),
        ("a: 1_000\n", "CW103", 1, 4, "1_000"),
        ("a: 0b1\n", "CW103", 1, 4, "0b1"),
        ("a: 1e999\n", "CW103", 1, 4, "too large"),
        (f"a: {'9' * 5000}\n", "CW103", 1, 4, "64 bits"),
        ("a: 1\n---\nb: 1\n", "CW103", 2, 1, "a second document"),
        ("%YAML 1.1\n---\na: 1\n", "CW103", 1, 1, "directive"),
        ("a:\n\t- b\n", "CW103", 2, 1, "tabs"),
        ("a: x\x07y\n", "CW103", 1, 5, "U+0007"),
        ("a: x\u202ey\n", "CW103", 1, 5, "U+202E"),
        ('a: "\\0"\n', "CW103", 1, 4, "control character"),
        ("a: 1\rb: 2\n", "CW103", 1, 5, "U+000D"),
        ("a: " + "[" * MAX_DEPTH, "CW103", 1, MAX_DEPTH + 3, f"deeper than {MAX_DEPTH}"),
        ("a: [" + "x," * MAX_NODES + "]", "CW103", 1, 2 * MAX_NODES + 1, f"more than {MAX_NODES}"),
        ("a: b: c\n", "CW101", 1, 5, "mapping values"),
        ('a: 1\nb: "x\n', "CW101", 2, 4, "unexpected end"),
        ("- a\n", "CW101", 1, 1, "not a mapping"),
        ("# nothing\n", "CW101", 1, 1, "empty"),
    ],
)
def test_surprises_are_refused_where_they_stand(text: str, code: str, line: int, column: int, said: str) -> None:
    finding = refused(text)
    assert (finding.code, finding.position) == (code, Position("f.yaml", line, column)), finding
    assert said in finding.message
    assert finding.hint.endswith(".")


def test_all_slips_of_a_file_are_shown_together() -> None:
    with pytest.raises(SpecError) as caught:
        parse_document("a: 010\nb: !x y\na: 1\n", "f")
    assert [finding.code for finding in caught.value.findings] == ["CW103", "CW103", "CW102"]


def test_byte_order_marks_and_dos_line_ends_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "dos.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: x # why\r\n")
    document = read_document(file)
    assert document.data == {"a": 1, "b": "x"}
    assert document.comments == {(str(file), 2): "why"}


def test_bytes_that_are_not_utf8_are_refused_where_they_stand(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes("a: 1\nb: ü\xfc\n".encode()[:-3] + b"\xfc\n")
    with pytest.raises(SpecError) as caught:
        read_document(file)
    assert caught.value.findings[0].position == Position(str(file), 2, 5)


def test_what_is_no_readable_file_is_refused(tmp_path: Path) -> None:
    for path, said in (
        (tmp_path, "a directory"),
        (tmp_path / "absent.yaml", "no such file"),
        (Path("/dev/zero"), "not a regular file"),
        (tmp_path / ("x" * 300), "cannot be read"),
        ("a\0b", "cannot be read"),
    ):
        with pytest.raises(SpecError) as caught:
            read_document(path)
        assert caught.value.findings[0].code == "CW101"
        assert said in caught.value.findings[0].message


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    with file.open("wb") as stream:
        stream.truncate(1 << 40)  # a hole that no memory would hold
    with pytest.raises(SpecError, match="larger than 4 MiB"):
        read_document(file)
    file.write_text("a: " + "x" * MAX_BYTES)
    with pytest.raises(SpecError, match="larger than 4 MiB"):
        read_document(file)


@settings(deadline=None, max_examples=300)
@given(
    st.binary(max_size=200)
    | st.text(alphabet=":-#&*!|>'\"%@`{}[], \n\t~ab0.?<=e_\u202e\u00fc", max_size=80).map(str.encode)
)
def test_no_bytes_do_anything_but_parse_or_be_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_bytes(content)
    findings = outcome(file)
    assert findings is None or findings
    for finding in findings or ():
        assert finding.code in {"CW101", "CW102", "CW103"}
        assert finding.position.line >= 1
        assert finding.position.column >= 1


def outcome(file: Path) -> tuple[Finding, ...] | None:
    """The findings that refuse ``file``, or None when it is read."""
    try:
        read_document(file)
    except SpecError as error:
        return error.findings
    return None


words = st.text(max_size=12, alphabet="abc 01:#-'\"é\n{}[]\\,")
json_data = st.dictionaries(
    words,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63) + 1, 2**64 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | words,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
        max_leaves=12,
    ).filter(lambda value: value is not None),
    max_size=6,
)


@settings(deadline=None, max_examples=150)
@given(json_data.filter(lambda data: not any("\n" in key for key in _keys(data))), st.sampled_from([None, 2]))
def test_json_is_read_as_what_it_is(data: dict[str, Any], indent: int | None) -> None:
    document = parse_document(json.dumps(data, indent=indent, ensure_ascii=False), "f")
    assert document.data == data
    assert document.comments == {}


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(child)
