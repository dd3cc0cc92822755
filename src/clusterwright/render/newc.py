"""cpio archives in the ``newc`` format, which the kernel unpacks into its first root and every install shell can read.

The same files give the same bytes: times are zero, owners root, inodes counted up. (Format: the kernel's
Documentation/driver-api/early-userspace/buffer-format.rst.)
"""

from __future__ import annotations

from collections.abc import Iterable

from clusterwright.artifact import Artifact

_FOLDER = 0o040755
_FILE = 0o100000
_END = "TRAILER!!!"


def newc(files: Iterable[Artifact]) -> bytes:
    """An archive of ``files`` in the order of their paths, each below its folders."""
    parts: list[bytes] = []
    known: set[str] = set()
    number = 0
    for artifact in sorted(files, key=lambda artifact: artifact.path):
        folders = artifact.path.split("/")[:-1]
        for depth in range(1, len(folders) + 1):
            folder = "/".join(folders[:depth])
            if folder not in known:
                known.add(folder)
                number += 1
                parts.append(_entry(number, folder, _FOLDER, 2, b""))
        number += 1
        parts.append(_entry(number, artifact.path, _FILE | artifact.mode, 1, artifact.content))
    parts.append(_entry(0, _END, 0, 1, b""))
    return b"".join(parts)


def _entry(inode: int, name: str, mode: int, links: int, content: bytes) -> bytes:
    encoded = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
    header = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
    return _padded(header) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
