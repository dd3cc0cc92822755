"""Settings in pages and messages, as in `state: drained`, have values that the schema takes."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012
from tests.test_docs import GUIDES, REPOSITORY

from clusterwright import data_files

SCHEMAS = {
    file.name: json.loads(file.read_text(encoding="utf-8"))
    for file in (data_files.folder("inventory") / "schema").glob("*.json")
}
RESOURCES = [
    (name, Resource.from_contents(schema, default_specification=DRAFT202012)) for name, schema in SCHEMAS.items()
]
REGISTRY: Registry[Any] = Registry().with_resources(RESOURCES)
# Schemas of files that a person writes.
WRITTEN_BY_HAND = ("access", "accelerator", "choices", "cluster", "distribution", "hardware", "platforms", "system")
# A property whose schema has none of these words is a condition on the key, as in `not` or `if`.
DECIDING = frozenset({"$ref", "anyOf", "const", "enum", "oneOf", "type"})
SETTING = re.compile(r"`([a-z_]+): (\"?[a-z0-9][\w.-]*\"?)`")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# Words of SONiC and NVUE on the page on Ethernet, `key` for any key, and another format's version.
OF_OTHERS = frozenset(
    {
        "`docker_routing_config_mode: separated`",
        "`frr_mgmt_framework_config: true`",
        "`enable: on`",
        "`state: enabled`",
        "`key: null`",
        "`version: 3.8`",
    }
)

PAGES = [*GUIDES, *sorted((REPOSITORY / "docs/rules").glob("*.md"))]
MODULES = sorted((REPOSITORY / "src/clusterwright").rglob("*.py"))


def validators_by_key() -> dict[str, list[Draft202012Validator]]:
    """For every key that a person writes, a validator for each place in which it may stand."""
    validators: dict[str, list[Draft202012Validator]] = defaultdict(list)

    def visit(node: Any, pointer: str) -> None:
        if isinstance(node, list):
            for index, inner in enumerate(node):
                visit(inner, f"{pointer}/{index}")
        if not isinstance(node, dict):
            return
        for key, schema in node.get("properties", {}).items():
            if DECIDING & set(schema):
                reference = {"$ref": f"{pointer}/properties/{key}"}
                validators[key].append(Draft202012Validator(reference, registry=REGISTRY))
        for word, inner in node.items():
            visit(inner, f"{pointer}/{word}")

    for name in WRITTEN_BY_HAND:
        visit(SCHEMAS[f"{name}.schema.json"], f"{name}.schema.json#")
    return validators


VALIDATORS = validators_by_key()


def untrue_settings(text: str) -> list[str]:
    """The settings whose key has no place in which the value would be taken."""
    untrue = []
    for setting in SETTING.finditer(FENCE.sub("", text)):
        key, written = setting.groups()
        if setting[0] in OF_OTHERS:
            continue
        value = yaml.safe_load(written)
        if not any(validator.is_valid(value) for validator in VALIDATORS[key]):
            untrue.append(setting[0])
    return untrue


def test_values_that_no_place_takes_are_found() -> None:
    text = "set `state: drained`, `state: gone`, `staate: drained`, `trust: dscp`, `remove: true` or `remove: false`"
    assert untrue_settings(text) == ["`state: gone`", "`staate: drained`", "`trust: dscp`", "`remove: false`"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_write_values_that_the_schema_takes(page: Path) -> None:
    assert untrue_settings(page.read_text(encoding="utf-8")) == []


def test_messages_write_values_that_the_schema_takes() -> None:
    for module in MODULES:
        settings = untrue_settings(module.read_text(encoding="utf-8"))
        of_our_keys = [setting for setting in settings if VALIDATORS[setting[1:].partition(":")[0]]]
        assert of_our_keys == [], module
