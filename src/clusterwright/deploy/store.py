"""The object store: every file rendered for a deployment, by its digest.

Pulumi's state has trees by digest only. The store has the bytes of a digest, so that a change can be shown in lines of
configuration and applied without rendering again, on every target.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterwright.artifact import Artifact
from clusterwright.deploy.target import DeviceTree
from clusterwright.finding import ClusterwrightError

_REMEMBERED, _SMALL_BYTES = 4096, 8192


class MissingObject(ClusterwrightError):
    """The store lacks the object of a digest, or holds damaged bytes under it."""

    def __init__(self, digest: str, folder: Path) -> None:
        super().__init__(
            f"{folder} does not hold {digest}, or holds it damaged. All that is damaged was taken out: the next preview"
            " or update of the spec that it belongs to makes it anew."
        )


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of files named by the SHA-256 of their content, readable by their owner only, as configurations are."""

    folder: Path
    _kept: set[str] = field(default_factory=set, repr=False, compare=False)
    """Digests put or seen here by this process: most files of a cluster are equal to another device's."""
    _read: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)
    """Contents lately read for trees by this process, with their digest checked."""

    def put(self, content: bytes) -> str:
        """Store ``content`` and return its digest. A file is complete or absent, even after a crash of the writer.

        Raises ClusterwrightError if it cannot be written.
        """
        digest = hashlib.sha256(content).hexdigest()
        self._keep(digest, content)
        return digest

    def _keep(self, digest: str, content: bytes) -> None:
        if digest in self._kept:
            return
        path = self._place(digest)
        try:
            is_there = os.stat(path).st_size == len(content)  # noqa: PTH116 - a cluster has 82,000 files
        except FileNotFoundError:
            is_there = False
        if not is_there:
            self._write(path, content)
        self._kept.add(digest)

    def _write(self, path: str, content: bytes) -> None:
        folder, _, name = path.rpartition("/")
        aside = f"{folder}/.{name}.{os.getpid()}.{threading.get_ident()}"
        try:
            try:
                _create(aside, content)
            except FileNotFoundError:
                Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
                _create(aside, content)
            os.replace(aside, path)  # noqa: PTH105 - as above
        except OSError as error:
            Path(aside).unlink(missing_ok=True)
            raise ClusterwrightError(f"{self.folder}: cannot be written: {error.strerror}. Nothing was lost.") from None

    def get(self, digest: str) -> bytes:
        """The bytes with this digest. Raises MissingObject if they are absent or damaged."""
        try:
            content = Path(self._place(digest)).read_bytes()
        except OSError:
            raise MissingObject(digest, self.folder) from None
        if hashlib.sha256(content).hexdigest() != digest:
            self._drop_damaged()  # damage is seldom single, and each object would end a command of its own
            raise MissingObject(digest, self.folder)
        return content

    def _drop_damaged(self) -> None:
        """Remove every object with other content than its name: ``put`` checks the size alone."""
        for path in self.folder.glob("??/*"):
            digest = f"{path.parent.name}{path.name}"
            if path.name.startswith("."):
                continue
            try:
                content = path.read_bytes()
            except FileNotFoundError:  # another thread or process does the same
                continue
            if hashlib.sha256(content).hexdigest() != digest:
                path.unlink(missing_ok=True)
                self._kept.discard(digest)

    def lacks(self, digests: Collection[str]) -> bool:
        """Whether an object is absent. A present one is read, and its digest checked, only when it is needed."""
        return not all(os.access(self._place(digest), os.R_OK) for digest in digests)

    def lost_trees(self, digests: Collection[str]) -> frozenset[str]:
        """The ``digests`` of absent or damaged trees; every file is read."""
        lost: set[str] = set()
        for digest in digests:
            try:
                self.get_tree("", digest)
            except MissingObject:
                lost.add(digest)
        return frozenset(lost)

    def put_tree(self, tree: DeviceTree) -> str:
        """Store a device's whole tree; the digest covers paths, modes and contents, not the device's name."""
        for artifact in tree:
            self._keep(artifact.sha256, artifact.content)
        return self.put(tree_listing(tree))

    def listing(self, digest: str) -> list[dict[str, Any]]:
        """Path, mode, kind and SHA-256 of each file of the tree with this digest. Raises MissingObject."""
        files: list[dict[str, Any]] = json.loads(self.get(digest))
        return files

    def put_listing(self, files: Iterable[Mapping[str, Any]]) -> str:
        """Store a listing of files already in the store, in the form of ``listing``."""
        return self.put(_listing_content(files))

    def get_tree(self, device: str, digest: str) -> DeviceTree:
        """The tree with this digest, as ``device``'s. Raises MissingObject."""
        return self._files(device, json.loads(self.get(digest)), [])

    def get_differing(self, device: str, before: str, after: str) -> tuple[DeviceTree, DeviceTree]:
        """The differing files of two trees of ``device``, for each of them. Raises MissingObject.

        Files of both are not read: most of a cluster is unchanged.
        """
        old, new = json.loads(self.get(before)), json.loads(self.get(after))
        return self._files(device, old, new), self._files(device, new, old)

    def _files(self, device: str, listing: list[dict[str, Any]], other: list[dict[str, Any]]) -> DeviceTree:
        """The files of ``listing`` that are not in ``other``."""
        file_by_path = {file["path"]: file for file in other}
        artifacts = []
        for file in listing:
            if file_by_path.get(file["path"]) == file:
                continue
            artifact = Artifact(
                device=device,
                path=file["path"],
                source=self._content(file["sha256"]),
                kind=file["kind"],
                mode=file["mode"],
            )
            artifacts.append(artifact)
        return tuple(artifacts)

    def _content(self, digest: str) -> bytes:
        """The bytes with this digest; a file of many devices is read once. Raises MissingObject."""
        content = self._read.get(digest)
        if content is None:
            content = self.get(digest)
            if len(content) <= _SMALL_BYTES:
                if len(self._read) >= _REMEMBERED:
                    self._read.clear()
                self._read[digest] = content
        return content

    def _place(self, digest: str) -> str:
        # As text: making a Path costs more than opening the file.
        return f"{self.folder}/{digest[:2]}/{digest[2:]}"


def _create(path: str, content: bytes) -> None:
    """Write a new file, readable by its owner only. Raises OSError."""
    with open(path, "wb", buffering=0, opener=_for_owner_only) as file:
        unwritten = memoryview(content)
        while unwritten:
            unwritten = unwritten[file.write(unwritten) :]


def _for_owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def tree_listing(tree: DeviceTree) -> bytes:
    """The listing of a tree in the store; its SHA-256 is the tree's digest."""
    return _listing_content(
        {"path": artifact.path, "mode": artifact.mode, "kind": artifact.kind, "sha256": artifact.sha256}
        for artifact in tree
    )


def _listing_content(files: Iterable[Mapping[str, Any]]) -> bytes:
    in_order = sorted(files, key=lambda file: str(file["path"]))
    return json.dumps(in_order, sort_keys=True, separators=(",", ":")).encode()
