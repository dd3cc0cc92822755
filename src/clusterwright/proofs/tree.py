"""A rendered tree as the checks read it: text by device and path, from a folder or from memory."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache, partial
from itertools import chain, islice
from typing import NamedTuple, Protocol, TypeVar

from clusterwright.artifact import Artifact
from clusterwright.facts.values import Keys
from clusterwright.hosts.linux.reader.programs import lines_that_count
from clusterwright.placeholder import MARK_IN_BYTES, PLACEHOLDER_IN_BYTES
from clusterwright.proofs.declaration import Declaration

Held = TypeVar("Held")
_LONG = 1 << 14  # bytes; longer texts are kept compressed between reads


@dataclass(frozen=True, eq=False, slots=True)
class RenderedFile:
    """A file of a device or of an image shared by devices; ``read`` gives its text. Compared by identity."""

    device: str
    path: str
    kind: str
    read: Callable[[], str]
    content: Callable[[], bytes] | None = None
    """Bytes of the file, for archives and comparisons with them; None in memory."""


def layered(
    own_values: Mapping[tuple[str, str], Held], images: Iterable[tuple[Collection[str], Mapping[str, Held]]]
) -> dict[tuple[str, str], Held]:
    """Values of every file by device and path: a device's own over those of its image.

    ``images`` are the devices with an image, with its values by path: one object for all its members.
    """
    values: dict[tuple[str, str], Held] = {}
    for members, files in images:
        for device in members:
            values.update(((device, path), held) for path, held in files.items())
    values.update(own_values)
    return values


Images = Iterable[tuple[Collection[str], Iterable[Artifact]]]
"""Devices, with the files shared by all of them in addition to their own."""


class PlannedFile(NamedTuple):
    """A file rendered for a spec: its ``kind`` and digest, and the text around its secrets, if any."""

    kind: str
    sha256: str
    around_secrets: tuple[bytes, ...]
    bare: str = ""
    """Digest of the lines without comments; "" for files of unknown comment syntax."""


@dataclass(frozen=True, slots=True)
class ExpectedTree:
    """Files rendered for a spec, by device and path, and all its ``devices``.

    Checks read files of ``kinds``. The folder must have those of ``needed`` kinds, or all if that is None.
    """

    cluster: str
    files: Mapping[tuple[str, str], PlannedFile]
    devices: frozenset[str]
    kinds: frozenset[str]
    needed: frozenset[str] | None

    def kind(self, device: str, path: str) -> str:
        """Kind of a file; "" for a file outside the spec."""
        planned = self.files.get((device, path))
        return planned.kind if planned is not None else ""

    def has(self, device: str, path: str, content: bytes) -> bool:
        """Whether this content is rendered for the device, apart from comments and values in places of secrets."""
        planned = self.files.get((device, path))
        if planned is None:
            return False
        if planned.around_secrets:
            return _matches_around_secrets(content, planned.around_secrets)
        if hashlib.sha256(content).hexdigest() == planned.sha256:
            return True
        return _is_reworded(path, content, planned)

    def strangers(self, devices: Iterable[str], path: str, content: bytes) -> Iterator[str]:
        """The ``devices`` with other rendered content; compared once for equal expectations."""
        is_expected: dict[PlannedFile | None, bool] = {}
        for device in devices:
            planned = self.files.get((device, path))
            if planned not in is_expected:
                is_expected[planned] = self.has(device, path, content)
            if not is_expected[planned]:
                yield device


def rendering_of(
    cluster: str,
    artifacts: Iterable[Artifact],
    devices: Iterable[str],
    *,
    kinds: Iterable[str],
    needed: Iterable[str] | None = None,
    images: Images = (),
) -> ExpectedTree:
    """Expected tree of a folder: digests of all ``artifacts`` of a spec, and of the files of ``images``.

    For the sets of kinds see ExpectedTree.
    """
    own_files = {(artifact.device, artifact.path): _planned(artifact) for artifact in artifacts}
    shared: list[tuple[Collection[str], Mapping[str, PlannedFile]]] = []
    for members, image_files in images:
        shared.append((members, {artifact.path: _planned(artifact) for artifact in image_files}))
    return ExpectedTree(
        cluster=cluster,
        files=layered(own_files, shared),
        devices=frozenset(devices),
        kinds=frozenset(kinds),
        needed=frozenset(needed) if needed is not None else None,
    )


def _planned(artifact: Artifact) -> PlannedFile:
    return PlannedFile(
        kind=artifact.kind,
        sha256=artifact.sha256,
        around_secrets=_around_secrets(artifact.content),
        bare=_bare(artifact.path, artifact.content),
    )


def _bare(path: str, content: bytes) -> str:
    lines = lines_that_count(path, content)
    return hashlib.sha256(lines).hexdigest() if lines is not None else ""


def _is_reworded(path: str, content: bytes, planned: PlannedFile) -> bool:
    """Whether a file differs from the planned one in comments and blank lines alone."""
    return bool(planned.bare) and _bare(path, content) == planned.bare


def _matches_around_secrets(content: bytes, around_secrets: tuple[bytes, ...]) -> bool:
    """Whether the content is that text with any values between; lines only in a file that is one secret as a whole."""
    is_whole_secret = not b"".join(around_secrets).strip()
    value = rb"[\s\S]*" if is_whole_secret else rb"[^\n]*"
    return re.fullmatch(value.join(map(re.escape, around_secrets)), content) is not None


def _around_secrets(content: bytes) -> tuple[bytes, ...]:
    if MARK_IN_BYTES not in content:
        return ()
    parts = PLACEHOLDER_IN_BYTES.split(content)[:: PLACEHOLDER_IN_BYTES.groups + 1]
    return tuple(parts) if len(parts) > 1 else ()


class PlainText(Protocol):
    """Text rendered for a spec without its ``extra_config``."""

    @property
    def devices(self) -> Collection[str]:
        """Names of all devices of the spec."""

    @property
    def amended(self) -> frozenset[str]:
        """Switches with text of ``extra_config``."""

    def differing(self, device: str, path: str, text: str) -> Iterable[Keys]:
        """Keys of all values different from the rendered ones in a switch's file. Raises ValueError."""


