"""A document without the parts refused by its schema, so that all other rules can run.

Positions stay those of the whole document, because nothing moves: a list loses no single item, only the whole list.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterwright.spec.schema.check import Refused, accepts, refused_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.finding import Finding
    from clusterwright.spec.text.document import Document, Path

# Stand in for keys required for typing; a stand-in is never checked.
_STAND_INS: Mapping[str, Any] = {
    "version": 1,
    "name": "unnamed",
    "site": {"domain": "invalid"},
    "nodes": [],
    "fabrics": [],
}


@dataclass(frozen=True, slots=True)
class Remainder:
    """A document accepted by the schema, and the removed paths, each with its finding.

    Unknown keys are removed too, but leave no value in doubt. ``unread`` are the findings that removed whole mappings
    and lists: their content was not checked.
    """

    document: Document
    taken: Mapping[Path, Finding]
    unread: tuple[Finding, ...]


def remainder(document: Document, schema_name: str, findings: Iterable[Finding]) -> Remainder | None:
    """``document`` without the parts named by ``findings`` of its schema; None if it is then empty."""
    blamed = list(findings)
    if not blamed or accepts(document.data, schema_name):
        return Remainder(document, {}, ())
    data = deepcopy(document.data)
    taken: dict[Path, Finding] = {}
    unread: list[Finding] = []
    while refused := _refused_values(data, schema_name):
        gets_on = False
        for refusal in refused:
            if not refusal.place or not blamed:
                return None
            path = refusal.place if refusal.instead and refusal.place not in taken else _cut(refusal.place)
            finding = _at_key(document, path, blamed) if refusal.unknown else _to_blame(path, blamed)
            instead = refusal.instead if path not in taken else ()
            for removed in _take(data, path, instead):
                gets_on = True
                if isinstance(removed, dict | list):
                    unread.append(finding)
                if not refusal.unknown:
                    taken[path] = finding
        if not gets_on:
            return None
    return Remainder(replace(document, data=data), taken, tuple(dict.fromkeys(unread)))


def _refused_values(data: Any, schema_name: str) -> list[Refused]:
    """Refusals of ``data`` by the schema, except those of stand-ins."""
    return [refusal for refusal in refused_places(data, schema_name) if not _stands_in(data, refusal.place)]


def _stands_in(data: Any, place: Path) -> bool:
    """Whether the value at ``place`` is a stand-in for a required one; the schema need not accept it."""
    return bool(place) and place[0] in _STAND_INS and data.get(place[0]) is _STAND_INS[str(place[0])]


def _cut(place: Path) -> Path:
    """The path to remove for a fault at ``place``: for an item of a list, the list."""
    while place and isinstance(place[-1], int):
        place = place[:-1]
    return place


def _take(data: Any, path: Path, instead: tuple[Any, ...]) -> Iterator[Any]:
    """Remove the value at ``path`` from ``data`` and yield it, None for a missing key; nothing if it is gone already.

    It is replaced by ``instead``, or at the top level by the stand-in of a required key.
    """
    *above, key = path
    for part in above:
        if not _has(data, part):
            return
        data = data[part]
    if len(path) == 1 and key in _STAND_INS:
        yield data.get(key)
        data[key] = _STAND_INS[str(key)]
    elif _has(data, key):
        yield data[key]
        if instead:
            data[key] = instead[0]
        else:
            del data[key]


def _has(data: Any, key: str | int) -> bool:
    if isinstance(data, dict):
        return key in data
    return isinstance(data, list) and isinstance(key, int) and key < len(data)


def _to_blame(path: Path, findings: list[Finding]) -> Finding:
    """The finding responsible for the removal of ``path``: the first in or above it, or in its section."""
    for depth in range(len(path), 0, -1):
        for finding in findings:
            if finding.place[:depth] == path[:depth]:
                return finding
    return findings[0]


def _at_key(document: Document, path: Path, findings: list[Finding]) -> Finding:
    """The finding about the unknown key at ``path``."""
    position = document.locate(path, key=True)
    for finding in findings:
        if finding.position == position:
            return finding
    return findings[0]
