"""Reading a tree from a folder: written by ``render`` with its manifest, or read back from devices.

Nothing outside the folder is ever opened: names come from listing it, and links are not followed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from itertools import chain
from pathlib import Path

from clusterwright.finding import ClusterwrightError, VerifyError
from clusterwright.given_file import read_given
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.tree import ExpectedTree, RenderedFile, RenderedTree, layered
from clusterwright.switches.readers import READERS

MANIFEST = "manifest.json"
MOST_BYTES = 64 << 20  # limit of one file, larger than any configuration
_IMAGES = ("image", "switch")  # folders of files shared by nodes, and by switches
_IMAGE = re.compile(rf"(?:{'|'.join(_IMAGES)})/[^/]+")
_OWN_FOLDER = ".clusterwright"  # state of deployments on a device
# systemd reads a link in these folders as a dependency, by its name alone.
_ENABLEMENT_LINK = re.compile(r"\.(?:wants|requires)/[^/]+$")
# Python ends lines at these, devices do not: a check would read a line that no device reads.
_ASCII_CONTROLS = bytes({*range(0x20), 0x7F} - set(b"\t\n\r"))
_CONTROLS = re.compile(b"[" + re.escape(_ASCII_CONTROLS) + b"]|\xc2\x85|\xe2\x80[\xa8\xa9]")


def _normal_forms() -> Mapping[str, Callable[[str], str]]:
    forms: dict[str, Callable[[str], str]] = {}
    for reader in READERS:
        forms.update(dict.fromkeys(reader.unread, reader.normal_form))
    return forms


_NORMAL_FORMS = _normal_forms()


class TreeMismatch(ClusterwrightError):
    """A folder different from its manifest, or with entries other than a device's files."""


def read_folder(
    folder: Path,
    kinds: Collection[str] | None = None,
    declaration: Declaration | None = None,
    rendering: ExpectedTree | None = None,
) -> RenderedTree:
    """Read the tree under ``folder``, for checks against a spec's ``declaration`` and ``rendering`` if passed.

    A folder without a manifest was read back from devices: every file is taken. With a manifest, every file is first
    compared with its digest; files of other kinds than ``kinds`` are then dropped, or known by name if there is a
    ``rendering``.

    Raises TreeMismatch, naming the file, if one is missing, differs, is not listed, or is not a regular file of at most
    MOST_BYTES.
    """
    file_at = dict(_listing(folder))
    manifest = _manifest(folder)
    if manifest is None:
        if not file_at and rendering is None:
            raise TreeMismatch(
                f"{folder}: has no {MANIFEST} of a rendered tree, and no files of devices as <device>/<path>. Name a "
                "spec, or a folder that has."
            )
        return _read_back(folder, file_at, declaration, rendering)
    cluster, groups, entries = manifest
    file_at = {_owner_and_path(*place): file for place, file in file_at.items()}
    listed = {(owner, path) for owner, path, _, _ in entries}
    files_by_device: dict[str, dict[str, RenderedFile]] = defaultdict(dict)
    others: list[tuple[str, str]] = []
    for device, path, kind, digest in entries:
        file, content = _listed_file(folder, file_at, (device, path), digest)
        if kinds is None or kind in kinds:
            read = _reader(file, content)
            # An image's text is read once for each of its members, so it is cached.
            files_by_device[device][path] = RenderedFile(
                device=device,
                path=path,
                kind=kind,
                read=cache(read) if device in groups else read,
                content=partial(bytes, content),
            )
        elif rendering is not None:
            files_by_device[device][path] = RenderedFile(device=device, path=path, kind=kind, read=partial(_text, file))
        if rendering is not None:
            takers = _takers(device, path, groups, listed)
            others += [(stranger, path) for stranger in rendering.strangers(takers, path, content)]
    for place, (file, _) in file_at.items():
        if place not in listed:
            raise TreeMismatch(
                f"{file}: {MANIFEST} does not list it. Render the spec again; what was read back from devices has no "
                f"{MANIFEST}."
            )
    images = [(members, files_by_device.pop(owner, {})) for owner, members in groups.items()]
    own_files: dict[tuple[str, str], RenderedFile] = {}
    for device, files in files_by_device.items():
        own_files.update(((device, path), file) for path, file in files.items())
    return RenderedTree(
        cluster=cluster,
        files=layered(own_files, images),
        declaration=declaration,
        rendering=rendering,
        others=tuple(others),
    )


def _takers(owner: str, path: str, groups: Mapping[str, list[str]], listed: Collection[tuple[str, str]]) -> list[str]:
    """Devices that take a file from its owner: a device itself, or an image's members without a file of their own."""
    if owner not in groups:
        return [owner]
    return [member for member in groups[owner] if member == owner or (member, path) not in listed]


def _listed_file(
    folder: Path, file_at: Mapping[tuple[str, str], tuple[Path, bool]], place: tuple[str, str], digest: str
) -> tuple[Path, bytes]:
    """A file of the manifest with its content, checked against ``digest``. Raises TreeMismatch for a missing file."""
    device, path = place
    name = _shown(f"{device}/{path}")
    if ".." in (*device.split("/"), *path.split("/")) or path.startswith("/"):
        raise TreeMismatch(f"{folder / MANIFEST}: {name} lies outside the folder. Render the spec again.")
    if place not in file_at:
        raise TreeMismatch(f"{folder}/{name}: No such file, but the manifest lists it. Render the spec again.")
    file, _ = file_at[place]
    content = _content(file)
    if hashlib.sha256(content).hexdigest() != digest:
        raise TreeMismatch(f"{file}: differs from the digest in {MANIFEST}. Render the spec again, edit no file.")
    return file, content