@dataclass(frozen=True, eq=False)
class RenderedTree:
    """All files available to checks, by (device, path).

    ``declaration`` is the spec's, None for a folder alone: a tree cannot vouch for itself. Compared by identity, so
    that parsed text can be cached for it. ``rendering`` are the files expected in a folder by the spec, None without
    one; a tree that ``is_read_back`` comes from devices, without a manifest. ``others`` are files different from the
    rendered ones. ``plain`` is the text for comparing values, None without one.
    """

    cluster: str
    files: Mapping[tuple[str, str], RenderedFile]
    declaration: Declaration | None = None
    rendering: ExpectedTree | None = None
    is_read_back: bool = False
    others: tuple[tuple[str, str], ...] = ()
    plain: PlainText | None = None
    read_by_none: tuple[str, ...] = ()
    """Kinds of files rendered for the spec and read by no check."""
    untried: tuple[str, ...] = ()
    """Choices of the spec whose rendered text has not been read by the program it is for."""
    unreadable: dict[RenderedFile, str] = field(default_factory=dict)
    """Errors of files that no reader could parse; filled in by reading."""
    left_open: dict[tuple[str, RenderedFile], list[tuple[str, frozenset[str]]]] = field(default_factory=dict)
    """Text of unknown meaning by device and file, with the claims left open by it; filled in by reading."""

    def left_open_for(self, claim: str) -> frozenset[str]:
        """Names of the devices with unread text relevant to a claim."""
        devices: set[str] = set()
        for (device, file), errors in self.left_open.items():
            is_in_tree = self.files.get((device, file.path)) is file  # derived trees share these results
            if is_in_tree and any(claim in claims for _, claims in errors):
                devices.add(device)
        return frozenset(devices)

    def devices_with(self, path: str) -> tuple[str, ...]:
        """Names of the devices with a file at ``path``, in order."""
        return self._by_path.get(path, ())

    @property
    def paths(self) -> Collection[str]:
        """Paths of all devices' files."""
        return self._by_path.keys()

    @cached_property
    def devices(self) -> frozenset[str]:
        """Names of all devices with a file."""
        return frozenset(device for device, _ in self.files)

    def below(self, folders: str | tuple[str, ...]) -> list[tuple[str, str]]:
        """Device and path, in order, of the files below one of ``folders`` (path prefixes)."""
        paths = [path for path in self._by_path if path.startswith(folders)]
        places: list[tuple[str, str]] = []
        for path in paths:
            places += [(device, path) for device in self._by_path[path]]
        return sorted(places)

    def devices_below(self, folder: str) -> frozenset[str]:
        """Names of the devices with a file below ``folder`` (path prefix)."""
        paths = [path for path in self._by_path if path.startswith(folder)]
        return frozenset(chain.from_iterable(self._by_path[path] for path in paths))

    @cached_property
    def _by_path(self) -> Mapping[str, tuple[str, ...]]:
        devices_by_path = defaultdict[str, list[str]](list)
        for device, path in self.files:
            devices_by_path[path].append(device)
        return {path: tuple(sorted(devices)) for path, devices in devices_by_path.items()}

    @cached_property
    def lacking(self) -> Mapping[tuple[str, str], str]:
        """Missing files required in the folder, in order, with their kinds."""
        if self.rendering is None:
            return {}
        planned, needed = self.rendering.files, self.rendering.needed
        lacking: dict[tuple[str, str], str] = {}
        for place in sorted(planned.keys() - self.files.keys()):
            kind = planned[place].kind
            if needed is None or kind in needed:
                lacking[place] = kind
        return lacking

    def in_parts(self, devices: Collection[str], count: int) -> Iterator[RenderedTree]:
        """Trees of the files of ``count`` of these devices each, then one of all other files.

        A reader of one part after another needs to cache no more than one of them.
        """
        files_by_device: dict[str, dict[tuple[str, str], RenderedFile]] = {device: {} for device in sorted(devices)}
        others: dict[tuple[str, str], RenderedFile] = {}
        for place, file in self.files.items():
            files_by_device.get(place[0], others)[place] = file
        remaining = iter(files_by_device.values())
        while part := list(islice(remaining, count)):
            yield replace(self, files=dict(chain.from_iterable(files.items() for files in part)))
        yield replace(self, files=others)

    def text(self, device: str, path: str) -> str | None:
        """Text of a file; None for a device without it."""
        file = self.files.get((device, path))
        return file.read() if file is not None else None


