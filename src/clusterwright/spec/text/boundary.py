"""Folders that a spec's files may be read from: those of an untrusted spec, or of a revision in git."""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from clusterwright import data_files
from clusterwright.plugins import plugin_folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ISOLATED = "CLUSTERWRIGHT_ISOLATED"
"""The environment variable for restricting reading to the spec's work tree, as `--isolated` does."""
OUTSIDE = "CW162"
OUTSIDE_HINT = "Name a file inside, or copy it there."
GIT = ".git"  # in the top folder of a work tree: a folder, or a file in a linked one


@dataclass(frozen=True, slots=True)
class Boundary:
    """The only folders for reading, and the reason in a few words for a finding."""

    folders: tuple[FilePath, ...]
    reason: str

    def holds(self, path: FilePath) -> bool:
        """Whether ``path``, with its links followed, lies in one of the folders or is data of the program."""
        try:
            real = FilePath(os.path.realpath(path))
        except ValueError:  # a null character in a name
            return False
        return any(real.is_relative_to(folder) for folder in (*self.folders, *_data_folders()))


_CURRENT: ContextVar[Boundary | None] = ContextVar("boundary", default=None)


@contextmanager
def reading_within(folders: Sequence[FilePath], reason: str) -> Iterator[None]:
    """Restrict all reading within the block to ``folders`` and the program's data."""
    before = _CURRENT.set(Boundary(tuple(folder.resolve() for folder in folders), reason))
    try:
        yield
    finally:
        _CURRENT.reset(before)


def obstacle(path: FilePath) -> str | None:
    """The reason against reading ``path``; None if it may be read."""
    boundary = _CURRENT.get()
    if boundary is None or boundary.holds(path):
        return None
    return boundary.reason


def is_top(folder: FilePath) -> bool:
    """Whether ``folder`` is the top of a project: folders above it do not belong to it."""
    boundary = _CURRENT.get()
    if boundary is not None and folder.resolve() in boundary.folders:
        return True
    return os.path.lexists(folder / GIT) or folder == _home()


def work_tree(path: FilePath) -> FilePath:
    """Git's work tree around the file or folder ``path``; without one the current folder, or else the file's folder."""
    start = path if path.is_dir() else path.parent
    folder = start.resolve()
    for candidate in (folder, *folder.parents):
        if os.path.lexists(candidate / GIT):
            return candidate
    current = FilePath.cwd()
    return current if folder.is_relative_to(current) else folder


def _home() -> FilePath | None:
    try:
        return FilePath.home()
    except RuntimeError:  # no HOME, and no account of this number
        return None


def _data_folders() -> tuple[FilePath, ...]:
    return (
        *(data_files.folder(name).resolve() for name in ("inventory", "docs", "templates")),
        *(folder.resolve() for folder in plugin_folders("inventory")),
    )
