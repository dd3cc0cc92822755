"""Where the files of a device lie below its folder, and nowhere else: no symbolic link is followed out of it.

Code that reads, writes, removes or brings back a file of the directory target gets its place here first.
"""

# A cluster has 82,000 files, and making a Path of each costs more than the call that it is for.
# ruff: noqa: PTH114

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

OWN_FOLDER = ".clusterwright"
"""The folder in a device's that holds its record and journal."""

_OWN_FOLDERS = (OWN_FOLDER, f"{OWN_FOLDER}/staged", f"{OWN_FOLDER}/previous")


class RefusedPath(OSError):
    """A path that is no place of the device; the text says which path and why."""


def home_of(root: Path, device: str) -> Path:
    """The folder of ``device`` below ``root``. Raises RefusedPath for a name that is none, and a link in its place."""
    if device in {"", ".", ".."} or "/" in device:
        raise RefusedPath(f"{device!r}: not the name of a device")
    home = root / device
    if os.path.islink(home):
        raise RefusedPath(f"{home}: a symbolic link stands where the device's folder should be")
    return home


class DevicePaths:
    """Where paths lie in a device's folder. The way to each folder is followed once: a device has far more files.

    Raises RefusedPath where the device's folder, or one in which its record and journal lie, is a symbolic link.
    """

    def __init__(self, home: Path) -> None:
        self._home = str(home)
        for folder in (self._home, *(f"{home}/{name}" for name in _OWN_FOLDERS)):
            if os.path.islink(folder):
                raise RefusedPath(f"{folder}: a symbolic link stands where a folder of the device should be")
        self._real = os.path.realpath(home)
        self._sound: set[str] = set()

    def of(self, path: str) -> str:
        """The place of ``path``. Raises RefusedPath."""
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or parts[0] == OWN_FOLDER:
            raise RefusedPath(f"{path}: not a path inside the device's folder")
        folder = "/".join((self._home, *parts[:-1]))
        if folder not in self._sound:
            real = os.path.realpath(folder)
            if real != self._real and not real.startswith(self._real + os.sep):
                raise RefusedPath(f"{path}: a symbolic link on the way leads out of the device's folder")
            self._sound.add(folder)
        place = f"{folder}/{parts[-1]}"
        if stat.S_ISDIR(mode_of(place)):
            raise RefusedPath(f"{path}: a directory is in the way")
        return place


def mode_of(place: str) -> int:
    """Type and permissions of the file at ``place`` itself, 0 where there is none."""
    try:
        return os.lstat(place).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