def _read_back(
    folder: Path,
    file_at: Mapping[tuple[str, str], tuple[Path, bool]],
    declaration: Declaration | None,
    rendering: ExpectedTree | None,
) -> RenderedTree:
    files: dict[tuple[str, str], RenderedFile] = {}
    others: list[tuple[str, str]] = []
    for (device, path), (file, is_enablement) in file_at.items():
        kind = rendering.kind(device, path) if rendering is not None else ""
        files[device, path] = RenderedFile(
            device=device,
            path=path,
            kind=kind,
            read=cache(partial(_printed, path, file)) if not is_enablement else str,
            content=partial(_content, file) if not is_enablement else bytes,
        )
        if rendering is not None and not is_enablement and not rendering.has(device, path, _content(file)):
            others.append((device, path))
    cluster = rendering.cluster if rendering is not None else _shown(folder.resolve().name)
    return RenderedTree(
        cluster=cluster,
        files=files,
        declaration=declaration,
        rendering=rendering,
        is_read_back=True,
        others=tuple(others),
    )


def _listing(folder: Path) -> Iterator[tuple[tuple[str, str], tuple[Path, bool]]]:
    """Every file by device and path on it, and whether it is a systemd enablement link (``.wants``, ``.requires``)."""
    for device in _entries(folder):
        if not device.is_dir(follow_symlinks=False):
            if device.is_symlink():
                raise TreeMismatch(f"{device.path}: is a link, and none is followed. Copy what it leads to.")
            continue
        if device.name.startswith("."):
            continue
        folders = [device.path]
        while folders:
            for entry in _entries(Path(folders.pop())):
                path = os.path.relpath(entry.path, device.path)
                if path == _OWN_FOLDER:
                    continue
                mode = entry.stat(follow_symlinks=False).st_mode
                is_enablement = stat.S_ISLNK(mode) and _ENABLEMENT_LINK.search(path) is not None
                if stat.S_ISDIR(mode):
                    folders.append(entry.path)
                elif stat.S_ISREG(mode) or is_enablement:
                    yield (device.name, path), (Path(entry.path), is_enablement)
                else:
                    kind = "a link, and none is followed" if stat.S_ISLNK(mode) else "no regular file"
                    raise TreeMismatch(f"{entry.path}: is {kind}. Copy what it leads to, or leave it out.")


def _owner_and_path(device: str, path: str) -> tuple[str, str]:
    """Owner of a file in a rendered tree, and the path on devices: images lie one folder deeper than devices."""
    if device not in _IMAGES:
        return device, path
    image, _, below = path.partition("/")
    return f"{device}/{image}", below


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries_of_folder:
            entries = sorted(entries_of_folder, key=lambda entry: entry.name)
    except OSError as error:
        raise TreeMismatch(f"{_shown(str(folder))}: {error.strerror}. Check the path and its permissions.") from None
    for entry in entries:
        if entry.name != _shown(entry.name):
            raise TreeMismatch(f"{_shown(entry.path)}: the name is no UTF-8 text. Give the file another name.")
    return entries


def _shown(text: str) -> str:
    """Printable form of a name with any bytes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _content(file: Path) -> bytes:
    try:
        return read_given(file, MOST_BYTES)
    except ClusterwrightError as error:
        raise TreeMismatch(str(error)) from None


def _reader(file: Path, content: bytes) -> Callable[[], str]:
    return lambda: _decoded(file, content)


def _text(file: Path) -> str:
    return _decoded(file, _content(file))


def _printed(path: str, file: Path) -> str:
    """Text of a file in the form known to readers, whichever form its device prints."""
    text = _text(file)
    return _NORMAL_FORMS[path](text) if path in _NORMAL_FORMS else text


def _decoded(file: Path, content: bytes) -> str:
    """Text of a file as devices read it. Raises VerifyError for bytes read differently by devices."""
    is_plain = content.isascii() and len(content.translate(None, _ASCII_CONTROLS)) == len(content)
    odd = None if is_plain else _CONTROLS.search(content)
    position = odd.start() if odd is not None else -1
    if position < 0:
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            position = error.start
    line = content.count(b"\n", 0, position) + 1
    raise VerifyError(
        f"{file}:{line}: the byte 0x{content[position]:02x} belongs into no UTF-8 text, so that devices may read other"
        " lines than are read here. Write the file anew as UTF-8."
    )


def _manifest(folder: Path) -> tuple[str, dict[str, list[str]], list[tuple[str, str, str, str]]] | None:
    """Cluster, members of each image, and all files with kind and digest; None without a manifest."""
    path = folder / MANIFEST
    if not os.path.lexists(path):
        return None
    try:
        document = json.loads(_content(path))
        entries = [(row["device"], row["path"], row["kind"], row["sha256"]) for row in document["artifacts"]]
        cluster, groups = document["cluster"], dict(document["groups"])
        members = list(chain.from_iterable(groups.values()))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise TreeMismatch(f"{path}: this is no manifest of a rendered tree. Render the spec again.") from None
    texts = (cluster, *groups, *members, *chain.from_iterable(entries))
    has_texts = all(isinstance(text, str) for text in texts)
    has_lists = all(isinstance(group, list) for group in groups.values())
    if not has_texts or not has_lists:
        raise TreeMismatch(f"{path}: this is no manifest of a rendered tree. Render the spec again.")
    twice = [device for device, count in Counter(members).items() if count > 1]
    if twice:
        raise TreeMismatch(f"{path}: {_shown(twice[0])} takes more than one image. Render the spec again.")
    for owner in (*groups, *dict.fromkeys(device for device, _, _, _ in entries if "/" in device)):
        if owner not in groups or not _IMAGE.fullmatch(owner):
            raise TreeMismatch(f"{path}: {_shown(owner)} is no folder of an image. Render the spec again.")
    return _shown(cluster), groups, entries
