"""Atomic writing of files: first under a temporary name, then moved into place."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_READABLE_BY_ALL = 0o644


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write the pieces of a text to ``path``; after a ClusterwrightError the path is unchanged.

    A device or a pipe at ``path``, such as /dev/stdout, is written to directly.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8", newline="") as file:
                file.writelines(lines)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.writelines(lines)
            Path(aside).chmod(_READABLE_BY_ALL)
            Path(aside).replace(path)
        except BaseException:
            Path(aside).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _cannot_write(path, error) from error


def replace_files(folder: Path, files: Mapping[str, str | Iterable[str]]) -> tuple[Path, ...]:
    """Write ``files`` (name to text, or to its pieces) into ``folder``, which is created if necessary; other files
    stay.

    A name may have a folder before it. All files are written under temporary names before the first is moved. Returns
    their paths. Raises ClusterwrightError for a failure.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=folder) as aside:
            for name, text in files.items():
                (Path(aside) / name).parent.mkdir(exist_ok=True)
                pieces = (text,) if isinstance(text, str) else text
                with (Path(aside) / name).open("w", encoding="utf-8", newline="") as file:
                    file.writelines(pieces)
            for name in files:
                (folder / name).parent.mkdir(exist_ok=True)
                (Path(aside) / name).replace(folder / name)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return tuple(folder / name for name in files)


def remove_pages(folders: Iterable[Path], written: Iterable[Path]) -> None:
    """Remove the pages of an earlier report in ``folders``, except those just ``written``.

    A removed device must not keep a page. Raises ClusterwrightError for a failure.
    """
    kept = frozenset(written)
    for folder in folders:
        try:
            if not folder.is_dir():
                continue
            for page in (*folder.glob("*.html"), *folder.glob("*.js")):
                if page not in kept:
                    page.unlink()
        except OSError as error:
            raise _cannot_write(folder, error) from error


def _cannot_write(path: Path, error: OSError) -> ClusterwrightError:
    return ClusterwrightError(f"{path}: cannot be written: {error.strerror}. Name another place.")
