"""What is accepted without jsonschema is what jsonschema accepts: over the packaged files, spoiled in many ways."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.spec_mutations import HUGE, ODD

from clusterwright import data_files
from clusterwright.spec.schema import check
from clusterwright.spec.schema.acceptance import UnknownKeywordError, acceptance

INVENTORY = data_files.folder("inventory")
FILES = (
    *((INVENTORY / f"{name}.yaml", "cluster") for name in ("lab-roce", "lab-ib", "lab-nvue", "roce-24k", "ib-24k")),
    *((file, "hardware") for file in sorted((INVENTORY / "hardware").glob("*.yaml"))),
    *((file, "system") for file in sorted((INVENTORY / "systems").glob("*.yaml"))),
    *((file, "distribution") for file in sorted((INVENTORY / "distributions").glob("*.yaml"))),
    *((file, "accelerator") for file in sorted((INVENTORY / "accelerators").glob("*.yaml"))),
)
SPOILED = 150


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, below in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(below, dict | list):
            yield from places(below, (*path, key))


def spoiled(data: Any, chance: random.Random) -> Any:
    """The data with one value other, missing, repeated, or under another key."""
    data = copy.deepcopy(data)
    *above, key = chance.choice(list(places(data)))
    holder = data
    for part in above:
        holder = holder[part]
    way = chance.randrange(4)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif way == 1:
        holder[chance.choice(["ports", "name", "x-y", ""])] = holder.pop(key)
    elif way == 2 and isinstance(holder[key], int | float):
        holder[key] = chance.choice([-holder[key], holder[key] * 1000, float(holder[key]), bool(holder[key]), 0])
    else:
        holder[key] = chance.choice([*HUGE, *ODD])
    return data


@pytest.mark.parametrize(("file", "schema"), FILES, ids=lambda each: getattr(each, "stem", each))
def test_it_accepts_what_jsonschema_accepts(file: Any, schema: str) -> None:
    data = yaml.safe_load(file.read_text())
    judge = check._validator(INVENTORY / "schema", schema)
    # what stands in YAML as a date is text to the reader of specs
    data = json.loads(json.dumps(data, default=str))
    assert judge.is_valid(data) == check.accepts(data, schema)
    answers = set()
    for seed in range(SPOILED):
        other = spoiled(data, random.Random(f"{file.name} {seed}"))
        answers.add(judge.is_valid(other))
        assert check.accepts(other, schema) == judge.is_valid(other), seed
    assert False in answers


def test_it_knows_every_keyword_of_the_published_schemas() -> None:
    schemas = {file.name: json.loads(file.read_text()) for file in (INVENTORY / "schema").glob("*.json")}
    for name, schema in schemas.items():
        acceptance(schemas.__getitem__, name)
        for part in schema.get("$defs", {}):
            acceptance({**schemas, "part": {"$ref": f"{name}#/$defs/{part}"}}.__getitem__, "part")({})


def test_equal_in_json_is_neither_more_nor_less_than_equal_there() -> None:
    def accepts(schema: Any, value: Any) -> bool:
        return acceptance({"a": schema}.__getitem__, "a")(value)

    assert accepts({"enum": [1]}, 1.0)
    assert not accepts({"enum": [1]}, True)
    assert not accepts({"const": [0]}, [False])
    assert accepts({"uniqueItems": True}, [1, True, "1", [1], [True], {"a": 1}, {"a": True}])
    assert not accepts({"uniqueItems": True}, [{"a": [1]}, {"a": [1.0]}])
    assert not accepts({"type": "integer"}, 3.0)
    assert accepts({"multipleOf": 0.5}, 1.5)
    assert not accepts({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1})


def test_an_unknown_keyword_is_left_to_jsonschema() -> None:
    with pytest.raises(UnknownKeywordError):
        acceptance({"a": {"contains": {}}}.__getitem__, "a")