def tree_of(
    cluster: str,
    artifacts: Iterable[Artifact],
    declaration: Declaration | None = None,
    images: Images = (),
    plain: PlainText | None = None,
) -> RenderedTree:
    """Tree of artifacts held in memory, and of ``images``."""
    own_files = {(artifact.device, artifact.path): _in_memory(artifact) for artifact in artifacts}
    shared: list[tuple[Collection[str], Mapping[str, RenderedFile]]] = []
    for members, image_files in images:
        shared.append((members, {artifact.path: _shared(artifact) for artifact in image_files}))
    return RenderedTree(cluster=cluster, files=layered(own_files, shared), declaration=declaration, plain=plain)


def _in_memory(artifact: Artifact) -> RenderedFile:
    return RenderedFile(device=artifact.device, path=artifact.path, kind=artifact.kind, read=_reader(artifact.source))


def _reader(source: bytes | Callable[[], str]) -> Callable[[], str]:
    """Repeatable source of a text. Long texts are packed or made again: those of switches take hundreds of MB."""
    if not isinstance(source, bytes):
        return partial(_made, source)
    if len(source) < _LONG:
        return lambda: source.decode("utf-8", "replace")
    return partial(_made, partial(_unpacked, zlib.compress(source, 1)))


def _unpacked(packed: bytes) -> str:
    return zlib.decompress(packed).decode("utf-8", "replace")


@lru_cache(maxsize=256)
def _made(make: Callable[[], str]) -> str:
    """Text of one of the last files read, cached for several readers."""
    return make()


def _shared(artifact: Artifact) -> RenderedFile:
    """File of an image, with its text cached for all its members."""
    file = _in_memory(artifact)
    return RenderedFile(device=file.device, path=file.path, kind=file.kind, read=cache(file.read))
