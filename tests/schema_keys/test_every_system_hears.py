"""Every key that the text of any switch follows is written for every other system, or lint says that it is not.

Each key of the sites, fabrics and borders of the specs beside this file is changed at two places of each system: the
text of that system's switches there changes, or something is found that was not. A key that stands in the spec of
other systems alone is put into a spec of this one first.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import date
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from clusterwright.finding import ClusterwrightError
from clusterwright.intent.device_kind import device_kind
from clusterwright.output.renderers import own_files, shared_files
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_with_subject
from clusterwright.spec.hardware.systems import systems
from clusterwright.spec.text.document import Document
from clusterwright.spec.text.document import Path as Place
from clusterwright.spec.text.extends import read_spec_document
from clusterwright.why.alternatives import changed, other_values
from clusterwright.why.leaves import ITEM, SchemaLeaf, leaves

SPECS = Path(__file__).parent / "specs"
# By system, the spec whose switches show what it is told.
SPEC_OF = {"eos": "roce", "fboss": "roce", "sonic": "sonic", "nvue": "nvue"}
TRIES = 3
DAY = date(2026, 6, 1)
# Keys that are no switch's alone to follow: what they change is cables, ports and counts, which are the plan's.
OF_THE_PLAN = frozenset(
    {"name", "role", "model", "per", "join", "count", "mode", "spread", "to", "blocks", "medium", "length_m"}
)
# Keys of which a system leaves out what is for people alone.
FOR_PEOPLE = {"site.operators[].keys[]": ("nvue",)}  # the comment behind a key
Found = tuple[str, str, str]
Texts = dict[tuple[str, int], tuple[tuple[str, object], ...]]


class Subject:
    """A spec, what lint finds in it, and what one switch of each tier is told."""

    def __init__(self, document: Document) -> None:
        result, subject = lint_with_subject(document, DAY)
        findings = [*result.findings, *(suppression.finding for suppression in result.suppressed)]
        self.found = frozenset((finding.code, finding.severity.label, finding.message) for finding in findings)
        is_refused = any(finding.severity.label == "error" for finding in result.findings)
        self.texts: Texts = {} if is_refused or subject is None else _texts(subject.plan)
        self.document = document


def _texts(plan: Plan) -> Texts:
    found: Texts = {}
    for device in plan.devices:
        place = (device.fabric, device.tier)
        if device.kind != "switch" or place in found:
            continue
        kind = device_kind(plan, device)
        files = [*own_files(plan, device), *(shared_files(plan, kind, device.name) if kind is not None else ())]
        found[place] = tuple((file.path, file.content) for file in files)
    return found


@cache
def standing(name: str) -> Subject:
    return Subject(read_spec_document(SPECS / f"{name}.yaml"))


@cache
def tiers_of(name: str, system: str) -> frozenset[tuple[str, int]]:
    """The fabrics and tiers whose switches run a system."""
    _, subject = lint_with_subject(standing(name).document, DAY)
    assert subject is not None
    catalogue = subject.spec.catalogue
    return frozenset(
        (device.fabric, device.tier)
        for device in subject.plan.devices
        if device.kind == "switch" and catalogue[device.model].network_os == system
    )


def keys() -> Iterator[SchemaLeaf]:
    for leaf in leaves("cluster"):
        is_ours = leaf.path and leaf.path[0] in {"site", "fabrics", "borders"} and leaf.path[1:2] != ("floor",)
        is_told = leaf.path and leaf.path[-1] not in {"source", "assumed", "remove", *OF_THE_PLAN}
        if is_ours and is_told and not leaf.is_object and len(leaf.path) > 1:
            yield leaf


def places(leaf: SchemaLeaf, name: str, system: str) -> list[Place]:
    """Where a key stands in a spec and concerns a system's switches."""
    data = standing(name).document.data
    fabrics = {index for index, fabric in enumerate(data["fabrics"]) if _runs(fabric["name"], name, system)}
    found = []
    for place in leaf.places(data):
        is_concerned = place[0] != "fabrics" or len(place) == 1 or place[1] in fabrics
        if place[0] == "borders":
            is_concerned = systems()[system].has_borders  # lint refuses one at any other system's switch
        if is_concerned and "tiers" in place and place.index("tiers") + 1 < len(place):
            tier = (data["fabrics"][place[1]]["name"], place[place.index("tiers") + 1])
            is_concerned = tier in tiers_of(name, system)
        if is_concerned:
            found.append(place)
    return found


