"""The commands that tests of small clusters give, and their answers."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.in_process import command


def errors(spec: Path) -> list[str]:
    """Code and message of each error and warning of a spec."""
    answer = command("lint", spec, cwd=spec.parent).stdout
    return re.findall(r"(?:error|warning) (CW\d+: .*)", answer)


def rendered(folder: Path, spec: Path) -> Path:
    """The rendered tree, with what nodes share merged into each."""
    out = folder / "out"
    answer = command("render", spec, "--merged", "--out", out, cwd=folder)
    assert answer.returncode == 0, answer.stderr
    return out
