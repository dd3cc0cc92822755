"""Locks on folders, and files replaced as wholes: after a crash either the old or the new content is there."""

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
    """Replace the file at ``path`` by ``content``, with ``mode`` less the umask.

    Raises ClusterwrightError if it cannot be written.
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
    """Make ``folder``, or check that the existing one belongs to this user and is writable for no other.

    Raises ClusterwrightError for a link, for a file, and for a folder in which other users could create links.
    """
    try:
        folder.mkdir(mode=mode, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise ClusterwrightError(f"{folder}: {error.strerror}. Take away what stands there.") from error
    is_owned = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not is_owned or status.st_mode & 0o022:
        raise ClusterwrightError(f"{folder}: not a folder of this user without write access for others. Remove it.")


def open_lock(path: Path) -> IO[str]:
    """Open the lock file at ``path``, creating it if necessary. Raises ClusterwrightError, for a link too."""
    try:
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+")
    except OSError as error:
        raise ClusterwrightError(f"{path}: {error.strerror}. Take away what stands there.") from error


def flush_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def took_lock(file: int | IO[Any]) -> bool:
    """Lock an open file or folder until it is closed or the process ends; False if another process holds the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Keep other runs out of ``folder`` for the duration of the block. Raises ClusterwrightError if one is in it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not took_lock(descriptor):
            raise ClusterwrightError(f"{folder}: another run is changing this folder. Wait for it.")
        yield
    finally:
        os.close(descriptor)
