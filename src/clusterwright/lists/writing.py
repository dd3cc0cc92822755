"""Writing files so that a reader never sees half of one: beside the place first, then moved into it."""

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
    """Write the pieces of a text to ``path``; on ClusterwrightError the path is as it was.

    What is there and is no file, as /dev/stdout or a pipe, is written to where it stands.
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
    """Write ``files`` (name to text, or to its pieces) into ``folder``, which is made when missing; other files stay.

    A name may have a folder before it. All are written aside before the first is moved. Returns their paths. Raises
    ClusterwrightError when that fails.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=folder) as aside:
            for name, text in files.items():
                (Path(aside) / name).parent.mkdir(exist_ok=True)
                with (Path(aside) / name).open("w", encoding="utf-8", newline="") as file:
                    file.writelines((text,) if isinstance(text, str) else text)
            for name in files:
                (folder / name).parent.mkdir(exist_ok=True)
                (Path(aside) / name).replace(folder / name)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return tuple(folder / name for name in files)


def remove_pages(folders: Iterable[Path], written: Iterable[Path]) -> None:
    """Take away the pages in ``folders`` that an earlier report left and this one has not ``written``.

    A device that is gone must not keep a page. Raises ClusterwrightError when that fails.
    """
    kept = frozenset(written)
    for folder in folders:
        try:
            if folder.is_dir():
                for page in (*folder.glob("*.html"), *folder.glob("*.js")):
                    if page not in kept:
                        page.unlink()
        except OSError as error:
            raise _cannot_write(folder, error) from error


def _cannot_write(path: Path, error: OSError) -> ClusterwrightError:
    return ClusterwrightError(f"{path}: cannot be written: {error.strerror}. Name another place.")
