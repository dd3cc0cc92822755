"""The command in the process of the tests: what it imports, and the hardware catalogue, is read once for all of them.

For what only a process of its own shows (what is imported, how streams are made, signals) tests start one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import chdir
from io import BytesIO, TextIOWrapper
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

from clusterwright.cli import main


def command(
    *arguments: str | Path, cwd: Path, given: str | None = None, environment: Mapping[str, str] | None = None
) -> CompletedProcess[str]:
    """Runs the command in the folder ``cwd`` with ``given`` as its input, and no terminal around it.

    ``environment`` is added to that of the tests; what the command changes there is put back.
    """
    words = [os.fspath(argument) for argument in arguments]
    said = BytesIO(), BytesIO()
    out, err = (TextIOWrapper(each, "utf-8", newline="", write_through=True) for each in said)
    read = TextIOWrapper(BytesIO((given or "").encode()), "utf-8", newline="")
    streams = mock.patch.multiple(sys, stdin=read, stdout=out, stderr=err)
    with chdir(cwd), mock.patch.dict(os.environ, environment or {}), streams:
        status = main._run(words)
        out.flush()
        err.flush()
        return CompletedProcess(["clusterwright", *words], status or 0, *(each.getvalue().decode() for each in said))
