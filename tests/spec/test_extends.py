"""Specs on top of others: what merges, what is replaced, and where every value says that it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright import data_files
from clusterwright.finding import SpecError
from clusterwright.spec.text.document import Document
from clusterwright.spec.text.extends import MAX_CHAIN, identity, merge, read_spec_document
from clusterwright.spec.text.reader import parse_document


def merged(base: str, overlay: str) -> Document:
    return merge(parse_document(base, "base.yaml"), parse_document(overlay, "overlay.yaml"))


def test_named_items_merge_and_keep_the_file_they_came_from() -> None:
    document = merged(
        "name: a\ntiers:\n  - {role: leaf, count: 1, per: rack}\n  - {role: spine, count: 2}\nlist: [1, 2]\n",
        "tiers:\n  - {role: spine, count: 4}\n  - {role: leaf, remove: true}\n  - {role: core}\nlist: [3]\n",
    )
    assert document.data == {"name": "a", "tiers": [{"role": "spine", "count": 4}, {"role": "core"}], "list": [3]}
    assert str(document.locate(("name",))) == "base.yaml:1:7"
    assert str(document.locate(("tiers", 0, "role"))) == "overlay.yaml:2:12"
    assert str(document.locate(("tiers", 0, "count"), key=True)) == "overlay.yaml:2:19"
    assert str(document.locate(("tiers", 1, "role"))) == "overlay.yaml:4:12"
    assert document.files == ("base.yaml", "overlay.yaml")
    assert document.file == "overlay.yaml"


def test_what_the_overlay_leaves_alone_keeps_its_place_in_the_base() -> None:
    document = merged("tiers:\n  - {role: leaf, per: rack}\n  - {role: spine}\n", "tiers: [{role: spine, count: 2}]\n")
    assert document.data == {"tiers": [{"role": "leaf", "per": "rack"}, {"role": "spine", "count": 2}]}
    assert str(document.locate(("tiers", 0, "per"))) == "base.yaml:2:23"


def test_an_empty_list_replaces() -> None:
    assert merged("flows: [{name: a}]\n", "flows: []\n").data == {"flows": []}


def test_removing_what_is_not_there_is_refused() -> None:
    with pytest.raises(SpecError) as caught:
        merged("flows: [{name: ssh}]\n", "flows:\n  - {name: shh, remove: true}\n")
    (finding,) = caught.value.findings
    assert (finding.code, str(finding.position), finding.path) == ("CW105", "overlay.yaml:2:17", "flows[shh]")


def test_null_takes_a_key_of_the_base_away() -> None:
    document = merged("site: {domain: a.example, dns: [a]}\nname: a\n", "site: {dns: null}\n")
    assert document.data == {"site": {"domain": "a.example"}, "name": "a"}
    assert not any("dns" in path for path in (*document.values, *document.keys))
    items = merged("tiers: [{role: leaf, count: 2}]\n", "tiers: [{role: leaf, count: null}]\n")
    assert items.data == {"tiers": [{"role": "leaf"}]}


def test_taking_away_a_key_that_is_not_there_is_refused() -> None:
    with pytest.raises(SpecError) as caught:
        merged("site: {domain: a.example}\n", "site:\n  dsn: null\n")
    (finding,) = caught.value.findings
    assert (finding.code, str(finding.position), finding.path) == ("CW105", "overlay.yaml:2:3", "site.dsn")


def test_cycles_long_chains_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("extends: b.yaml\n")
    (tmp_path / "b.yaml").write_text("x: 1\nextends: ./sub/../a.yaml\n")
    (tmp_path / "gone.yaml").write_text("extends: nowhere.yaml\n")
    (tmp_path / "typed.yaml").write_text("extends: [a.yaml]\n")
    for number in range(MAX_CHAIN + 1):
        (tmp_path / f"c{number}.yaml").write_text(f"extends: c{number + 1}.yaml\n")
    (tmp_path / f"c{MAX_CHAIN + 1}.yaml").write_text("x: 1\n")
    for name, code, said in (
        ("a.yaml", "CW104", "comes back to itself"),
        ("c0.yaml", "CW104", f"longer than {MAX_CHAIN} files"),
        ("gone.yaml", "CW105", "nowhere.yaml does not exist"),
        ("typed.yaml", "CW105", "must be the path"),
    ):
        with pytest.raises(SpecError) as caught:
            read_spec_document(tmp_path / name)
        assert caught.value.findings[0].code == code
        assert said in caught.value.findings[0].message
    assert read_spec_document(tmp_path / "c3.yaml").data == {"x": 1}


def test_a_fault_in_the_base_is_shown_in_the_base(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("a: 1\na: 2\n")
    (tmp_path / "top.yaml").write_text("extends: base.yaml\n")
    with pytest.raises(SpecError) as caught:
        read_spec_document(tmp_path / "top.yaml")
    assert caught.value.findings[0].position.file == str(tmp_path / "base.yaml")


scalars = st.integers(0, 9) | st.sampled_from(["a", "b"])
items = st.fixed_dictionaries({"name": st.sampled_from("pqrs")}, optional={"k": scalars, "l": scalars})
named_lists = st.lists(items, max_size=4, unique_by=lambda item: item["name"])
mappings = st.recursive(
    st.dictionaries(st.sampled_from("abcd"), scalars | named_lists, max_size=4),
    lambda inner: st.dictionaries(st.sampled_from("abcd"), inner | scalars | named_lists, max_size=4),
    max_leaves=8,
).filter(bool)


def document_of(data: Any, file: str) -> Document:
    return parse_document(yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False), file)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {path, *(below for key, child in children for below in paths(child, (*path, key)))}


@settings(deadline=None)
@given(mappings, mappings)
def test_merging_obeys_its_laws(base: dict[str, Any], overlay: dict[str, Any]) -> None:
    below, above = document_of(base, "base"), document_of(overlay, "overlay")
    result = merge(below, above)
    # Every value has a position, no position is left over, and neither input is touched.
    assert set(result.values) == paths(result.data)
    assert below.data == base
    assert above.data == overlay
    assert {position.file for position in result.values.values()} <= {"base", "overlay"}
    # The overlay always wins, and laying it on again changes nothing.
    _assert_wins(overlay, result.data)
    assert merge(result, above).data == result.data
    assert merge(below, below).data == base


def _assert_wins(overlay: Any, result: Any) -> None:
    if isinstance(overlay, dict):
        for key, value in overlay.items():
            _assert_wins(value, result[key])
    elif isinstance(overlay, list):
        by_identity = {identity(item): item for item in result}
        for item in overlay:
            _assert_wins(item, by_identity[identity(item)])
    else:
        assert overlay == result


def test_a_changed_figure_brings_its_own_origin_and_loses_the_old_one() -> None:
    below = document_of({"expect": [{"figure": "gpus", "value": 8, "source": "a paper"}]}, "base")
    above = document_of({"expect": [{"figure": "gpus", "value": 16, "assumed": "twice the paper"}]}, "overlay")
    assert merge(below, above).data == {"expect": [{"figure": "gpus", "value": 16, "assumed": "twice the paper"}]}


@pytest.mark.parametrize("key", ["extend", "extensd", "exetnds", "Extends", "extends_"])
def test_a_misspelt_extends_is_the_one_thing_that_is_told(key: str, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(f"{key}: base.yaml\nname: lab\n")
    with pytest.raises(SpecError) as caught:
        read_spec_document(tmp_path / "spec.yaml")
    (finding,) = caught.value.findings
    assert (finding.code, finding.position.line, finding.hint) == ("CW110", 1, 'Did you mean "extends"?')


def test_no_other_key_is_taken_for_a_misspelt_extends(tmp_path: Path) -> None:
    schema = json.loads((data_files.folder("inventory") / "schema" / "cluster.schema.json").read_text())
    (tmp_path / "spec.yaml").write_text(
        "".join(f"{key}: 1\n" for key in schema["else"]["properties"] if key != "extends")
    )
    assert "expect" in read_spec_document(tmp_path / "spec.yaml").data
