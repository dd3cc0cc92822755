"""A boot server's files for booting nodes, by path: images, scripts, archives of files."""

from __future__ import annotations

import re
from collections.abc import Iterable

HTTP = "srv/http"
_IMAGES = f"{HTTP}/images"
_FOR_BOOTS = (f"{HTTP}/by-mac/", f"{HTTP}/nodes/", f"{_IMAGES}/")
_TREE = re.compile(rf"{_IMAGES}/([^/]+)/([^/]+)/tree\.cpio")


def is_for_boots(path: str) -> bool:
    """Whether a node fetches a rendered file at its boot, after its firmware has reached the server."""
    return path.startswith(_FOR_BOOTS)


def served_images(paths: Iterable[str]) -> frozenset[tuple[str, str]]:
    """The images, by name and version, with files among ``paths``."""
    matches = (_TREE.fullmatch(path) for path in paths)
    return frozenset((match[1], match[2]) for match in matches if match)


def built_files(release: str) -> tuple[str, str]:
    """The unrendered files of a built image: its kernel and its archive."""
    return f"{_IMAGES}/{release}.vmlinuz", f"{_IMAGES}/{release}.cpio.zst"
