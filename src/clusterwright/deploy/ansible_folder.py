"""The private folders of Ansible runs: made for one run, the latest kept for people, never with a bundle in them."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KEPT_RUNS = 10


@dataclass(frozen=True, slots=True)
class RunFolder:
    """``path`` is ansible-runner's private data folder, ``bundles`` takes the trees, ``configuration`` is empty."""

    path: Path
    bundles: Path
    configuration: Path


@contextlib.contextmanager
def run_folder(folder: Path) -> Iterator[RunFolder]:
    """A new folder under ``folder`` for one run. Trees hold keys: the bundles are gone when the run is.

    A process that was killed leaves its bundles; the next run removes them. Whoever holds a folder's lock is alive.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _tidy(folder)
    path = Path(tempfile.mkdtemp(prefix="run-", dir=folder)).resolve()
    with (path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        bundles = path / "bundles"
        bundles.mkdir(mode=0o700)
        configuration = path / "ansible.cfg"
        configuration.touch()
        try:
            yield RunFolder(path, bundles, configuration)
        finally:
            _forget(path)


def _tidy(folder: Path) -> None:
    runs = sorted(folder.glob("run-*"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    for number, path in enumerate(runs):
        with (path / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            _forget(path)
            if number < len(runs) - KEPT_RUNS + 1:
                shutil.rmtree(path)


def _forget(path: Path) -> None:
    shutil.rmtree(path / "bundles", ignore_errors=True)
    # ansible-runner notes the command with its whole environment, in which there may be passphrases.
    for command in path.glob("artifacts/*/command"):
        command.unlink()
