"""A rendered tree as the checks read it: text by device and path, from a folder or from memory."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from clusterwright.artifact import Artifact
from clusterwright.placeholder import MARK_IN_BYTES, PLACEHOLDER_IN_BYTES
from clusterwright.proofs.declaration import Declaration


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """One file of a device; ``read`` gives its text."""

    device: str
    path: str
    kind: str
    read: Callable[[], str]


class PlannedFile(NamedTuple):
    """A file that a spec renders: its ``kind`` and digest, and what stands around its secrets where it has any."""

    kind: str
    sha256: str
    around_secrets: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a spec renders: every file by device and path, and all ``devices`` there are.

    Checks read files of ``kinds``. The folder need have those of ``needed`` kinds alone, all where that is None.
    """

    cluster: str
    files: Mapping[tuple[str, str], PlannedFile]
    devices: frozenset[str]
    kinds: frozenset[str]
    needed: frozenset[str] | None

    def kind(self, device: str, path: str) -> str:
        """What made a file, "" for one that the spec does not render."""
        planned = self.files.get((device, path))
        return planned.kind if planned is not None else ""

    def has(self, device: str, path: str, content: bytes) -> bool:
        """Whether the spec renders just this for the device: the same bytes, but for values in places of secrets."""
        planned = self.files.get((device, path))
        if planned is None:
            return False
        if not planned.around_secrets:
            return hashlib.sha256(content).hexdigest() == planned.sha256
        value = rb"[\s\S]*" if not b"".join(planned.around_secrets).strip() else rb"[^\n]*"
        return re.fullmatch(value.join(map(re.escape, planned.around_secrets)), content) is not None


def rendering_of(
    cluster: str,
    artifacts: Iterable[Artifact],
    devices: Iterable[str],
    kinds: Iterable[str],
    needed: Iterable[str] | None = None,
) -> Rendering:
    """What to judge a folder by: digests of all ``artifacts`` of a spec. For the sets of kinds see Rendering."""
    files = {
        (made.device, made.path): PlannedFile(made.kind, made.sha256, _around_secrets(made.content))
        for made in artifacts
    }
    wanted = frozenset(needed) if needed is not None else None
    return Rendering(cluster, files, frozenset(devices), frozenset(kinds), wanted)


def _around_secrets(content: bytes) -> tuple[bytes, ...]:
    if MARK_IN_BYTES not in content:
        return ()
    parts = PLACEHOLDER_IN_BYTES.split(content)[:: PLACEHOLDER_IN_BYTES.groups + 1]
    return tuple(parts) if len(parts) > 1 else ()


@dataclass(frozen=True, eq=False)
class RenderedTree:
    """All files that checks may read, by (device, path).

    ``declaration`` is what the spec asks for, None where there is only a folder: a tree cannot vouch for itself.
    Compared by identity, so that what was parsed can be remembered for it. ``rendering`` is what a folder ought to
    hold by the spec, None where nobody says it; a tree that ``is_read_back`` comes from devices, without a manifest.
    ``others`` are its files that are not what the spec renders.
    """

    cluster: str
    files: Mapping[tuple[str, str], RenderedFile]
    declaration: Declaration | None = None
    rendering: Rendering | None = None
    is_read_back: bool = False
    others: tuple[tuple[str, str], ...] = ()

    def devices_with(self, path: str) -> tuple[str, ...]:
        """Names of the devices that have a file at ``path``, in order."""
        return self._by_path.get(path, ())

    @cached_property
    def _by_path(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for device, path in self.files:
            found.setdefault(path, []).append(device)
        return {path: tuple(sorted(devices)) for path, devices in found.items()}

    @cached_property
    def lacking(self) -> Mapping[tuple[str, str], str]:
        """The files that the folder has not and needs, in order, with their kinds."""
        if self.rendering is None:
            return {}
        planned, needed = self.rendering.files, self.rendering.needed
        absent = {place: planned[place].kind for place in sorted(planned.keys() - self.files.keys())}
        return {place: kind for place, kind in absent.items() if needed is None or kind in needed}

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


def _reader(content: bytes) -> Callable[[], str]:
    return lambda: content.decode("utf-8", "replace")
