"""Earlier specs: ``REV:path`` read from git into a temporary folder, with every file that it builds on.

Nothing is checked out. The hardware catalogue and the templates are those of the installed program, so a comparison
shows only the effect of the spec's change.
"""

from __future__ import annotations

import os.path
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from clusterwright.child_environment import child_environment
from clusterwright.finding import ClusterwrightError, Finding, Position, SpecError
from clusterwright.rules.settings import settings_for
from clusterwright.spec.load import load_spec
from clusterwright.spec.text.boundary import reading_within
from clusterwright.spec.text.source import ABSENT, noting_reads


@contextmanager
def spec_at(name: str) -> Iterator[Path]:
    """The path of the spec ``name``: a file, or git's ``REV:path``, extracted for the duration of the block.

    A path in a revision is relative to the top of the repository, or to the working folder if it begins with ``./`` or
    ``../``. Raises ClusterwrightError if git has no such file; a SpecError from the block names places as ``REV:path``.
    """
    revision, colon, path = name.partition(":")
    if Path(name).exists() or not colon or not revision or not path:
        yield Path(name)
        return
    with tempfile.TemporaryDirectory(prefix="clusterwright-") as folder:
        top = _from_top(path)
        _write(revision, top, Path(folder))
        outside = f"lies outside of the repository, where {revision} has no files"
        try:
            with reading_within([Path(folder)], outside):
                _fetch_what_it_names(revision, Path(folder), top)
                yield Path(folder) / top
        except SpecError as error:
            raise SpecError(_named(error.findings, f"{folder}/", f"{revision}:")) from error


def _from_top(path: str) -> str:
    """``path`` relative to the top of the repository. Raises ClusterwrightError outside of it."""
    is_relative = path.startswith(("./", "../"))
    prefix = _git("rev-parse", "--show-prefix").decode().strip() if is_relative else ""
    top = os.path.normpath(PurePosixPath(prefix, path))
    if top.startswith("..") or Path(top).is_absolute():
        raise ClusterwrightError(f"{path}: lies outside the repository. Name a path inside it.")
    return top


def _fetch_what_it_names(revision: str, folder: Path, top: str) -> None:
    """Write the files that the spec reads: bases, hardware, notes, settings, rules.

    Reading is repeated until it misses no file of the revision; lint reports the files absent there.
    """
    absent: set[Path] = set()
    while True:
        with noting_reads() as noted:
            _read(folder / top)
        missing = [file for file, digests in noted.items() if ABSENT in digests and file not in absent]
        absent.update(missing)
        fetched = [_write_if_there(revision, file, folder) for file in missing]
        if not any(fetched):
            return


def _read(spec: Path) -> None:
    """Read ``spec`` and its settings as far as possible: errors are reported later."""
    with suppress(SpecError):
        settings_for(spec)
    with suppress(SpecError):
        load_spec(spec)


def _write_if_there(revision: str, file: Path, folder: Path) -> bool:
    """Write ``file`` below ``folder`` if ``revision`` has it; False otherwise."""
    path = os.path.normpath(file)
    if not path.startswith(f"{folder}{os.sep}"):
        return False
    try:
        _write(revision, str(PurePosixPath(path).relative_to(folder)), folder)
    except ClusterwrightError:
        return False
    return True


def _write(revision: str, path: str, folder: Path) -> None:
    content = _content(revision, path)
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)


def _content(revision: str, path: str) -> bytes:
    """The content of the file, or of the target of a link in the repository. Raises ClusterwrightError."""
    name = f"{revision}:{path}"
    answer = _git("cat-file", "--batch", "--follow-symlinks", stdin=f"{name}\n".encode())
    head, _, content = answer.partition(b"\n")
    if re.fullmatch(rb"[0-9a-f]+ blob \d+", head):
        return content[:-1]
    if head.startswith((b"symlink ", b"dangling ", b"loop ", b"notdir ")):
        raise ClusterwrightError(f"{name}: is a link to no file of that revision. Name a spec file.")
    return _git("show", "--end-of-options", name)  # for git's message


def _git(*arguments: str, stdin: bytes = b"") -> bytes:
    """Git's standard output. Raises ClusterwrightError with git's message."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            env=child_environment(prefixes=["GIT_"]),
        )
    except OSError as error:
        raise ClusterwrightError(f"git cannot be run: {error.strerror}. Install git, or name files.") from error
    if done.returncode != 0:
        error_text = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise ClusterwrightError(f"{arguments[-1]}: {error_text}. Name a spec file, or REV:path as git knows it.")
    return done.stdout


def _named(findings: tuple[Finding, ...], folder: str, revision: str) -> list[Finding]:
    def shown(text: str) -> str:
        return text.replace(folder, revision)

    renamed = []
    for finding in findings:
        position = Position(shown(finding.position.file), finding.position.line, finding.position.column)
        renamed.append(
            Finding(
                code=finding.code,
                severity=finding.severity,
                message=shown(finding.message),
                hint=shown(finding.hint),
                position=position,
                path=finding.path,
            )
        )
    return renamed
