"""The embedded target: a directory that stands for the devices' flash, one folder a device.

A device is changed as a whole or not at all. New files are written aside and flushed, a journal says what is about to
be replaced, and only then are files renamed into place; an error rolls back at once, a crash is rolled back by the next
attempt. Only files that this target put there are ever removed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from clusterwright.artifact import Artifact
from clusterwright.deploy.changes import changed_lines
from clusterwright.deploy.journal import OWN_FOLDER, Journal, Step, read_record, write_durably, write_record
from clusterwright.deploy.target import DeviceTree, Holding, Outcome, Status, Unreachable, holding_digest, tree_digest

DEVICES_AT_ONCE = 16
LOCK_WAIT_S = 10
"""How long a device that somebody else changes is waited for: longer than a provider outlives its engine."""


class Refused(Exception):
    """The device cannot take the tree; the text says which path and why."""


@dataclass(frozen=True, slots=True)
class DirectoryTarget:
    """``<root>/<device>/<path>`` for every device; implements ``Target``."""

    root: Path

    def apply(self, batch: Mapping[str, DeviceTree], *, check: bool = False) -> Mapping[str, Outcome]:
        """See ``Target.apply``."""
        # Most of the time goes into waiting until the disk has flushed a file: devices wait side by side.
        with ThreadPoolExecutor(DEVICES_AT_ONCE, "flash") as pool:
            outcomes = pool.map(lambda device: self._apply_one(device, batch[device], check=check), batch)
            return dict(zip(batch, outcomes, strict=True))

    def read(self, devices: Collection[str]) -> Mapping[str, Holding | Unreachable]:
        """See ``Target.read``: the files are read and hashed now, the record says only which ones to look at."""
        return {device: self._read_one(device) for device in devices}

    def _read_one(self, device: str) -> Holding | Unreachable:
        home = self.root / device
        try:
            owned = read_record(home)
            return Holding(
                {path: digest for path in sorted(owned) if (digest := _file_digest(home / path)) is not None}
            )
        except OSError as error:
            return Unreachable(_reason(error))

    def _apply_one(self, device: str, tree: DeviceTree, *, check: bool) -> Outcome:
        try:
            if check:
                return self._bring_about(device, tree, check=True)
            with _locked(self.root / device):
                Journal(self.root / device).roll_back()
                return self._bring_about(device, tree, check=False)
        except (OSError, Refused) as error:
            return Outcome(Status.FAILED, message=_reason(error))

    def _bring_about(self, device: str, tree: DeviceTree, *, check: bool) -> Outcome:
        home = self.root / device
        owned = read_record(home)
        steps = _steps(home, tree, owned)
        changed = tuple(sorted(step.path for step in steps))
        recorded = {artifact.path for artifact in tree}
        if not steps and owned == recorded:
            return Outcome(Status.UNCHANGED, digest=tree_digest(tree))
        if check:
            return self._foreseen(device, tree, steps, owned)
        _carry_out(home, steps, owned, recorded)
        return self._outcome(device, tree, changed)

    def _foreseen(self, device: str, tree: DeviceTree, steps: tuple[Step, ...], owned: frozenset[str]) -> Outcome:
        """What would change, in lines, and the digest of what is there now."""
        home, touched = self.root / device, {step.path for step in steps}
        before = tuple(found for path in sorted(touched) if (found := _found(home, device, path)))
        after = tuple(artifact for artifact in tree if artifact.path in touched)
        held = {path: digest for path in owned if (digest := _file_digest(home / path)) is not None}
        return Outcome(
            Status.APPLIED if steps else Status.UNCHANGED,
            tuple(sorted(touched)),
            digest=holding_digest(held),
            diff="".join(f"{line}\n" for line in changed_lines(before, after)),
        )

    def _outcome(self, device: str, tree: DeviceTree, changed: tuple[str, ...]) -> Outcome:
        """Success is what the device holds now, not that nothing was raised."""
        held = self._read_one(device)
        if isinstance(held, Unreachable):
            return Outcome(Status.UNKNOWN, changed, held.message)
        if held.digest != tree_digest(tree):
            return Outcome(Status.UNKNOWN, changed, "what was read back is not what was written", held.digest)
        return Outcome(Status.APPLIED if changed else Status.UNCHANGED, changed, digest=held.digest)


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Nobody else changes the device meanwhile. The kernel lets go of the lock of whoever dies. Raises Refused."""
    home.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        end = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise Refused(f"another deployment is changing it; it was waited for {LOCK_WAIT_S} s") from None
                time.sleep(0.1)
        yield
    finally:
        os.close(descriptor)


