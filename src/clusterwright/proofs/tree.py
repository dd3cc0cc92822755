"""A rendered tree as the checks read it: text by device and path, from a folder with a manifest or from memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from clusterwright.artifact import Artifact
from clusterwright.finding import ClusterwrightError
from clusterwright.proofs.declaration import Declaration

MANIFEST = "manifest.json"


class TreeMismatch(ClusterwrightError):
    """A folder is not the tree that its manifest describes."""


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """One file of a device; ``read`` gives its text."""

    device: str
    path: str
    kind: str
    read: Callable[[], str]


@dataclass(frozen=True, eq=False)
class RenderedTree:
    """All files that checks may read, by (device, path).

    ``declaration`` is what the spec asks for, None where there is only a folder: a tree cannot vouch for itself.
    Compared by identity, so that what was parsed can be remembered for it.
    """

    cluster: str
    files: Mapping[tuple[str, str], RenderedFile]
    declaration: Declaration | None = None

    def devices_with(self, path: str) -> tuple[str, ...]:
        """Names of the devices that have a file at ``path``, in order."""
        return self._by_path.get(path, ())

    @cached_property
    def _by_path(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for device, path in self.files:
            found.setdefault(path, []).append(device)
        return {path: tuple(sorted(devices)) for path, devices in found.items()}

    def text(self, device: str, path: str) -> str | None:
        """The text of a file, None where the device has none."""
        file = self.files.get((device, path))
        return file.read() if file is not None else None


def tree_of(cluster: str, artifacts: Iterable[Artifact], declaration: Declaration | None = None) -> RenderedTree:
    """The tree of artifacts held in memory."""
    found = {
        (artifact.device, artifact.path): RenderedFile(
            artifact.device, artifact.path, artifact.kind, _reader(artifact.content)
        )
        for artifact in artifacts
    }
    return RenderedTree(cluster, found, declaration)


def read_folder(folder: Path, kinds: Iterable[str] | None = None) -> RenderedTree:
    """The tree under ``folder``; every file is first compared with the manifest's digest.

    Files of other kinds than ``kinds`` are compared, then forgotten. Raises TreeMismatch, naming the file, when one is
    missing, differs or lies outside the folder, or when there is no manifest that can be read.
    """
    wanted = None if kinds is None else frozenset(kinds)
    cluster, entries = _manifest(folder)
    found: dict[tuple[str, str], RenderedFile] = {}
    for device, path, kind, digest in entries:
        file = folder / device / path
        if ".." in (*device.split("/"), *path.split("/")) or path.startswith("/"):
            raise TreeMismatch(f"{folder / MANIFEST}: {device}/{path} lies outside the folder. Render the spec again.")
        try:
            content = file.read_bytes()
        except OSError as error:
            raise TreeMismatch(f"{file}: {error.strerror}, but the manifest lists it. Render the spec again.") from None
        if hashlib.sha256(content).hexdigest() != digest:
            raise TreeMismatch(f"{file}: differs from the digest in {MANIFEST}. Render the spec again, edit no file.")
        if wanted is None or kind in wanted:
            found[device, path] = RenderedFile(device, path, kind, _reader(content))
    return RenderedTree(cluster, found)


def _reader(content: bytes) -> Callable[[], str]:
    return lambda: content.decode("utf-8", "replace")


def _manifest(folder: Path) -> tuple[str, list[tuple[str, str, str, str]]]:
    path = folder / MANIFEST
    try:
        document = json.loads(path.read_bytes())
        entries = [(row["device"], row["path"], row["kind"], row["sha256"]) for row in document["artifacts"]]
        cluster = document["cluster"]
    except OSError as error:
        raise TreeMismatch(f"{path}: {error.strerror}. Name a spec, or a folder that `render` wrote.") from None
    except (ValueError, KeyError, TypeError):
        raise TreeMismatch(f"{path}: this is no manifest of a rendered tree. Render the spec again.") from None
    if not all(isinstance(field, str) for entry in entries for field in entry) or not isinstance(cluster, str):
        raise TreeMismatch(f"{path}: this is no manifest of a rendered tree. Render the spec again.")
    return cluster, entries
