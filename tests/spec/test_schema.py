"""Schema findings: the words, the place and the advice, for every kind of slip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from clusterwright import data_files
from clusterwright.finding import Severity
from clusterwright.spec.schema.check import MAX_FINDINGS, check
from clusterwright.spec.text.reader import parse_document

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "toy.schema.json",
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "description": "Lower case letters.", "pattern": "^[a-z]+$", "maxLength": 5},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "on": {"type": "boolean"},
        "kind": {"enum": ["leaf", "spine"]},
        "tags": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
        "ports": {"oneOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[0-9]+-[0-9]+$"}]},
        "figure": {
            "type": "object",
            "oneOf": [{"required": ["source"]}, {"required": ["assumed"]}],
            "properties": {"value": {}, "source": {}, "assumed": {}},
            "additionalProperties": False,
        },
        "pair": {
            "type": "object",
            "required": ["left", "right"],
            "properties": {"left": {"type": "integer"}, "right": {"type": "integer"}},
            "additionalProperties": False,
        },
        "limits": {"type": "object", "propertyNames": {"enum": ["nofile", "nproc"]}},
        "shape": {
            "oneOf": [
                {
                    "properties": {"is": {"const": "fat-tree"}, "depth": {"type": "integer"}},
                    "required": ["is", "depth"],
                },
                {"properties": {"is": {"const": "ring"}, "size": {"type": "integer"}}, "required": ["is", "size"]},
            ]
        },
        "half": {"type": "object", "dependentRequired": {"low": ["high"]}},
        "site": {"$ref": "other.schema.json#/$defs/site"},
    },
}
OTHER = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "other.schema.json",
    "$defs": {"site": {"type": "object", "additionalProperties": False, "properties": {"domain": {"type": "string"}}}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schema")
    (folder / "toy.schema.json").write_text(json.dumps(SCHEMA))
    (folder / "other.schema.json").write_text(json.dumps(OTHER))
    return folder


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cuont: 3", '2:1 CW110 unknown key "cuont" in the top level. | Did you mean "count"? Allowed here: name,'),
        (
            "limits: {nofiles: 1}",
            '2:10 CW110 unknown key "nofiles" in limits. | Did you mean "nofile"? Allowed here: n',
        ),
        ("site: {domian: x}", '2:8 CW110 unknown key "domian" in site. | Did you mean "domain"?'),
        ("figure: {value: 1}", "2:9 CW111 figure needs `source:`, or `assumed:`. | Add one of them."),
        ("figure: 3", "2:9 CW112 figure must be a mapping, not the number 3. | Write a mapping."),
        ("half: {low: 1}", '2:7 CW111 half lacks the key "high", which low: needs beside it. | Add `high:`.'),
        ('count: "3"', '2:8 CW112 count must be a whole number, not the text "3". | Remove its quotes.'),
        ("count: 3.0", "2:8 CW112 count must be a whole number, not the number 3.0. | Write a whole number."),
        ("count: true", "2:8 CW112 count must be a whole number, not true. | Write a whole number."),
        ("count:", "2:7 CW112 count must be a whole number, not empty. | Write a whole number after the colon, or l"),
        ("on: yes", '2:5 CW112 on must be true or false, not the text "yes". | Write true or false; yes, no, on and'),
        ("tags: x", '2:7 CW112 tags must be a list, not the text "x". | Begin each item with a dash'),
        ("tags: [x, 4]", "2:11 CW112 tags[1] must be text, not the number 4. | Put it in quotes."),
        ("ports: [80]", "2:8 CW112 ports must be a whole number or text, not a list. | Write a whole number or text."),
        ("kind: leef", '2:7 CW113 kind cannot be "leef". | Did you mean "leaf"? Allowed here: leaf, spine.'),
        ("figure: {source: x, assumed: y}", "2:21 CW113 figure has `source:` and `assumed:`, which exclude each oth"),
        ("count: 10", "2:8 CW114 count is 10, but must be at most 9. | Change it."),
        ("tags: [x, x]", "2:7 CW114 tags is a list, but must not say anything twice. | Change it."),
        ("ports: 0", "2:8 CW114 ports is 0, but must be at least 1. | Change it."),
        ("ports: 1-x", '2:8 CW114 ports is "1-x", but must match ^[0-9]+-[0-9]+$. | Change it.'),
        ("shape: {is: ring, size: x}", "2:25 CW112 shape.size must be a whole number, not the text"),
        ("shape: {is: ring}", '2:8 CW111 shape lacks the key "size". | Add `size:`.'),
        ("figure: {sorce: x}", '2:10 CW110 unknown key "sorce" in figure. | Did you mean "source"?'),
        ("count: 0.5", "2:8 CW112 count must be a whole number, not the number 0.5. | Write a whole number."),
        ("pair: {}", '2:7 CW111 pair lacks the keys "left" and "right". | Add `left:`, `right:`.'),
        ("pair: {left: 1, rihgt: 1}", '2:17 CW110 unknown key "rihgt" in pair. | Did you mean "right"?'),
    ],
)
def test_a_slip_is_said_in_words_where_it_stands(folder: Path, line: str, expected: str) -> None:
    findings = check(parse_document(f"name: toy\n{line}\n", "f"), "toy", folder)
    (said,) = (f"{f.position.line}:{f.position.column} {f.code} {f.message} | {f.hint}" for f in findings)
    assert said.startswith(expected)


def test_the_description_in_the_schema_is_the_advice(folder: Path) -> None:
    (finding,) = check(parse_document("name: A1\n", "f"), "toy", folder)
    assert finding.hint == "Lower case letters."
    (finding,) = check(parse_document("count: 1\n", "f"), "toy", folder)
    assert (finding.code, finding.hint) == ("CW111", "Add `name:`. Lower case letters.")


def test_a_key_like_a_missing_one_is_no_slip_where_any_key_is_allowed(folder: Path) -> None:
    schema = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
    (folder / "open.schema.json").write_text(json.dumps(schema))
    (finding,) = check(parse_document("nmae: x\n", "f"), "open", folder)
    assert (finding.code, finding.message) == ("CW111", 'the top level lacks the key "name".')


def test_a_flood_of_findings_is_cut_short(folder: Path) -> None:
    text = "name: toy\n" + "".join(f"key{number}: 1\n" for number in range(MAX_FINDINGS + 30))
    findings = check(parse_document(text, "f"), "toy", folder)
    assert len(findings) == MAX_FINDINGS + 1
    assert (findings[-1].code, findings[-1].severity) == ("CW119", Severity.NOTE)
    assert findings[-1].message.startswith("30 more")


@pytest.mark.parametrize("name", ["cluster", "hardware"])
def test_the_published_schemas_are_schemas_and_refer_to_nothing_abroad(name: str) -> None:
    text = (data_files.folder("inventory") / "schema" / f"{name}.schema.json").read_text()
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    references = [value for value in _references(schema) if not value.startswith("#")]
    assert all("/" not in value.partition("#")[0] for value in references)


def _references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [found for item in value for found in _references(item)]
    if not isinstance(value, dict):
        return []
    here = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return here + [found for item in value.values() for found in _references(item)]
