"""How far tests went is data: each choice has it, each test that it names is there, and the page says the same."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from tests.golden_files import REFRESH
from tests.pages.versions_page import choices, page

from clusterwright.spec.choices.chosen import choices_of
from clusterwright.spec.choices.table import choice_keys
from clusterwright.spec.choices.walk import CHECKED, UNTRIED, WALKED, Walk
from clusterwright.spec.load import load_spec

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs/versions.md"
SCHEMA = json.loads((REPOSITORY / "inventory/schema/cluster.schema.json").read_text())
CHOICES = [pytest.param(walk, id=f"{chooses}: {title}") for chooses, title, walk in choices()]


def test_the_page_is_what_the_files_say() -> None:
    text = page()
    if REFRESH:
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "docs/versions.md is stale; `make golden` writes it"


@pytest.mark.parametrize("walk", CHOICES)
def test_what_was_tried_names_its_tests_and_what_was_not_tried(walk: Walk) -> None:
    assert walk.extent in {WALKED, CHECKED, UNTRIED}
    assert walk.open, "nothing is tried to its end: what is left?"
    assert bool(walk.tests) is bool(walk.by) is not walk.is_untried
    for named in walk.tests:
        file, _, name = named.partition("::")
        tree = ast.parse((REPOSITORY / file).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, named


def schema_of(key: str) -> dict[str, Any]:
    """What the schema has for a key of specs."""
    node = SCHEMA["else"]
    for step in key.replace("[]", "").split("."):
        node = node.get("else", node) if "properties" not in node else node
        node = node.get("items", node)
        if node.get("$ref", "").startswith("#/$defs/"):
            node = SCHEMA["$defs"][node["$ref"].rsplit("/", 1)[1]]
        node = node["properties"][step]
    return dict(node)


@pytest.mark.parametrize("key", choice_keys())
def test_every_value_that_the_schema_takes_is_there(key: str) -> None:
    known = {value.name for value in choice_keys()[key].values}
    takes = schema_of(key)
    if "enum" in takes:
        assert known == set(takes["enum"])
    else:
        assert choice_keys()[key].otherwise is not None


def test_a_spec_s_choices_are_found_where_they_stand() -> None:
    spec = load_spec(REPOSITORY / "inventory/rsc-phase1.yaml")
    untried = {chosen.title: chosen.path for chosen in choices_of(spec) if chosen.walk.is_untried}
    assert untried.keys() == {"MLNX-OS", "Ubuntu 24.04"}
    assert spec.document.at(untried["Ubuntu 24.04"]) == "Ubuntu 24.04"
