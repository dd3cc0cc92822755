"""The object store: every file that was ever rendered for a deployment, by its digest.

Pulumi's state names trees by digest only. The store gives the bytes behind a digest, so that a change can be shown in
lines of configuration and applied without rendering again, whatever the target is.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.artifact import Artifact
from clusterwright.deploy.target import DeviceTree
from clusterwright.finding import ClusterwrightError


class MissingObject(ClusterwrightError):
    """The store lacks what a digest names, or holds damaged bytes under it."""

    def __init__(self, digest: str, folder: Path) -> None:
        super().__init__(f"{folder} does not hold {digest}; run `clusterwright preview` on the spec again to refill it")


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of files named by the SHA-256 of their content; readable by their owner only, for configurations are."""

    folder: Path

    def put(self, content: bytes) -> str:
        """Keeps ``content`` and returns its digest. A file is complete or absent, even after a crash of the writer.

        Raises ClusterwrightError when the disk does not take it.
        """
        digest = hashlib.sha256(content).hexdigest()
        path = self._path(digest)
        try:
            if path.stat().st_size == len(content):
                return digest
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, aside = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(aside).replace(path)
        except OSError as error:
            Path(aside).unlink()
            raise ClusterwrightError(f"{self.folder}: cannot be written: {error.strerror}. Nothing was lost.") from None
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes with this digest. Raises MissingObject when they are absent or damaged."""
        try:
            content = self._path(digest).read_bytes()
        except OSError:
            raise MissingObject(digest, self.folder) from None
        if hashlib.sha256(content).hexdigest() != digest:
            self._path(digest).unlink(missing_ok=True)  # `put` looks at the size alone
            raise MissingObject(digest, self.folder)
        return content

    def put_tree(self, tree: DeviceTree) -> str:
        """Keeps a device's whole tree; the digest covers paths, modes and contents, not the device's name."""
        for artifact in tree:
            self.put(artifact.content)
        return self.put(tree_listing(tree))

    def get_tree(self, device: str, digest: str) -> DeviceTree:
        """The tree with this digest, as ``device``'s. Raises MissingObject."""
        return self._files(device, json.loads(self.get(digest)), [])

    def get_differing(self, device: str, before: str, after: str) -> tuple[DeviceTree, DeviceTree]:
        """What of two trees of ``device`` differs: the files of each that the other has not. Raises MissingObject.

        Reads no file that both have: most of a cluster is as it was.
        """
        old, new = json.loads(self.get(before)), json.loads(self.get(after))
        return self._files(device, old, new), self._files(device, new, old)

    def _files(self, device: str, listing: list[dict[str, Any]], other: list[dict[str, Any]]) -> DeviceTree:
        known = {file["path"]: file for file in other}
        return tuple(
            Artifact(device, file["path"], self.get(file["sha256"]), file["kind"], file["mode"])
            for file in listing
            if known.get(file["path"]) != file
        )

    def _path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest[2:]


def tree_listing(tree: DeviceTree) -> bytes:
    """What the store keeps of a tree beside its files; the SHA-256 of it is the tree's digest."""
    files = [
        {"path": artifact.path, "mode": artifact.mode, "kind": artifact.kind, "sha256": artifact.sha256}
        for artifact in sorted(tree, key=lambda artifact: artifact.path)
    ]
    return json.dumps(files, sort_keys=True, separators=(",", ":")).encode()
