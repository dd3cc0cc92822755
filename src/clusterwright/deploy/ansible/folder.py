"""The private folders of Ansible runs: made for one run, the latest kept for people, never with a bundle or a key."""

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
"""The folder of a run that holds what devices are about to be sent; it goes when the run is over."""

_LOCK, _UNIT, _PROJECT, _ACCESS = "lock", "unit", "project", "access"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """``path`` is ansible-runner's private data folder, ``project`` takes playbooks and roles, ``bundles`` the trees,
    ``access`` keys that travel."""

    path: Path
    project: Path
    bundles: Path
    access: Path

    @property
    def note(self) -> Path:
        """The file that names the running work unit, for the next command after a killed process."""
        return self.path / _UNIT


def abandoned_units(folder: Path) -> Iterator[str]:
    """The work units that killed processes left under way. Each is named until its run is forgotten."""
    for path in sorted(folder.glob(f"run-*/{_UNIT}")):
        # Other processes of the same deployment look too: one of them may have forgotten it, and removed the run.
        with contextlib.suppress(FileNotFoundError), (path.parent / _LOCK).open("r+") as lock:
            if took_lock(lock):
                yield path.read_text()
                path.unlink()


@contextlib.contextmanager
def run_folder(folder: Path) -> Iterator[RunFolder]:
    """A new folder under ``folder`` for one run. Trees hold keys: they are gone when the run is.

    A process that was killed leaves them; the next run removes them. Whoever holds a run's lock is alive. The folder's
    own lock is held while runs are removed and made: stacks that go side by side share it.
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
    # ansible-runner notes the command with its whole environment, in which there may be passphrases.
    for command in path.glob("artifacts/*/command"):
        command.unlink()
