"""Private folders of Ansible runs: the latest are kept for operators, without bundles and keys."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clusterwright.durable import took_lock

KEPT_RUNS = 10

BUNDLES = "bundles"
"""The folder of a run with the trees to be sent; removed after the run."""

_LOCK, _UNIT, _PROJECT, _ACCESS = "lock", "unit", "project", "access"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """``path`` is ansible-runner's private data folder, with playbooks and roles in ``project``, trees in ``bundles``,
    and keys to be sent in ``access``."""

    path: Path
    project: Path
    bundles: Path
    access: Path

    @property
    def note(self) -> Path:
        """The file with the running work unit, for the next command after a killed process."""
        return self.path / _UNIT


def abandoned_units(folder: Path) -> Iterator[str]:
    """Work units left running by killed processes, each listed once."""
    for path in sorted(folder.glob(f"run-*/{_UNIT}")):
        # Other processes of the same deployment do the same: one of them may have removed the run.
        with contextlib.suppress(FileNotFoundError), (path.parent / _LOCK).open("r+") as lock:
            if took_lock(lock):
                yield path.read_text()
                path.unlink()


@contextlib.contextmanager
def run_folder(folder: Path) -> Iterator[RunFolder]:
    """A new folder under ``folder`` for one run. Trees hold keys: they are removed with the end of the run.

    A killed process leaves them; the next run removes them. The owner of a run's lock is alive. The folder's own lock
    is held while runs are removed and made: parallel stacks share it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        with (folder / _LOCK).open("a") as making:
            fcntl.flock(making, fcntl.LOCK_EX)
            _tidy(folder)
            path = Path(tempfile.mkdtemp(prefix="run-", dir=folder)).resolve()
            fcntl.flock(held.enter_context((path / _LOCK).open("w")), fcntl.LOCK_EX)
        private = RunFolder(path=path, project=path / _PROJECT, bundles=path / BUNDLES, access=path / _ACCESS)
        private.bundles.mkdir(mode=0o700)
        private.access.mkdir(mode=0o700)
        try:
            yield private
        finally:
            _forget(path)


def _tidy(folder: Path) -> None:
    runs = sorted(folder.glob("run-*"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    for number, path in enumerate(runs):
        with (path / _LOCK).open("a") as lock:
            if not took_lock(lock):
                continue
            _forget(path)
            if number < len(runs) - KEPT_RUNS + 1:
                shutil.rmtree(path)


def _forget(path: Path) -> None:
    for name in (_PROJECT, BUNDLES, _ACCESS):
        shutil.rmtree(path / name, ignore_errors=True)
    # ansible-runner records the command with its whole environment, which may hold passphrases.
    for command in path.glob("artifacts/*/command"):
        command.unlink()
