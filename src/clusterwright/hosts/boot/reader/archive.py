"""Reading the archives of booting machines (cpio, ``newc``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

IMAGES, NODES = "srv/http/images/", "srv/http/nodes/"
IMAGE_ARCHIVE, NODE_ARCHIVE = "/tree.cpio", ".cpio"
BOOTED = "usr/lib/clusterwright/image.json"
"""Description of an image; only in the image's archive."""
_MAGIC = b"070701"
_HEADER, _END = 110, b"TRAILER!!!"
_FOLDER, _FORMAT = 0o040000, 0o170000
_NAME_SIZE, _SIZE, _MODE = slice(94, 102), slice(54, 62), slice(14, 22)  # digits in a header


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """A file of an archive."""

    content: bytes
    mode: int


def read_archive(content: bytes) -> Mapping[str, ArchivedFile]:
    """The files of an archive by path. Raises ValueError for any other data, and for a path twice."""
    files: dict[str, ArchivedFile] = {}
    for name, mode, file_content in _entries(content):
        if mode & _FORMAT == _FOLDER:
            continue
        if name in files:
            raise ValueError(f"{name} stands twice")
        files[name] = ArchivedFile(content=file_content, mode=mode)
    return files


def _entries(content: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Name, mode and content of each entry."""
    offset = 0
    while True:
        header = content[offset : offset + _HEADER]
        if not header.startswith(_MAGIC) or len(header) < _HEADER:
            raise ValueError("it is no archive of the form newc, or is cut")
        name_size, size = int(header[_NAME_SIZE], 16), int(header[_SIZE], 16)
        name = content[offset + _HEADER : offset + _HEADER + name_size - 1]
        if name == _END:
            return
        start = offset + _HEADER + name_size + -(_HEADER + name_size) % 4
        yield name.decode(), int(header[_MODE], 16), content[start : start + size]
        offset = start + size + -size % 4
