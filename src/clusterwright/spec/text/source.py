"""The text of a spec file: size and encoding checked, invisible characters refused, before any YAML is parsed."""

from __future__ import annotations

import hashlib
import re
import stat
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from clusterwright.finding import Finding, Position, Severity, SpecError
from clusterwright.spec.text.boundary import OUTSIDE, OUTSIDE_HINT, obstacle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Read = dict[FilePath, frozenset[str]]

MAX_BYTES = 4 * 1024 * 1024

# Characters that YAML and editors treat differently: C0 and C1 controls except tab and line feed, line separators of
# only some readers, and direction marks, which show text in another order than it is read.
FORBIDDEN_CHARACTER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
_INDENTING_TAB = re.compile(r"^ *\t+(?=[^\s#])", re.MULTILINE)


ABSENT = ""  # in the place of a digest
_NOTED: ContextVar[Read | None] = ContextVar("noted", default=None)
_GIVEN: ContextVar[tuple[FilePath, bytes] | None] = ContextVar("given", default=None)


@contextmanager
def noting_reads() -> Iterator[Mapping[FilePath, frozenset[str]]]:
    """Record the files read by ``read_text`` in the block, by absolute path, with the SHA-256 of each content read.

    ABSENT stands for a missing file. A result made from the same bytes again is the same."""
    noted: Read = {}
    outer = _NOTED.get()
    before = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(before)
        if outer is not None:  # an outer block records these too
            for path, digests in noted.items():
                outer[path] = outer.get(path, frozenset()) | digests


@contextmanager
def reading_instead(path: FilePath, content: bytes) -> Iterator[None]:
    """Make ``read_text`` return ``content`` for ``path`` in the block, whether that file exists or not."""
    before = _GIVEN.set((path.absolute(), content))
    try:
        yield
    finally:
        _GIVEN.reset(before)


def is_there(path: FilePath) -> bool:
    """Whether ``read_text`` finds a file at ``path``, including one of ``reading_instead``."""
    given = _GIVEN.get()
    return path.is_file() or (given is not None and path.absolute() == given[0])


def read_text(path: FilePath, file: str, most_bytes: int = MAX_BYTES) -> str:
    """The UTF-8 text of the regular file ``path``, called ``file`` in findings. Raises SpecError (CW101).

    The size is checked before reading, so a huge file costs nothing.
    """
    given = _GIVEN.get()
    if (reason := obstacle(path)) is not None:
        message = f"the file {reason}."
        raise SpecError(
            [
                Finding(
                    code=OUTSIDE,
                    severity=Severity.ERROR,
                    message=message,
                    hint=OUTSIDE_HINT,
                    position=Position(file, 1, 1),
                )
            ]
        )
    try:
        if given is not None and path.absolute() == given[0]:
            content = given[1]
            too_large = len(content) > most_bytes
        else:
            content, too_large = _content(path, file, most_bytes)
    except FileNotFoundError:
        note_absence(path)
        raise SpecError([unreadable(file, "there is no such file", "Check the path.")]) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        hint = "Check the path and its permissions."
        raise SpecError([unreadable(file, f"the file cannot be read: {reason}", hint)]) from None
    if too_large:
        hint = "State counts rather than each thing by itself; three hundred lines describe 24,576 GPUs."
        raise SpecError([unreadable(file, f"the file is larger than {most_bytes // 1024 // 1024} MiB", hint)])
    noted = _NOTED.get()
    if noted is not None:
        real = path.absolute()  # not resolved: a link may lead elsewhere tomorrow
        noted[real] = noted.get(real, frozenset()) | {hashlib.sha256(content).hexdigest()}
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line_start = before.rfind(b"\n") + 1
        column = len(before[line_start:].decode("utf-8", "replace")) + 1
        position = Position(file, before.count(b"\n") + 1, column)
        what = f"the file is not UTF-8 text (byte 0x{content[error.start]:02x})"
        raise SpecError([unreadable(file, what, "Save it as UTF-8.", position)]) from None


def _content(path: FilePath, file: str, most_bytes: int) -> tuple[bytes, bool]:
    """The content of ``path``, and whether it is too large."""
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise SpecError([unreadable(file, "this is a directory", "Name a YAML file in it.")])
    if not stat.S_ISREG(status.st_mode):
        raise SpecError([unreadable(file, "this is not a regular file", "Name a YAML file.")])
    if status.st_size > most_bytes:
        return b"", True
    with path.open("rb") as stream:
        content = stream.read(most_bytes + 1)
    return content, len(content) > most_bytes


def note_absence(path: FilePath) -> None:
    """Record a file searched and missing: results without it are outdated as soon as it exists."""
    noted = _NOTED.get()
    if noted is not None:
        noted[path.absolute()] = noted.get(path.absolute(), frozenset()) | {ABSENT}


def refuse_characters(text: str, file: str) -> None:
    """Raises SpecError (CW103) for the first control character or indenting tab in ``text``."""
    control_hint = "Delete it; retype the line if your editor hides it."
    refused = (
        (FORBIDDEN_CHARACTER, "the control character U+{:04X}", control_hint),
        (_INDENTING_TAB, "tabs as indentation", "Indent with spaces."),
    )
    for pattern, what, hint in refused:
        match = pattern.search(text)
        if match is None:
            continue
        index = match.end() - 1
        position = Position(file, text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))
        message = f"specs are plain YAML and do not use {what.format(ord(text[index]))}."
        raise SpecError([Finding(code="CW103", severity=Severity.ERROR, message=message, hint=hint, position=position)])


def unreadable(file: str, message: str, hint: str, position: Position | None = None) -> Finding:
    """The finding for an unreadable file (CW101)."""
    return Finding(
        code="CW101",
        severity=Severity.ERROR,
        message=f"{message}.",
        hint=hint,
        position=position or Position(file, 1, 1),
    )


def delimiter_of(text: str) -> str:
    """The delimiter of a table's fields: a comma, or the semicolon or tab if its header has more of them.

    Spreadsheets write semicolons in countries with a decimal comma (RFC 4180 has only the comma).
    """
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    header = next(lines, "")
    return max(",;\t", key=header.count)
