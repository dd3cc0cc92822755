"""The spec reference in docs/ is what the published schemas make."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.golden_files import REFRESH
from tests.pages.schema_reference import Unsaid, schema_reference

from clusterwright.deploy.ansible.eapi import EapiAccess
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.spec.schema.check import default_at

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).parents[2]
PAGES = {
    "cluster": (
        "docs/spec.md",
        """Every key of a cluster spec. Begin with `inventory/lab-roce.yaml` or `inventory/lab-ib.yaml` and look keys up
here; editors that read `# yaml-language-server: $schema=` complete and check them while you type.""",
    ),
    "hardware": ("docs/hardware.md", "Every key of a hardware catalogue file, as in `inventory/hardware/`."),
    "access": (
        "docs/access.md",
        "Every key of the `--access` file: addresses and logins of devices for Ansible. See [deploying](deploy.md).",
    ),
    "system": (
        "docs/systems.md",
        "Every key of a switch system's file, as in `inventory/systems/`: each figure has its source.",
    ),
    "distribution": (
        "docs/distributions.md",
        "Every key of a distribution's file, as in `inventory/distributions/`: its programs, packages and users.",
    ),
}


def with_walk(text: str) -> dict[str, Any]:
    """A schema with the object that several schemas share among its own."""
    schema: dict[str, Any] = json.loads(text.replace('"walk.schema.json#/', '"#/'))
    if "walk.schema.json" in text:
        shared = json.loads((REPOSITORY / "inventory/schema/walk.schema.json").read_text())["$defs"]
        schema["$defs"] = {**schema.get("$defs", {}), **shared}
    return schema


@pytest.mark.parametrize("name", PAGES)
def test_the_reference_is_what_the_schema_makes(name: str) -> None:
    file, introduction = PAGES[name]
    schema = with_walk((REPOSITORY / f"inventory/schema/{name}.schema.json").read_text())
    strings = json.loads((REPOSITORY / "inventory/schema/strings.schema.json").read_text())
    text = schema_reference(schema, strings, introduction)
    page = REPOSITORY / file
    if REFRESH:
        page.write_text(text)
    assert page.read_text() == text, f"{file} is stale; `make golden` writes it"


def test_every_key_of_the_cluster_schema_says_what_it_means() -> None:
    schema = json.loads((REPOSITORY / "inventory/schema/cluster.schema.json").read_text())
    silent = [
        f"{name}.{key}"
        for name, definition in {"": schema["else"], **schema["$defs"]}.items()
        for key, value in definition.get("properties", {}).items()
        if "description" not in value and "$ref" not in value
    ]
    assert not silent


def test_every_object_has_a_table_and_every_default_is_said() -> None:
    """An inline object was once just "object", and what its keys are when left out stood nowhere."""
    schema = json.loads((REPOSITORY / "inventory/schema/cluster.schema.json").read_text())
    page = (REPOSITORY / "docs/spec.md").read_text()
    assert "| object |" not in page
    keys = {key for key in _keys(schema) if f"| `{key}` |" not in page}
    assert not keys


def test_what_the_page_has_no_words_for_is_not_passed_over() -> None:
    schema = {"title": "x", "properties": {"a": {"type": "string", "contentEncoding": "base64"}}}
    with pytest.raises(Unsaid, match="contentEncoding"):
        schema_reference(schema, {"$defs": {}}, "")


def test_a_text_needs_a_description_of_its_own() -> None:
    """Editors show that of its kind else: "A name: lower case letters, digits and dashes" for the source of a flow."""
    schema = {"title": "x", "properties": {"from": {"$ref": "strings.schema.json#/$defs/name"}}}
    kinds = {"$defs": {"name": {"type": "string", "description": "A name: lower case letters."}}}
    with pytest.raises(Unsaid, match="from"):
        schema_reference(schema, kinds, "")


@pytest.mark.parametrize(
    ("description", "default"),
    [
        ("One line for people; the name when left out.", "the name"),
        ("Where the key is kept. Without it nodes make their own.", "nodes make their own"),
        ("Congestion notification. When left out, classes say none.", "classes say none"),
        ("Seconds without progress.", "nothing"),
    ],
)
def test_the_default_column_quotes_the_description(description: str, default: str) -> None:
    schema = {"title": "x", "properties": {"key": {"type": "string", "description": description}}}
    assert f"| `key` | string | {default} | {description} |" in schema_reference(schema, {"$defs": {}}, "")


def test_a_default_that_is_said_in_other_words_is_refused() -> None:
    schema = {"title": "x", "properties": {"key": {"type": "string", "description": "A text (none if left out)."}}}
    with pytest.raises(Unsaid, match="if left out"):
        schema_reference(schema, {"$defs": {}}, "")


def _keys(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield from schema["properties"]
        for below in schema.values():
            yield from _keys(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from _keys(below)


@pytest.mark.parametrize(("kind", "place"), [(Access, ()), (EapiAccess, ("eapi",))], ids=["ssh", "eapi"])
def test_the_defaults_of_the_access_file_are_those_that_are_taken(
    kind: type[Access | EapiAccess], place: tuple[str, ...]
) -> None:
    taken = {field.name: field.default for field in fields(kind) if field.default not in (MISSING, None, "", ())}
    assert taken
    assert {name: default_at("access", (*place, name)) for name in taken} == taken
