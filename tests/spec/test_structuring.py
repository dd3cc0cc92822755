"""Types that are read by their fields: keys, defaults of the schema, places, and what is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from clusterwright import data_files
from clusterwright.spec.image import USUAL_HEALTH, Image
from clusterwright.spec.isolation import Flow
from clusterwright.spec.rollout import DEFAULT_ROLLOUT, RolloutPolicy
from clusterwright.spec.schema.check import default_at
from clusterwright.spec.structuring import Structuring, keys_of

if TYPE_CHECKING:
    from clusterwright.spec.text.document import Path

SCHEMA: dict[str, Any] = json.loads(
    (data_files.folder("inventory") / "schema" / "cluster.schema.json").read_text(encoding="utf-8")
)


def test_a_default_stands_in_the_schema_alone() -> None:
    policy = SCHEMA["$defs"]["rollout"]["properties"]
    assert policy["canaries"]["default"] == DEFAULT_ROLLOUT.canaries
    assert policy["gates"]["properties"]["sessions"]["default"] == {
        "deadline_s": DEFAULT_ROLLOUT.gates.sessions.deadline_s
    }
    assert SCHEMA["$defs"]["health"]["properties"]["interval_s"]["default"] == USUAL_HEALTH.interval_s


def test_every_default_of_the_spec_is_found_by_the_keys_that_lead_to_it() -> None:
    def walk(node: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        node = node.get("else", node) if "properties" not in node else node
        node = node.get("items", node)
        if "$ref" in node and node["$ref"].startswith("#"):
            node = SCHEMA["$defs"][node["$ref"].rpartition("/")[2]]
        for key, below in node.get("properties", {}).items():
            if "default" in below:
                yield (*keys, key), below["default"]
            yield from walk(below, (*keys, key))

    found = list(walk(SCHEMA, ()))
    assert len(found) > 70
    assert [(keys, default_at("cluster", keys)) for keys, _ in found] == found


def test_a_default_that_is_a_mapping_fills_up_what_is_given() -> None:
    policy = Structuring("cluster").typed(RolloutPolicy, {"gates": {"subnet": {"budget": 2}}}, ("rollout",))
    assert (policy.gates.subnet.deadline_s, policy.gates.subnet.budget) == (180, 2)


def test_every_thing_keeps_its_place() -> None:
    data = {"name": "gpu", "distribution": "Debian 13", "drivers": [{"name": "n", "version": "1", "packages": ["a=2"]}]}
    image = Structuring("cluster").typed(Image, data, ("images", 3))
    place: Path = ("images", 3, "drivers", 0)
    assert (image.path, image.drivers[0].path) == (("images", 3), place)
    assert (image.drivers[0].packages[0].version, image.masked_units, image.sysctl) == ("2", (), {})


def test_what_must_be_there_is_not_made_up() -> None:
    with pytest.raises(KeyError, match="protocol"):
        Structuring("cluster").typed(Flow, {"name": "a", "from": "x", "to": "y"}, ("flows", 0))


def test_fields_are_known_by_the_keys_that_lead_to_them() -> None:
    assert keys_of(Flow)["from",] == "source"
    assert keys_of(Image)["units", "mask"] == "masked_units"
