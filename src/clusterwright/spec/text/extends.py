"""A spec on top of another: ``extends: base.yaml``, merged with the source file of every value.

Mappings merge key by key. Lists of mappings with an identity (``name``, ``role``, ``figure``, ``level`` or ``device``)
merge item by item: known identities merge in place, new ones are appended, and ``remove: true`` removes the item of
that identity. A key with the value ``null`` removes that of the base. Everything else is replaced, by an empty list
too. Codes: CW104 (cycle or too long a chain), CW105 (the base does not exist, or there is nothing to remove), CW110
(``extends`` misspelt).
"""

from __future__ import annotations

import os.path
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from clusterwright.finding import Amendment, Finding, Position, Severity, SpecError
from clusterwright.nearest_name import SURE, nearest
from clusterwright.spec.text.document import Document, Path, format_path
from clusterwright.spec.text.reader import read_document

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CHAIN = 8
IDENTITY_KEYS = ("name", "role", "figure", "level", "device")
# Origin of a figure: either key of an overlay replaces either key of the base.
PROVENANCE = frozenset({"source", "assumed"})

Identity = tuple[str, str | int]


def read_spec_document(path: FilePath | str) -> Document:
    """Read ``path`` and the files it extends, merged; the key ``extends`` itself is removed from the data.

    Raises SpecError: that of read_document, CW104, CW105 and CW110.
    """
    chain = [_spelt(read_document(path))]
    seen = {os.path.realpath(path)}
    while "extends" in chain[-1].data:
        overlay = chain[-1]
        base = _base_path(overlay)
        real = os.path.realpath(base)
        names = " → ".join([*(document.file for document in chain), base])
        if real in seen:
            raise _refused("CW104", overlay, f"the chain of extends: comes back to itself: {names}", "Break the cycle.")
        if len(chain) >= MAX_CHAIN:
            message = f"the chain of extends: is longer than {MAX_CHAIN} files: {names}"
            raise _refused("CW104", overlay, message, "Merge some of the files.")
        seen.add(real)
        chain.append(_spelt(read_document(base)))
    merged = _without_extends(chain.pop())
    while chain:
        merged = merge(merged, _without_extends(chain.pop()))
    return merged


def merge(base: Document, overlay: Document) -> Document:
    """``overlay`` laid on ``base``. Neither is changed.

    Raises SpecError (CW105) for ``remove: true`` of an item missing in the base.
    """
    work = _Merge(base, overlay)
    data = work.mapping((), base.data, (), overlay.data, ())
    if work.findings:
        raise SpecError(work.findings)
    files = (*(file for file in base.files if file not in overlay.files), *overlay.files)
    return Document(
        file=overlay.file,
        data=data,
        values=work.values,
        keys=work.keys,
        comments={**base.comments, **overlay.comments},
        files=files,
    )


def identity(item: Any) -> Identity | None:
    """The key and value that identify a list item, or None for an item without identity."""
    if isinstance(item, dict):
        for key in IDENTITY_KEYS:
            value = item.get(key)
            if isinstance(value, str | int) and not isinstance(value, bool):
                return key, value
    return None


