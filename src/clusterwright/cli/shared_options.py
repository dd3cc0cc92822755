"""Options of every command: ``--out`` for its result, ``--quiet`` and ``--verbose`` for its progress."""

from __future__ import annotations

import io
import platform
import sys
import time
from functools import wraps
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from clusterwright import __version__
from clusterwright.cli.isolating import with_isolation
from clusterwright.cli.terminal import QUIET, EscapingStream, visible

if TYPE_CHECKING:
    from collections.abc import Callable

OUT = "--out"
_EXIT_CANNOT_RUN = 2

WITHOUT_OUT = {
    "allocate": "writes the allocation file beside the spec",
    "approve": "signs the preview in its FILE",
    "destroy": "acts on devices; `audit show` prints what was done",
    "drain": "acts on devices; `audit show` prints what was done",
    "import": "writes the overlay file that it names",
    "init": "writes the folder that it is given",
    "keys rotate": "acts on the key store, whose log `keys audit` reads",
    "lab down": "ends a lab",
    "lab up": "starts a lab",
    "refresh": "asks devices and keeps what they hold; --save names a file",
    "replace": "acts on devices; `audit show` prints what was done",
    "stop": "asks another process to stop",
    "undrain": "acts on devices; `audit show` prints what was done",
    "up": "acts on devices; `audit show` prints what was done",
}
"""Commands without a printed result, each with its effect."""

WITHOUT_JSON = {
    "audit export": "writes the record in the form of SARIF or JSON lines by its own option",
    "audit verify": "one sentence and an exit status",
    "explain": "prints a page of the docs",
    "keys audit": "one sentence and an exit status",
    "render": "writes files, with manifest.json over them",
    "report": "writes pages, with CSV files beside them; `inventory` has the same as JSON",
    "schema": "writes JSON Schemas",
    "snapshot": "writes a folder for Batfish",
    "evidence": "writes a folder; `ncp` is JSON",
}
"""Commands without JSON output, each with the reason."""


def with_shared_options(command: click.Command, name: str) -> click.Command:
    """``command`` with the options in common to all commands; ``name`` is its name behind that of its group."""
    command = with_isolation(command)
    if isinstance(command, click.Group) or command.callback is None or _has(command, "--verbose"):
        return command
    if name not in WITHOUT_OUT and not _has(command, OUT):
        _add_out(command, command.callback)
    _add_loudness(command, command.callback)
    return command


def _has(command: click.Command, option: str) -> bool:
    return any(option in parameter.opts for parameter in command.params)


def _add_out(command: click.Command, inner: Callable[..., Any]) -> None:

    @wraps(inner)
    def callback(*, result_file: str | None, **values: Any) -> Any:
        if result_file is None:
            return inner(**values)
        from pathlib import Path

        from clusterwright.lists.writing import write_lines

        printed, before = io.StringIO(), sys.stdout
        sys.stdout = cast("TextIO", EscapingStream(printed))
        try:
            status = inner(**values)
        finally:
            sys.stdout = before
        if status != _EXIT_CANNOT_RUN:
            write_lines(Path(result_file), [printed.getvalue()])
        else:
            sys.stdout.write(printed.getvalue())  # a result until the error, in no file
        return status

    command.callback = callback
    kind = click.Path(dir_okay=False)
    text = "Write the result to this file instead of the standard output."
    command.params.append(click.Option([OUT, "result_file"], type=kind, metavar="FILE", help=text))


def _add_loudness(command: click.Command, inner: Callable[..., Any]) -> None:
    has_quiet = _has(command, "--quiet")

    @wraps(inner)
    def callback(*, verbose: bool, hush: bool = False, **values: Any) -> Any:
        if hush or values.get("quiet"):
            click.get_current_context().meta[QUIET] = True
        if not verbose:
            return inner(**values)
        from clusterwright.spec.text.source import noting_reads

        start = time.monotonic()
        with noting_reads() as reads:
            try:
                return inner(**values)
            finally:
                seconds = time.monotonic() - start
                click.echo(
                    f"clusterwright {__version__}, Python {platform.python_version()}: {seconds:.1f} s", err=True
                )
                for path in sorted(reads):
                    click.echo(f"read {visible(str(path))}", err=True)

    command.callback = callback
    if not has_quiet:
        quiet = "Print no progress, only the result, warnings and errors."
        command.params.append(click.Option(["--quiet", "-q", "hush"], is_flag=True, help=quiet))
    text = "Print version, duration and read files to standard error."
    command.params.append(click.Option(["--verbose"], is_flag=True, help=text))
