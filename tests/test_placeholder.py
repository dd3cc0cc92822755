"""One grammar of placeholders, in text and in bytes."""

from __future__ import annotations

import re

import pytest

from clusterwright.placeholder import LIKE_ONE, MARK, PLACEHOLDER, PLACEHOLDER_IN_BYTES, around

WELL_FORMED = [
    ("<secret bgp-site>", ("bgp-site", None, None, None)),
    ("<secret/1st>", ("1st", None, None, None)),
    ("<secret bgp@2026-11.a>", ("bgp", "2026-11.a", None, None)),
    ("<secret m-key as m-key>", ("m-key", None, "m-key", None)),
    ("<secret bgp@3 as eos-bgp CTSW>", ("bgp", "3", "eos-bgp", "CTSW")),
]
MEANT_AS_ONE = ["<secret Bgp>", "<secret a_b>", "<secret a as eos type 7>", "<secret a@>", "<secret/a b>"]
NONE = ["<secret ...>", "<secret\nbgp>", "<secret>", "secret bgp", "<secret bgp\n>", "<Secret bgp>"]


@pytest.mark.parametrize(("text", "parts"), WELL_FORMED)
def test_a_placeholder_says_name_version_form_and_argument(text: str, parts: tuple[str | None, ...]) -> None:
    found, in_bytes = PLACEHOLDER.fullmatch(text), PLACEHOLDER_IN_BYTES.fullmatch(text.encode())
    assert found is not None
    assert in_bytes is not None
    assert tuple(found[name] for name in ("name", "version", "form", "argument")) == parts
    assert tuple(part if part is None else part.decode() for part in in_bytes.groups()) == parts
    assert text.startswith(MARK)
    assert re.fullmatch(LIKE_ONE, text)


@pytest.mark.parametrize(
    "text", ["<secret Bgp>", "<secret a_b>", "<secret a as eos type 7>", "<secret a@>", "<secret/a b>"]
)
def test_what_was_meant_as_one_is_like_one(text: str) -> None:
    assert not PLACEHOLDER.search(text)
    assert re.fullmatch(LIKE_ONE, text)


@pytest.mark.parametrize(
    "text", ["<secret ...>", "<secret\nbgp>", "<secret>", "secret bgp", "<secret bgp\n>", "<Secret bgp>"]
)
def test_other_text_is_none(text: str) -> None:
    assert not PLACEHOLDER.search(text)
    assert not re.search(LIKE_ONE, text)


def test_the_text_around_placeholders_has_no_part_of_them() -> None:
    line = "a <secret one@2 as eos-bgp GROUP> b <secret/two>"
    assert around(line) == ["a ", " b ", ""]
    assert around("no <secret ...> here") == ["no <secret ...> here"]
