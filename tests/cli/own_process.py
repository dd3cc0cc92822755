"""The command as a process of its own, as people start it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "clusterwright"


def command(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command in the folder ``cwd`` with this environment, and no terminal around it.

    Within a network of its own this is the only way for what deploys: threads that gRPC made for an earlier test stay
    in the network in which they began.
    """
    words = [os.fspath(argument) for argument in arguments]
    return subprocess.run(
        [PROGRAM, *words], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
