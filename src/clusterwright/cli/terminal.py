"""Text for a terminal without control characters, from any device, server or file."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

if TYPE_CHECKING:
    from rich.console import Console

# C0 and C1 controls, direction and order marks, lone surrogates. A line may end in CR LF, as in CSV.
_STEERING = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
QUIET = "clusterwright.quiet"
"""The key of ``--quiet`` in a command's context."""

_IN_TEXT = re.compile(rf"{_STEERING}|\r(?!\n)")
_IN_LINE = re.compile(rf"{_STEERING}|[\t\n\r]")


def visible(text: str) -> str:
    """A line with control and direction characters written as <U+XXXX>."""
    return _IN_LINE.sub(_written, text)


def visible_text(text: str) -> str:
    """Text of several lines, escaped as in ``visible`` except for ends of lines and tabs."""
    return _IN_TEXT.sub(_written, text)


def _written(match: re.Match[str]) -> str:
    return f"<U+{ord(match[0]):04X}>"


class EscapingStream:
    """A text stream for escaped text (``visible_text``); ``raw`` is the underlying stream."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        """Write ``text`` without control characters; the number of its characters."""
        self.raw.write(visible_text(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of ``lines``."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


@contextmanager
def escaping_streams() -> Iterator[None]:
    """Escape all text printed within the block."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", EscapingStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def is_quiet() -> bool:
    """Whether the running command has the option ``--quiet``."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))


def progress(text: str) -> None:
    """Print progress on standard error, except with ``--quiet``."""
    if not is_quiet():
        click.echo(text, err=True)


def echo_styled(text: str, *, err: bool = False) -> None:
    """Print ``text`` with its colours; the caller escapes all foreign text in it."""
    stream = sys.stderr if err else sys.stdout
    click.echo(text, nl=False, file=_raw(stream))


def styled_console() -> Console:
    """A console on the standard output with cursor movements; callers escape control characters first."""
    from rich.console import Console

    return Console(file=_raw(sys.stdout))


def _raw(stream: TextIO) -> TextIO:
    return stream.raw if isinstance(stream, EscapingStream) else stream
