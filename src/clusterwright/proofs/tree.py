"""A rendered tree as the checks read it: text by device and path, from a folder or from memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from clusterwright.artifact import Artifact
from clusterwright.proofs.declaration import Declaration


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """One file of a device; ``read`` gives its text."""

    device: str
    path: str
    kind: str
    read: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a spec renders: the kind of each file by device and path, and all ``devices`` there are."""

    cluster: str
    files: Mapping[tuple[str, str], str]
    devices: frozenset[str]


@dataclass(frozen=True, eq=False)
class RenderedTree:
    """All files that checks may read, by (device, path).

    ``declaration`` is what the spec asks for, None where there is only a folder: a tree cannot vouch for itself.
    Compared by identity, so that what was parsed can be remembered for it. ``rendering`` is what a folder ought to
    hold by the spec, None where nobody says it; a tree that ``is_read_back`` comes from devices, without a manifest.
    """

    cluster: str
    files: Mapping[tuple[str, str], RenderedFile]
    declaration: Declaration | None = None
    rendering: Rendering | None = None
    is_read_back: bool = False

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
        """The files that the spec renders and that are not there, in order, with their kinds."""
        planned = self.rendering.files if self.rendering is not None else {}
        return {place: planned[place] for place in sorted(planned.keys() - self.files.keys())}

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
