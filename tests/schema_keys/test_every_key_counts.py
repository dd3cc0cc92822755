"""Every key of the schemas counts: a changed value is seen in findings, plan, files, report or a command's answer.

The keys are found in the schemas and tried in the specs beside this file, which hold every one of them.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import pytest
from tests.schema_keys.effects import CHEAP, Seen, difference

from clusterwright.rules.engine import lint_document
from clusterwright.spec.text.document import Document
from clusterwright.spec.text.document import Path as Place
from clusterwright.spec.text.extends import identity, merge, read_spec_document
from clusterwright.spec.text.reader import read_document
from clusterwright.why.alternatives import changed, other_values
from clusterwright.why.leaves import SchemaLeaf, leaves

SPECS = Path(__file__).parent / "specs"
NAMES = ("roce", "infiniband", "ufm", "sonic", "nvue", "existing", "rented")
HARDWARE = SPECS / "hardware.yaml"
PORTS = "port_config.ini"  # which a model in it names

# Keys that say something to readers of the file alone.
COMMENTS = {
    "source": "where a figure was published: for whoever reads the spec or the catalogue",
    "assumed": "why a figure was chosen; the report lists them, wherever they stand",
}
# Keys with one legal value, which therefore cannot be changed.
FIXED = {
    "version": "tells one format from the next",
    "kind": "tells a catalogue from a spec",
    "fabrics[].attach[].management": "its presence is what it says",
}
_SECOND = ("storage", "services", "compute", "10.99.0.0/24", 2.4, 2050)  # items that lists of one have beside it
PLACES = 24  # at which a key is tried until its change is seen
TRIES = 8  # other values at each


def _is_comment(leaf: SchemaLeaf) -> bool:
    return leaf.path[-1] in COMMENTS and "enum" not in leaf.schema


def _is_value(leaf: SchemaLeaf) -> bool:
    """Whether a value stands at ``leaf`` that can be changed by itself: neither a comment nor what extends a spec."""
    return not (_is_comment(leaf) or leaf.path[-1] in {"remove", "extends"} or leaf.name in FIXED or leaf.is_object)


CLUSTER = leaves("cluster")
CATALOGUE = leaves("hardware")
VALUES = [leaf for leaf in CLUSTER if _is_value(leaf)]
FIGURES = [leaf for leaf in CATALOGUE if _is_value(leaf)]
Where = tuple[str, Place, Any]  # the spec, where in it, and what stands there


@cache
def seen(name: str) -> Seen:
    """A spec of this test as it stands."""
    return Seen(read_spec_document(SPECS / f"{name}.yaml"))


@cache
def catalogue() -> Document:
    return read_document(HARDWARE)


def _where(leaf: SchemaLeaf) -> list[Where]:
    """Where values stand at ``leaf``, those of different kinds first: a section of every spec before its neighbours."""
    if leaf in FIGURES:
        data = catalogue().data
        return [("roce", place, _at(data, place)) for place in leaf.places(data)]
    found = [
        [(name, place, _at(seen(name).document.data, place)) for place in leaf.places(seen(name).document.data)]
        for name in NAMES
    ]
    longest = max(len(each) for each in found)
    return [each[number] for number in range(longest) for each in found if number < len(each)]


def _unwritten(leaf: SchemaLeaf) -> list[Where]:
    """Sections that could have a switch and do not: what it does may show there alone."""
    section = SchemaLeaf(leaf.path[:-1], {}, required=False)
    return [
        (name, (*place, leaf.path[-1]), False)
        for name in NAMES
        for place in section.places(seen(name).document.data)
        if leaf.path[-1] not in _at(seen(name).document.data, place)
    ][:2]


def _changed(leaf: SchemaLeaf, where: Where, value: Any, file: Path) -> Iterator[tuple[Seen, Seen]]:
    """The specs that the change of ``where`` to ``value`` touches, as they stand and as they then are."""
    name, place, _ = where
    if leaf not in FIGURES:
        yield seen(name), Seen(changed(seen(name).document, place, value))
        return
    file.write_text(json.dumps(changed(catalogue(), place, value).data))
    shutil.copy(SPECS / PORTS, file.parent)
    for each in ("roce", "infiniband", "nvue"):
        document = seen(each).document
        yield seen(each), Seen(replace(document, data={**document.data, "hardware": [str(file)]}))


def _is_seen(leaf: SchemaLeaf, where: Where, value: Any, file: Path) -> bool:
    return any(difference(one, other) is not None for one, other in _changed(leaf, where, value, file))


def _tries(leaf: SchemaLeaf) -> Iterator[tuple[Where, Any]]:
    """Places with another value for each: one value at every place first, then the second at every place, ..."""
    places = [*_where(leaf)[:PLACES], *(_unwritten(leaf) if leaf.schema.get("type") == "boolean" else ())]
    elsewhere = [value for _, _, value in places]
    others = [list(islice(other_values(leaf, where[2], elsewhere), TRIES)) for where in places]
    for number in range(TRIES):
        for where, values in zip(places, others, strict=True):
            if number < len(values):
                yield where, values[number]


def test_the_specs_are_sound() -> None:
    assert not [(name, seen(name).findings[0]) for name in NAMES if seen(name).is_refused]


def test_every_key_stands_in_a_spec() -> None:
    data = {
        leaf: [catalogue().data] if leaf in CATALOGUE else [seen(name).document.data for name in NAMES]
        for leaf in (*CLUSTER, *CATALOGUE)
        if not (_is_comment(leaf) or leaf.path[-1] in {"remove", "extends"})
    }
    lacking = [leaf.name for leaf, every in data.items() if not any(leaf.places(each) for each in every)]
    assert not lacking, f"no spec in {SPECS} has them"


@pytest.mark.parametrize(
    "leaf", [leaf for leaf in (*VALUES, *FIGURES) if "enum" not in leaf.schema], ids=lambda leaf: leaf.name
)
def test_a_change_is_seen(leaf: SchemaLeaf, tmp_path: Path) -> None:
    tries = list(_tries(leaf))
    if leaf.schema.get("type") in ("array", "object") and not tries:
        return  # one item that must stay: the item itself is changed
    assert tries, f"{leaf.name} has one legal value alone, and so says nothing"
    assert any(_is_seen(leaf, where, value, tmp_path / "hardware.yaml") for where, value in tries), (
        f"nobody sees {leaf.name} change"
    )


@pytest.mark.parametrize(
    "leaf", [leaf for leaf in (*VALUES, *FIGURES) if "enum" in leaf.schema], ids=lambda leaf: leaf.name
)
def test_no_two_values_of_a_choice_mean_the_same(leaf: SchemaLeaf, tmp_path: Path) -> None:
    """Every pair of values is told apart at some place where the key stands."""
    alike = set(combinations(leaf.schema["enum"], 2))
    assert alike, f"{leaf.name} has one legal value alone, and so says nothing"
    for where in _where(leaf)[:PLACES]:
        wanted = {value for pair in alike for value in pair}
        made = {
            value: list(_changed(leaf, where, value, tmp_path / f"{index}.yaml")) for index, value in enumerate(wanted)
        }
        alike = {
            (one, other)
            for one, other in alike
            if all(difference(a, b) is None for (_, a), (_, b) in zip(made[one], made[other], strict=True))
        }
        if not alike:
            return
    raise AssertionError(f"{leaf.name} treats alike: {sorted(map(str, alike))}")


@pytest.mark.parametrize("leaf", [leaf for leaf in CLUSTER if "default" in leaf.schema], ids=lambda leaf: leaf.name)
def test_a_default_written_out_changes_nothing(leaf: SchemaLeaf) -> None:
    parent = SchemaLeaf(leaf.path[:-1], {}, required=False)
    for name in NAMES:
        document = seen(name).document
        for place in parent.places(document.data):
            section = _at(document.data, place)
            if not isinstance(section, dict):
                continue
            here = (*place, leaf.path[-1])
            is_written = leaf.path[-1] in section
            one = Seen(changed(document, here, None, leaves_out=True)) if is_written else seen(name)
            other = Seen(changed(document, here, leaf.schema["default"]))
            if other.is_refused and not one.is_refused:
                continue  # a key that may not stand there at all
            assert difference(one, other, CHEAP) is None, f"{leaf.name}: {leaf.schema['default']} is not what is taken"
            return
    raise AssertionError(f"no spec shows the default of {leaf.name}")


@pytest.mark.parametrize("leaf", [leaf for leaf in VALUES if "x-unordered" in leaf.schema], ids=lambda leaf: leaf.name)
def test_a_list_whose_order_means_nothing_may_be_turned_around(leaf: SchemaLeaf) -> None:
    """Not a byte of what devices and commands are told changes: only so may `lint --fix` sort it."""
    for name, place, items in _where(leaf):
        document = seen(name).document
        for value in (items, *([*items, text] for text in _SECOND if text not in items)):
            one, other = Seen(changed(document, place, value)), Seen(changed(document, place, value[::-1]))
            if len(value) > 1 and not one.is_refused:
                assert _but_for_sorting(one) == _but_for_sorting(other)
                assert [kind for kind in CHEAP if getattr(one, kind) != getattr(other, kind)] == []
                return
    raise AssertionError(f"no spec has two items in {leaf.name}")


def _but_for_sorting(one: Seen) -> list[Any]:
    return [finding for finding in one.findings[0] if finding[0] != "CW196"]


def test_defaults_stand_in_the_schema_and_nowhere_else() -> None:
    """A default in words would be compared with nothing."""
    worded = re.compile(r"\d[^;.]* (?:when|if) (?:absent|left out)|[Dd]efault \d|unless said")
    assert not [leaf.name for leaf in (*CLUSTER, *CATALOGUE) if worded.search(leaf.schema.get("description", ""))]


@pytest.mark.parametrize("leaf", [leaf for leaf in CLUSTER if leaf.path[-1] == "remove"], ids=lambda leaf: leaf.name)
def test_remove_takes_an_item_of_the_base_away_and_is_refused_elsewhere(leaf: SchemaLeaf) -> None:
    item = SchemaLeaf(leaf.path[:-1], {}, required=False)
    name, place = next((name, place) for name in NAMES for place in item.places(seen(name).document.data))
    document = seen(name).document
    overlay = replace(document, data=_only(document.data, place))
    assert _at(merge(document, overlay).data, place[:-1]) != _at(document.data, place[:-1])
    findings = lint_document(changed(document, (*place, "remove"), True)).findings
    assert "CW691" in {finding.code for finding in findings}


def _only(data: Any, place: Place) -> Any:
    """An overlay that names what lies around ``place`` and removes what stands there."""
    if not place:
        return {**_identity(data), "remove": True}
    below = _only(data[place[0]], place[1:])
    return [below] if isinstance(data, list) else {**_identity(data), place[0]: below}


def _identity(data: Any) -> dict[str, Any]:
    found = identity(data)
    return {} if found is None else {found[0]: found[1]}


def _at(data: Any, place: Place) -> Any:
    for step in place:
        data = data[step]
    return data
