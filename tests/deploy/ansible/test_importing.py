"""Runs of several units begin in threads at one time, and the first two import ansible-runner together."""

from __future__ import annotations

import subprocess
import sys

# What the package does last while it is imported takes a second here, and the other thread comes meanwhile.
PROGRAM = """
import importlib.metadata, pathlib, sys, threading, time
from unittest import mock
from clusterwright.deploy.ansible.job import PlaybookJob

entry_points = importlib.metadata.entry_points
is_late = threading.Event()

def slowly(**options):
    if options.get("group") == "ansible_runner.plugins":
        is_late.set()
        time.sleep(1)
    return entry_points(**options)

def init_runner(**options):
    print(type(sys.modules["ansible_runner"].plugins).__name__)
    return mock.MagicMock()

mock.patch("importlib.metadata.entry_points", slowly).start()
threading.Thread(target=__import__, args=["ansible_runner"]).start()
assert is_late.wait(60)
sys.modules["ansible_runner.interface"].init_runner = init_runner
private = mock.Mock(path=pathlib.Path("/nowhere"), bundles="/nowhere")
job = PlaybookJob(transport=mock.Mock(files={}), shard={}, check=False, forks=1, timeout_s=1)
with mock.patch.object(PlaybookJob, "_arguments", lambda *places: {"envvars": {}}):
    job.run_here(private, mock.Mock(), lambda: False)
"""


def test_a_thread_waits_until_another_one_has_imported_the_package() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["dict"]