@dataclass(slots=True)
class _Merge:
    base: Document
    overlay: Document
    values: dict[Path, Position] = field(default_factory=dict)
    keys: dict[Path, Position] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def node(self, path: Path, below: Any, below_path: Path, above: Any, above_path: Path) -> Any:
        """The merge, at ``path``, of the values at ``below_path`` in the base and ``above_path`` in the overlay."""
        if isinstance(below, dict) and isinstance(above, dict):
            return self.mapping(path, below, below_path, above, above_path)
        if _is_identified(below) and _is_identified(above):
            return self.items(path, below, below_path, above, above_path)
        return self.copy(self.overlay, path, above, above_path)

    def mapping(
        self, path: Path, below: dict[str, Any], below_path: Path, above: dict[str, Any], above_path: Path
    ) -> dict[str, Any]:
        self.values[path] = self.overlay.locate(above_path)
        merged: dict[str, Any] = {}
        for key in [*below, *(key for key in above if key not in below)]:
            merged_path = (*path, key)
            if key not in above and key in PROVENANCE and not PROVENANCE.isdisjoint(above):
                continue  # a changed figure has its own origin, and only one
            if key not in above:
                self._place_key(self.base, merged_path, (*below_path, key))
                merged[key] = self.copy(self.base, merged_path, below[key], (*below_path, key))
                continue
            if above[key] is None:
                if key not in below:
                    self._no_key(key, (*above_path, key))
                continue
            self._place_key(self.overlay, merged_path, (*above_path, key))
            if key in below:
                merged[key] = self.node(merged_path, below[key], (*below_path, key), above[key], (*above_path, key))
            else:
                merged[key] = self.copy(self.overlay, merged_path, above[key], (*above_path, key))
        return merged

    def items(self, path: Path, below: list[Any], below_path: Path, above: list[Any], above_path: Path) -> list[Any]:
        self.values[path] = self.overlay.locate(above_path)
        changes = {identity(item): index for index, item in enumerate(above)}
        merged: list[Any] = []
        for index, item in enumerate(below):
            merged_path = (*path, len(merged))
            change = changes.get(identity(item))
            if change is None:
                merged.append(self.copy(self.base, merged_path, item, (*below_path, index)))
            elif above[change].get("remove") is not True:
                merged.append(
                    self.mapping(merged_path, item, (*below_path, index), above[change], (*above_path, change))
                )
        identities = {identity(item) for item in below}
        for index, item in enumerate(above):
            if identity(item) in identities:
                continue
            if item.get("remove") is True:
                self._nothing_to_remove(item, (*above_path, index))
            else:
                merged.append(self.copy(self.overlay, (*path, len(merged)), item, (*above_path, index)))
        return merged

    def copy(self, source: Document, path: Path, value: Any, source_path: Path) -> Any:
        """``value`` with its positions, moved from ``source_path`` to ``path``."""
        self.values[path] = source.locate(source_path)
        if isinstance(value, dict):
            for key in value:
                self._place_key(source, (*path, key), (*source_path, key))
            return {key: self.copy(source, (*path, key), item, (*source_path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.copy(source, (*path, i), item, (*source_path, i)) for i, item in enumerate(value)]
        return value

    def _place_key(self, source: Document, path: Path, source_path: Path) -> None:
        self.keys[path] = source.locate(source_path, key=True)

    def _no_key(self, key: str, path: Path) -> None:
        self.findings.append(
            Finding(
                code="CW105",
                severity=Severity.ERROR,
                message=f"there is no `{key}` in the base to take away.",
                hint=f"Give `{key}` a value, or drop this line.",
                position=self.overlay.locate(path, key=True),
                path=format_path(path, self.overlay.data),
            )
        )

    def _nothing_to_remove(self, item: Mapping[str, Any], path: Path) -> None:
        key, value = identity(item) or ("", "")
        self.findings.append(
            Finding(
                code="CW105",
                severity=Severity.ERROR,
                message=f'there is no item with {key} "{value}" in the base to remove.',
                hint=f"Name one that {self.base.file} has, or drop these lines.",
                position=self.overlay.locate((*path, "remove"), key=True),
                path=format_path(path, self.overlay.data),
            )
        )


def _is_identified(value: Any) -> bool:
    """Whether ``value`` is a list that merges by identity: every item has one, and no two the same."""
    if not isinstance(value, list) or not value:
        return False
    identities = [identity(item) for item in value]
    return None not in identities and len(set(identities)) == len(identities)


def _spelt(document: Document) -> Document:
    """``document``; SpecError for a misspelt ``extends``, which would report every key of the base as missing."""
    if "extends" not in document.data:
        key = nearest("extends", document.data, SURE)
        if key is not None:
            raise SpecError(
                [
                    Finding(
                        code="CW110",
                        severity=Severity.ERROR,
                        message=f'unknown key "{key}" in the top level.',
                        hint='Did you mean "extends"?',
                        position=document.locate((key,), key=True),
                        path=key,
                        amendment=Amendment.RENAME_KEY,
                        instead="extends",
                    )
                ]
            )
    return document


def _base_path(overlay: Document) -> str:
    base = overlay.data["extends"]
    if not isinstance(base, str) or not base or "\0" in base:
        raise _refused("CW105", overlay, "extends: must be the path of a YAML file", "Write `extends: base.yaml`.")
    return str(overlay.named_file(("extends",), "CW105"))


def _refused(code: str, overlay: Document, message: str, hint: str) -> SpecError:
    return SpecError(
        [
            Finding(
                code=code,
                severity=Severity.ERROR,
                message=f"{message}.",
                hint=hint,
                position=overlay.locate(("extends",)),
                path="extends",
            )
        ]
    )


def _without_extends(document: Document) -> Document:
    """``document`` without the key ``extends`` and its positions, which say nothing about the cluster."""
    if "extends" not in document.data:
        return document
    return Document(
        file=document.file,
        data={key: value for key, value in document.data.items() if key != "extends"},
        values={path: position for path, position in document.values.items() if path[:1] != ("extends",)},
        keys={path: position for path, position in document.keys.items() if path[:1] != ("extends",)},
        comments=document.comments,
        files=document.files,
    )