def _runs(fabric: str, name: str, system: str) -> bool:
    return any(each == fabric for each, _ in tiers_of(name, system))


def hears(leaf: SchemaLeaf, system: str) -> str:
    """How a key that is changed shows with a system: ``text`` of its switches, ``finding`` of lint, ``nothing``.

    ``nowhere`` for one that can stand nowhere in the system's spec.
    """
    name = SPEC_OF[system]
    before, shown = standing(name), "nowhere"
    for document, place in _with_key(leaf, name, system):
        base = before if document is before.document else Subject(document)
        if _is_refused(base.found - before.found):
            shown = "finding"
            continue
        for new in islice(other_values(leaf, _at(document.data, place), ()), TRIES):
            change = _change(base, changed(document, place, new), name, system)
            if change == "text":
                return "text"
            shown = change if shown != "finding" else shown
    return shown


def _is_refused(found: frozenset[Found]) -> bool:
    """True for what says of a key that it may not stand there, or is not told: other findings are about other keys."""
    return any(severity == "error" or code == "CW354" for code, severity, _ in found)


def _with_key(leaf: SchemaLeaf, name: str, system: str) -> Iterator[tuple[Document, Place]]:
    """The spec of a system with a key at each place that concerns it; where it stands nowhere, with another spec's."""
    document = standing(name).document
    own = places(leaf, name, system)
    yield from ((document, place) for place in own[:2])
    if own:
        return
    for length in range(len(leaf.path) - 1, 0, -1):
        section = SchemaLeaf(leaf.path[:length], {}, required=False)
        lacking = SchemaLeaf(leaf.path[: length + 1], {}, required=False)
        found = [place for place in places(section, name, system) if isinstance(_at(document.data, place), dict)]
        if found and leaf.path[length] != ITEM:
            for place in found[:2]:
                yield from _inserted(leaf, lacking, document, (*place, leaf.path[length]))
            return


def _inserted(
    leaf: SchemaLeaf, lacking: SchemaLeaf, document: Document, target: Place
) -> Iterator[tuple[Document, Place]]:
    for name in dict.fromkeys(SPEC_OF.values()):
        data = standing(name).document.data
        for place in lacking.places(data)[:1]:
            other = changed(document, target, copy.deepcopy(_at(data, place)))
            yield from ((other, place) for place in leaf.places(other.data) if place[: len(target)] == target)
            return


def _change(base: Subject, document: Document, name: str, system: str) -> str:
    try:
        other = Subject(document)
    except ClusterwrightError:
        return "finding"
    if any(base.texts.get(place) != other.texts.get(place) for place in tiers_of(name, system) if other.texts):
        return "text"
    return "finding" if other.found != base.found else "nothing"


def _at(data: Any, place: Place) -> Any:
    for step in place:
        data = data[step]
    return data


def is_unheard(leaf: SchemaLeaf, system: str) -> bool:
    """True for a key that a system's file says it is not told, or that is below one."""
    listed = [each.key for each in systems()[system].unheard]
    return any(f"{leaf.name}.".startswith((f"{key}.", f"{key}[")) for key in listed)


@pytest.mark.parametrize("leaf", list(keys()), ids=lambda leaf: leaf.name)
def test_a_key_that_one_system_follows_is_followed_or_refused_by_all(leaf: SchemaLeaf) -> None:
    heard = {system: hears(leaf, system) for system in SPEC_OF}
    if "text" not in heard.values():
        return  # no switch's key
    silent = [system for system, shown in heard.items() if shown == "nothing" and not is_unheard(leaf, system)]
    assert set(silent) == set(FOR_PEOPLE.get(leaf.name, ())), f"{leaf.name}: {heard}"


def test_a_key_that_a_system_says_it_is_not_told_is_one_that_others_are() -> None:
    by_name = {leaf.name: leaf for leaf in leaves("cluster")}
    for system, own in systems().items():
        for each in own.unheard:
            assert each.key in by_name, f"{system}: no spec has {each.key}"
