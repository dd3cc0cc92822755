"""Work shared out to processes ends with the process that asked for it."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import os, time
from clusterwright.output.forked import fan_out

def work(share):
    os.write(1, b"%d\\n" % share)
    time.sleep(1)
    return ["x" * (1 << 22)]  # more than a pipe holds

fan_out(work, [1, 2])
"""


def test_workers_of_a_process_that_was_killed_end() -> None:
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert {parent.stdout.readline(), parent.stdout.readline()} == {b"1\n", b"2\n"}
        parent.kill()
        assert parent.communicate(timeout=60)[0] == b""  # the last of those that may write there has ended
