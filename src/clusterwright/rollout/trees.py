"""The next trees of devices beside their last ones: which differ, and the text of all.

No file is rendered that is in the object store already, and none is read before a proof needs it: preview, proof and
update use the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from clusterwright.artifact import Artifact
from clusterwright.deploy.secrets.versions import Versions, labelled
from clusterwright.deploy.store import MissingObject, Store
from clusterwright.deploy.target import DeviceTree
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.tree import RenderedFile, RenderedTree

File = tuple[str, str, int, str]  # path, kind, mode, SHA-256


@dataclass(slots=True)
class _Contents:
    """Files by digest, each read once: from the store, or as they were rendered here."""

    store: Store
    versions: Versions
    known: dict[str, bytes] = field(default_factory=dict)

    def read(self, digest: str) -> bytes:
        content = self.known.get(digest)
        if content is None:
            content = self.known[digest] = self.store.get(digest)
        return content

    def text(self, digest: str) -> str:
        return self.read(digest).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Trees:
    """Every device's files, and the former files of those that change.

    ``before`` and ``after`` have, for each device that changes, the files that differ: as they were given last, and as
    they are to be. ``new`` are devices that hold nothing; ``unknown`` those that hold something else than they were
    given, or something that the store has lost. ``files`` are all files of every device of the plan once the change is
    made, ``held`` all that those devices were given last of which it is known.
    """

    before: Mapping[str, DeviceTree]
    after: Mapping[str, DeviceTree]
    new: frozenset[str]
    unknown: frozenset[str]
    files: Mapping[str, tuple[File, ...]]
    held: Mapping[str, tuple[File, ...]]
    _contents: _Contents
    _made: dict[tuple[str, str, str, str], RenderedFile] = field(default_factory=dict)
    """The files of all states: what is read of one is known in every state that has it."""

    @property
    def changed(self) -> tuple[str, ...]:
        """The devices that change, in the plan's order; those that the plan no longer has come last."""
        return tuple(self.after)

    def state(
        self, cluster: str, applied: Collection[str], declaration: Declaration, kinds: frozenset[str]
    ) -> RenderedTree:
        """The cluster when ``applied`` have taken their change and the others have not; files of ``kinds``.

        A device that holds nothing that is known stands as it will.
        """
        files_by_path: dict[tuple[str, str], RenderedFile] = {}
        for device, files in self.files.items():
            device_files = files if device in applied else self.held.get(device, files)
            for path, kind, _, digest in device_files:
                if kind in kinds:
                    files_by_path[device, path] = self._file(device, path, kind, digest)
        return RenderedTree(cluster, files_by_path, declaration)

    def _file(self, device: str, path: str, kind: str, digest: str) -> RenderedFile:
        file = self._made.get((device, path, kind, digest))
        if file is None:
            file = RenderedFile(device=device, path=path, kind=kind, read=partial(self._contents.text, digest))
            self._made[device, path, kind, digest] = file
        return file


def trees_of(
    plan: Plan, held: Mapping[str, str], wanted: Mapping[str, str], store: Store, versions: Versions | None = None
) -> Trees:
    """Compare wanted and present trees of devices; both map devices to digests of trees in ``store``.

    In ``held`` "" stands for a device that holds something else than its last tree. Devices that are in ``held`` alone
    keep their files where the plan has them. A device in neither is rendered, with the ``versions`` of its secrets: it
    is taken as planned.
    Raises MissingObject when the store lacks a file that is wanted.
    """
    contents = _Contents(store, versions or {})
    names = [device.name for device in plan.devices]
    files = {name: _files(plan, name, wanted.get(name) or held.get(name, ""), contents) for name in names}
    changed = [name for name in names if name in wanted and held.get(name) != wanted[name]]
    gone = [name for name in held if name not in plan.by_name]
    lists = {name: _listing(store, held[name]) for name in [*changed, *gone] if name in held}
    unknown = frozenset(name for name, listing in lists.items() if listing is None)
    held_files = {name: listing for name, listing in lists.items() if listing is not None}
    before: dict[str, DeviceTree] = {}
    after: dict[str, DeviceTree] = {}
    for name in [*changed, *gone]:
        old, new = frozenset(held_files.get(name, ())), frozenset(files.get(name, ()))
        try:
            before[name] = _artifacts(name, old - new, contents)
        except MissingObject:
            unknown |= {name}
            before[name] = ()
        after[name] = _artifacts(name, new - old, contents)
    kept = {name: listing for name, listing in held_files.items() if name not in unknown}
    return Trees(
        before=before,
        after=after,
        new=frozenset(changed) - held.keys(),
        unknown=unknown,
        files=files,
        held=kept,
        _contents=contents,
    )


def _artifacts(device: str, files: Collection[File], contents: _Contents) -> DeviceTree:
    return tuple(
        Artifact(device=device, path=path, source=contents.read(sha256), kind=kind, mode=mode)
        for path, kind, mode, sha256 in sorted(files)
    )


def _files(plan: Plan, name: str, digest: str, contents: _Contents) -> tuple[File, ...]:
    """The files of a tree, by the store; of today's plan where the store does not know the tree."""
    stored = _listing(contents.store, digest)
    if stored is not None:
        return stored
    tree = tuple(labelled(file, contents.versions) for file in Rendering(plan).of_device(name))
    contents.known |= {file.sha256: file.content for file in tree}
    return tuple((file.path, file.kind, file.mode, file.sha256) for file in tree)


def _listing(store: Store, digest: str) -> tuple[File, ...] | None:
    """The files of the tree with this digest, None when there is none in the store."""
    try:
        rows = json.loads(store.get(digest)) if digest else None
    except MissingObject:
        return None
    return None if rows is None else tuple((row["path"], row["kind"], row["mode"], row["sha256"]) for row in rows)
