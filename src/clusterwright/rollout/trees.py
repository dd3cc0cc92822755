"""Next and last trees of devices, their differences, and the text of all files.

Files in the object store are not rendered again, and none is read before a proof needs it: preview, proof and update
use the same bytes.
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
    """Contents of files by digest, each read once from the store, or kept from rendering."""

    store: Store
    versions: Versions
    by_digest: dict[str, bytes] = field(default_factory=dict)

    def read(self, digest: str) -> bytes:
        content = self.by_digest.get(digest)
        if content is None:
            content = self.by_digest[digest] = self.store.get(digest)
        return content

    def text(self, digest: str) -> str:
        return self.read(digest).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Trees:
    """The files of all devices, and the former files of changed ones.

    ``before`` and ``after`` have the differing files of each changed device: those of its last tree, and those of its
    next one. ``new`` are devices without files; ``unknown`` devices with other files than their last tree, or with a
    tree lost in the store. ``files`` are all files of every device of the plan after the change, ``held`` all files of
    the last trees, as far as they are known.
    """

    before: Mapping[str, DeviceTree]
    after: Mapping[str, DeviceTree]
    new: frozenset[str]
    unknown: frozenset[str]
    files: Mapping[str, tuple[File, ...]]
    held: Mapping[str, tuple[File, ...]]
    _contents: _Contents
    _made: dict[tuple[str, str, str, str], RenderedFile] = field(default_factory=dict)
    """The files of all states: a file read in one state is not read again in another one."""

    @property
    def changed(self) -> tuple[str, ...]:
        """The changed devices in the plan's order, then the devices outside the plan."""
        return tuple(self.after)

    def state(
        self, cluster: str, applied: Collection[str], declaration: Declaration, kinds: frozenset[str]
    ) -> RenderedTree:
        """The cluster's files of ``kinds`` with the change of ``applied`` devices alone.

        A device without known files has its next ones.
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

    In ``held`` "" stands for a device with other files than its last tree. Devices in ``held`` alone keep their files
    if the plan has them. A device in neither is rendered, with the ``versions`` of its secrets: it is taken as planned.
    Raises MissingObject if the store lacks a wanted file.
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
    """The files of a tree in the store; rendered files of the plan for a tree outside the store."""
    stored = _listing(contents.store, digest)
    if stored is not None:
        return stored
    tree = tuple(labelled(file, contents.versions) for file in Rendering(plan).of_device(name))
    contents.by_digest |= {file.sha256: file.content for file in tree}
    return tuple((file.path, file.kind, file.mode, file.sha256) for file in tree)


def _listing(store: Store, digest: str) -> tuple[File, ...] | None:
    """The files of the tree with this digest; None for a tree outside the store."""
    if not digest:
        return None
    try:
        rows = json.loads(store.get(digest))
    except MissingObject:
        return None
    return tuple((row["path"], row["kind"], row["mode"], row["sha256"]) for row in rows)
