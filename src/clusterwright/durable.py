"""Folders and files that one run changes at a time, and files of which a crash leaves the old or the new one."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from clusterwright.finding import ClusterwrightError


def replace(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Put ``content`` in the place of ``path``, with ``mode`` less what the umask takes.

    Raises ClusterwrightError when that can't be written.
    """
    aside = path.with_name(f".{path.name}.part")
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        flush_folder(path.parent)
    except OSError as error:
        raise ClusterwrightError(f"{path}: {error.strerror}. Name another folder, or fix the cause.") from error


def own_folder(folder: Path, mode: int = 0o700) -> None:
    """Make ``folder``, or make sure that the one that stands there is this user's and nobody else writes into it.

    Raises ClusterwrightError for a link, for whatever is no folder, and for a folder in which others could lay links.
    """
    try:
        folder.mkdir(mode=mode, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise ClusterwrightError(f"{folder}: {error.strerror}. Take away what stands there.") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise ClusterwrightError(f"{folder}: not a folder of this user that nobody else writes into. Remove it.")


def open_lock(path: Path) -> IO[str]:
    """The file at ``path``, made where there is none, to be locked. Raises ClusterwrightError, for a link too."""
    try:
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+")
    except OSError as error:
        raise ClusterwrightError(f"{path}: {error.strerror}. Take away what stands there.") from error


def flush_folder(folder: Path) -> None:
    """Make sure that a folder's entries are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def took_lock(file: int | IO[Any]) -> bool:
    """Lock an open file or folder until it is closed, or the process ends; False where somebody else has the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Keep other runs out of ``folder`` while the block runs. Raises ClusterwrightError when one is in it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not took_lock(descriptor):
            raise ClusterwrightError(f"{folder}: another run is changing this folder. Wait for it.")
        yield
    finally:
        os.close(descriptor)
