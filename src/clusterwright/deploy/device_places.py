"""Paths of a device's files, confined to its folder: no symbolic link is followed out of it.

All code of the directory target gets the paths of files here.
"""

# A cluster has 82,000 files, and making a Path of each costs more than the call itself.
# ruff: noqa: PTH114

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

OWN_FOLDER = ".clusterwright"
"""The folder of the record and journal, inside a device's folder."""

_OWN_FOLDERS = (OWN_FOLDER, f"{OWN_FOLDER}/staged", f"{OWN_FOLDER}/previous")


class RefusedPath(OSError):
    """A path outside the device's folder; the text has the path and the reason."""


def home_of(root: Path, device: str) -> Path:
    """The folder of ``device`` below ``root``. Raises RefusedPath for an invalid name, and for a link in its place."""
    if device in {"", ".", ".."} or "/" in device:
        raise RefusedPath(f"{device!r}: not the name of a device")
    home = root / device
    if os.path.islink(home):
        raise RefusedPath(f"{home}: a symbolic link is in place of the device's folder")
    return home


class DevicePaths:
    """Resolves paths in a device's folder. Each folder is resolved once: a device has far more files.

    Raises RefusedPath if the device's folder, or a folder of its record and journal, is a symbolic link.
    """

    def __init__(self, home: Path) -> None:
        self._home = str(home)
        for folder in (self._home, *(f"{home}/{name}" for name in _OWN_FOLDERS)):
            if os.path.islink(folder):
                raise RefusedPath(f"{folder}: a symbolic link is in place of a folder of the device")
        self._real = os.path.realpath(home)
        self._safe_folders: set[str] = set()

    def of(self, path: str) -> str:
        """The place of ``path``. Raises RefusedPath."""
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or parts[0] == OWN_FOLDER:
            raise RefusedPath(f"{path}: not a path inside the device's folder")
        folder = "/".join((self._home, *parts[:-1]))
        if folder not in self._safe_folders:
            real = os.path.realpath(folder)
            if real != self._real and not real.startswith(self._real + os.sep):
                raise RefusedPath(f"{path}: a symbolic link on the way leads out of the device's folder")
            self._safe_folders.add(folder)
        place = f"{folder}/{parts[-1]}"
        if stat.S_ISDIR(mode_of(place)):
            raise RefusedPath(f"{path}: a directory is in the way")
        return place


def mode_of(place: str) -> int:
    """Type and permissions of the file at ``place`` itself, 0 without a file."""
    try:
        return os.lstat(place).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
