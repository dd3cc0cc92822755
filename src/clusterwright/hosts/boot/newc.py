"""cpio archives in the ``newc`` format, unpacked by the kernel into its first root and readable in any shell.

The same files give the same bytes: times are zero, owners root, inodes counted up. (Format: the kernel's
Documentation/driver-api/early-userspace/buffer-format.rst.)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from clusterwright.artifact import Artifact

_FOLDER = 0o040755
_FILE = 0o100000
_END = "TRAILER!!!"


def newc(files: Iterable[Artifact]) -> bytes:
    """An archive of ``files`` in the order of their paths, each below its folders.

    The root folder comes first: the kernel's own is world-writable (tmpfs, 1777), and sshd refuses keys from files
    below such a folder.
    """
    parts = [_header(0, ".", _FOLDER, 2, 0)]
    folders: set[str] = {""}
    number = 0
    for artifact in sorted(files, key=lambda artifact: artifact.path):
        for folder in _folders(artifact.path.rpartition("/")[0]):
            if folder not in folders:
                folders.add(folder)
                number += 1
                parts.append(_header(number, folder, _FOLDER, 2, 0))
        number += 1
        size = len(artifact.content)
        parts += (_header(number, artifact.path, _FILE | artifact.mode, 1, size), artifact.content, bytes(-size % 4))
    parts.append(_header(0, _END, 0, 1, 0))
    return b"".join(parts)


@lru_cache(maxsize=4096)
def _folders(path: str) -> tuple[str, ...]:
    """A folder and those around it, the outermost first; the same for every node's archive."""
    if not path:
        return ()
    return (*_folders(path.rpartition("/")[0]), path)


@lru_cache(maxsize=4096)
def _header(inode: int, name: str, mode: int, links: int, size: int) -> bytes:
    """The bytes before an entry's content; cached, since most entries of nodes' archives have equal names and sizes."""
    encoded = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, len(encoded), 0)
    header = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
    return header + bytes(-len(header) % 4)