def _steps(home: Path, tree: DeviceTree, owned: frozenset[str]) -> tuple[Step, ...]:
    """What has to be put and dropped. Raises Refused for a path that leaves the folder or meets a directory."""
    places = _Places(home)
    puts = [Step(artifact.path, artifact) for artifact in tree if _differs(places.of(artifact.path), artifact)]
    wanted = {artifact.path for artifact in tree}
    drops = [Step(path, None) for path in sorted(owned - wanted) if os.path.lexists(places.of(path))]
    return (*puts, *drops)


class _Places:
    """Where paths lie in a device's folder. The way to each folder is followed once: a device has far more files."""

    def __init__(self, home: Path) -> None:
        self._home = str(home)
        self._real = os.path.realpath(home)
        self._sound: set[str] = set()

    def of(self, path: str) -> str:
        """The place of ``path``. Raises Refused."""
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or parts[0] == OWN_FOLDER:
            raise Refused(f"{path}: not a path inside the device's folder")
        folder = "/".join((self._home, *parts[:-1]))
        if folder not in self._sound:
            real = os.path.realpath(folder)
            if real != self._real and not real.startswith(self._real + os.sep):
                raise Refused(f"{path}: a symbolic link on the way leads out of the device's folder")
            self._sound.add(folder)
        place = f"{folder}/{parts[-1]}"
        if stat.S_ISDIR(_mode(place)):
            raise Refused(f"{path}: a directory is in the way")
        return place


def _mode(place: str) -> int:
    """Type and permissions of what lies at ``place`` itself, 0 for nothing."""
    try:
        return os.lstat(place).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _differs(place: str, artifact: Artifact) -> bool:
    mode = _mode(place)
    return not stat.S_ISREG(mode) or stat.S_IMODE(mode) != artifact.mode or _file_digest(place) != artifact.sha256


def _file_digest(place: str | Path) -> str | None:
    """SHA-256 of a regular file; None for anything else, and for nothing."""
    if not stat.S_ISREG(_mode(str(place))):
        return None
    return hashlib.sha256(Path(place).read_bytes()).hexdigest()


def _found(home: Path, device: str, path: str) -> Artifact | None:
    """The regular file at ``path``, as it lies there; None for anything else, and for nothing."""
    place = home / path
    if place.is_symlink() or not place.is_file():
        return None
    return Artifact(device, path, place.read_bytes(), "found", place.stat().st_mode & 0o7777)


def _carry_out(home: Path, steps: tuple[Step, ...], owned: frozenset[str], wanted: Collection[str]) -> None:
    journal = Journal(home)
    try:
        for number, step in enumerate(steps):
            if step.artifact is not None:
                write_durably(journal.staged(number), step.artifact.content, step.artifact.mode)
        journal.open(steps, owned)
        for number, step in enumerate(steps):
            journal.carry_out(number, step)
        write_record(home, wanted)
    except BaseException:
        journal.roll_back()
        raise
    journal.close()
    for step in steps:
        if step.artifact is None:
            _remove_empty_folders(home, (home / step.path).parent)
    if not wanted:
        shutil.rmtree(home / OWN_FOLDER)
        _remove_empty_folders(home.parent, home)


def _remove_empty_folders(stop: Path, folder: Path) -> None:
    while folder != stop:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
