"""The option ``--isolated`` of all commands on a spec."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import click

OPTION = "isolated"
SPEC_ARGUMENTS = frozenset({"spec", "before", "after", "subject", "paths"})
"""Names of the arguments for a spec."""

_STDIN = "-"
_HELP = (
    "Read no settings, run no rules of the project, and read no file outside the spec's work tree; "
    "CLUSTERWRIGHT_ISOLATED=1 does the same."
)


def with_isolation(command: click.Command) -> click.Command:
    """``command``, with the option if one of its arguments names a spec."""
    from clusterwright.spec.text.boundary import ISOLATED

    names = [parameter.name for parameter in command.params if parameter.name in SPEC_ARGUMENTS]
    has_option = any(parameter.name == OPTION for parameter in command.params)
    if not names or has_option or command.callback is None:
        return command
    inner = command.callback

    @wraps(inner)
    def callback(*, isolated: bool, **values: Any) -> Any:
        if not isolated:
            return inner(**values)
        from clusterwright.spec.text.boundary import reading_within, work_tree

        os.environ[ISOLATED] = "1"  # inherited by started programs, which may read specs too
        folders = [work_tree(path) for path in _spec_paths(values)]
        with reading_within(folders, "lies outside of the spec's work tree, and --isolated reads nothing there"):
            return inner(**values)

    command.callback = callback
    command.params.append(click.Option(["--isolated"], is_flag=True, envvar=ISOLATED, help=_HELP))
    return command


def _spec_paths(values: dict[str, Any]) -> Iterable[Path]:
    """The paths among the values of a command's arguments; the current folder without any."""
    named: list[Any] = []
    for name in SPEC_ARGUMENTS & values.keys():
        value = values[name]
        if isinstance(value, tuple):
            named.extend(value)
        else:
            named.append(value)
    paths = [Path(value) for value in named if value is not None and value != _STDIN]
    if _STDIN in named:
        paths.append(Path(values["stdin_filename"]))
    return paths or [Path()]
