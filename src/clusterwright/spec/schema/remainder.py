"""A document without the parts that its schema refuses, so that all other rules can run.

Positions stay those of the whole document, for nothing moves: a list loses no item, but goes as a whole.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterwright.spec.schema.check import accepts, refused_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.finding import Finding
    from clusterwright.spec.text.document import Document, Path

# Stand in for keys without which nothing can be typed; what stands in is never judged.
_STAND_INS: Mapping[str, Any] = {
    "version": 1,
    "name": "unnamed",
    "site": {"domain": "invalid"},
    "nodes": [],
    "fabrics": [],
}


@dataclass(frozen=True, slots=True)
class Remainder:
    """A document that the schema accepts, and the removed paths, each with its finding.

    Keys that have no meaning are taken out too, but no value is in doubt without them. ``unread`` are the findings
    because of which whole mappings and lists went: nobody has looked at what is in them.
    """

    document: Document
    taken: Mapping[Path, Finding]
    unread: tuple[Finding, ...]


def remainder(document: Document, schema_name: str, findings: Iterable[Finding]) -> Remainder | None:
    """``document`` without the parts that ``findings`` of its schema name; None when it is then empty."""
    blamed = list(findings)
    if not blamed or accepts(document.data, schema_name):
        return Remainder(document, {}, ())
    data = deepcopy(document.data)
    taken: dict[Path, Finding] = {}
    unread: list[Finding] = []
    while refused := [
        refused_place
        for refused_place in refused_places(data, schema_name)
        if not _stands_in(data, refused_place.place)
    ]:
        gets_on = False
        for refusal in refused:
            if not refusal.place or not blamed:
                return None
            path = refusal.place if refusal.instead and refusal.place not in taken else _cut(refusal.place)
            finding = _at_key(document, path, blamed) if refusal.unknown else _to_blame(path, blamed)
            instead = refusal.instead if path not in taken else ()
            for gone in _take(data, path, instead):
                gets_on = True
                if isinstance(gone, dict | list):
                    unread.append(finding)
                if not refusal.unknown:
                    taken[path] = finding
        if not gets_on:
            return None
    return Remainder(replace(document, data=data), taken, tuple(dict.fromkeys(unread)))


def _stands_in(data: Any, place: Path) -> bool:
    """Whether the value at ``place`` is a stand-in for a required one; the schema need not accept it."""
    return bool(place) and place[0] in _STAND_INS and data.get(place[0]) is _STAND_INS[str(place[0])]


def _cut(place: Path) -> Path:
    """Where to cut for a fault at ``place``: an item of a list takes the list with it."""
    while place and isinstance(place[-1], int):
        place = place[:-1]
    return place


def _take(data: Any, path: Path, instead: tuple[Any, ...]) -> Iterator[Any]:
    """Takes what stands at ``path`` out of ``data`` and gives it, None for a key that is lacking; nothing when it is
    gone already. ``instead`` of it stands there, or at the top level what must be there.
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
    return (isinstance(data, dict) and key in data) or (
        isinstance(data, list) and isinstance(key, int) and key < len(data)
    )


def _to_blame(path: Path, findings: list[Finding]) -> Finding:
    """The finding that removed ``path``: the first in or above it, or in its section."""
    for depth in range(len(path), 0, -1):
        for finding in findings:
            if finding.place[:depth] == path[:depth]:
                return finding
    return findings[0]


def _at_key(document: Document, path: Path, findings: list[Finding]) -> Finding:
    """The finding about the unknown key at ``path``."""
    position = document.locate(path, key=True)
    return next((finding for finding in findings if finding.position == position), findings[0])
