"""Python's collector of garbage stays away from what a command holds to its end."""

from __future__ import annotations

import subprocess
import sys


def test_the_last_collection_has_nothing_to_walk() -> None:
    script = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(len(gc.get_objects()) < 1000))\n"  # runs after the command's own
        "from clusterwright.cli.main import main\n"
        "sys.argv = ['clusterwright', '--version']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "True"
