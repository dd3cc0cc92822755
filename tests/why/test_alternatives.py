"""Other values for a place of a spec: all of them are accepted there, and the document stays as it is."""

from __future__ import annotations

import pytest

from clusterwright import data_files
from clusterwright.spec.load import load_spec
from clusterwright.why.alternatives import changed, other_values
from clusterwright.why.leaves import SchemaLeaf, leaves

LAB = data_files.folder("inventory") / "lab-ib.yaml"


def leaf_named(name: str) -> SchemaLeaf:
    return next(leaf for leaf in leaves("cluster") if leaf.name == name)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("fabrics[].technology", "infiniband", {"ethernet", "roce"}),
        ("nccl.service_level", 0, {1, 2, 10}),
        ("zones[].isolated", True, {False}),
    ],
)
def test_other_values_differ_and_are_accepted(name: str, value: object, expected: set[object]) -> None:
    others = list(other_values(leaf_named(name), value, ()))
    assert expected <= set(others)
    assert value not in others


def test_a_change_leaves_the_document_alone() -> None:
    document = load_spec(LAB).document
    place = ("nccl", "service_level")
    assert changed(document, place, 3).at(place) == 3
    assert document.at(place) == 0
