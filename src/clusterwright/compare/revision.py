"""Specs as they were: ``REV:path`` read from git into a folder of its own, with every file that it builds on.

Nothing is checked out. The hardware catalogue and the templates are those of the installed program, so that a
comparison shows what the spec's change does.
"""

from __future__ import annotations

import os.path
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from clusterwright.finding import ClusterwrightError, Finding, Position, SpecError
from clusterwright.spec.load import allocation_file, overlay_file
from clusterwright.spec.text.extends import MAX_CHAIN
from clusterwright.spec.text.reader import read_document


@contextmanager
def spec_at(name: str) -> Iterator[Path]:
    """The path of the spec ``name``: a file, or ``REV:path`` in git's words, which lives as long as the block.

    A path in a revision counts from the top of the repository, or from here when it begins with ``./`` or ``../``.
    Raises ClusterwrightError when git has no such file; a SpecError from the block names places as ``REV:path``.
    """
    revision, colon, path = name.partition(":")
    if Path(name).exists() or not colon or not revision or not path:
        yield Path(name)
        return
    with tempfile.TemporaryDirectory(prefix="clusterwright-") as folder:
        top = _from_top(path)
        _write(revision, top, Path(folder))
        try:
            _fetch_bases(revision, top, Path(folder))
            yield Path(folder) / top
        except SpecError as error:
            raise SpecError(_named(error.findings, f"{folder}/", f"{revision}:")) from error


def _from_top(path: str) -> str:
    """``path`` as counted from the top of the repository. Raises ClusterwrightError outside of it."""
    here = path.startswith(("./", "../"))
    prefix = _git("rev-parse", "--show-prefix").decode().strip() if here else ""
    top = os.path.normpath(PurePosixPath(prefix, path))
    if top.startswith("..") or Path(top).is_absolute():
        raise ClusterwrightError(f"{path}: lies outside the repository. Name a path inside it.")
    return top


def _fetch_bases(revision: str, top: str, folder: Path) -> None:
    """Write the chain of ``extends:``, the ``hardware:`` files and the allocation file beside the spec; what is absent
    lint will name.
    """
    _write_if_there(revision, str(allocation_file(top)), folder)
    _write_if_there(revision, str(overlay_file(top)), folder)
    current = top
    for _ in range(MAX_CHAIN):
        data = read_document(folder / current).data
        for name in data.get("hardware", ()) if isinstance(data.get("hardware"), list) else ():
            _write_if_there(revision, _beside(top, name), folder)
        policy = data.get("allocation")
        if isinstance(policy, dict) and isinstance(policy.get("from"), str):
            _write_if_there(revision, _beside(current, policy["from"]), folder)
        base = data.get("extends")
        if not isinstance(base, str):
            return
        current = _beside(current, base)
        if (folder / current).exists() or not _write_if_there(revision, current, folder):
            return


def _beside(file: str, name: object) -> str:
    found = os.path.normpath(PurePosixPath(file).parent / str(name))
    if found.startswith("..") or Path(found).is_absolute():
        raise ClusterwrightError(f"{file}: {name} lies outside the repository, where a revision has no files.")
    return found


def _write_if_there(revision: str, path: str, folder: Path) -> bool:
    try:
        _write(revision, path, folder)
    except ClusterwrightError:
        return False
    return True


def _write(revision: str, path: str, folder: Path) -> None:
    content = _git("show", "--end-of-options", f"{revision}:{path}")
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)


def _git(*arguments: str) -> bytes:
    """Git's standard output. Raises ClusterwrightError with what git says."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False)
    except OSError as error:
        raise ClusterwrightError(f"git cannot be run: {error.strerror}. Install git, or name files.") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise ClusterwrightError(f"{arguments[-1]}: {said}. Name a spec file, or REV:path as git knows it.")
    return done.stdout


def _named(findings: tuple[Finding, ...], folder: str, revision: str) -> list[Finding]:
    def shown(text: str) -> str:
        return text.replace(folder, revision)

    return [
        Finding(
            f.code, f.severity, shown(f.message), shown(f.hint), _placed(f.position, shown(f.position.file)), f.path
        )
        for f in findings
    ]


def _placed(position: Position, file: str) -> Position:
    return Position(file, position.line, position.column)
