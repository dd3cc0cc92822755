"""The directory target: one folder a device, in place of the devices' flash.

A device is changed as a whole or not at all. New files are written aside and flushed, a journal lists the files about
to be replaced, and only then are files renamed into place; an error rolls back at once, a crash is rolled back by the
next attempt. Only files put there by this target are ever removed.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from clusterwright.artifact import Artifact
from clusterwright.deploy.device_places import OWN_FOLDER, DevicePaths, RefusedPath, home_of, mode_of
from clusterwright.deploy.journal import Journal, JournalEntry, make_durable, read_record
from clusterwright.deploy.pulumi.changes import changed_lines
from clusterwright.deploy.target import DeviceTree, Holding, Outcome, Status, Unreachable, holding_digest, tree_digest
from clusterwright.durable import took_lock
from clusterwright.finding import ClusterwrightError

_LIBC = ctypes.CDLL(None, use_errno=True)

DEVICES_AT_ONCE = 128
"""Devices changed together step by step, so that the disk is waited for once and not for each file."""

LOCK_WAIT_S = 10
"""Waiting time for devices locked by another process: longer than a provider outlives its engine."""

FEW_FILES = 64
"""Up to this number each file is flushed by itself; beyond, the whole file system is."""


@dataclass(frozen=True, slots=True)
class _Change:
    """One device's current change, under its lock."""

    tree: DeviceTree
    journal: Journal
    owned: frozenset[str]
    steps: tuple[JournalEntry, ...]

    @property
    def home(self) -> Path:
        return self.journal.home

    @property
    def tree_paths(self) -> frozenset[str]:
        return frozenset(artifact.path for artifact in self.tree)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted(step.path for step in self.steps))


@dataclass(frozen=True, slots=True)
class DirectoryTarget:
    """``<root>/<device>/<path>`` for every device; implements ``Target``."""

    root: Path

    def apply(self, batch: Mapping[str, DeviceTree], *, check: bool = False) -> Mapping[str, Outcome]:
        """See ``Target.apply``."""
        if check:
            return {device: self._foresee(device, tree) for device, tree in batch.items()}
        # All callers lock devices in the same order: two of them never wait for each other.
        names = sorted(batch)
        parts = [names[start : start + DEVICES_AT_ONCE] for start in range(0, len(names), DEVICES_AT_ONCE)]
        outcomes: dict[str, Outcome] = {}
        for part in parts:
            outcomes.update(self._together(part, batch))
        return {device: outcomes[device] for device in batch}

    def rename(self, names: Mapping[str, str]) -> None:
        """See ``Target.rename``: the folder takes the new name."""
        for was, now in names.items():
            try:
                before, after = home_of(self.root, was), home_of(self.root, now)
                if before.is_dir() and not after.exists():
                    before.rename(after)
            except OSError as error:
                raise ClusterwrightError(f"{was} could not be renamed to {now}: {_reason(error)}") from None

    def read(self, devices: Collection[str]) -> Mapping[str, Holding | Unreachable]:
        """See ``Target.read``: the files in the record are read and hashed now."""
        return {device: self._read_one(device) for device in devices}

    def _read_one(self, device: str) -> Holding | Unreachable:
        try:
            return Holding(_held(DevicePaths(home_of(self.root, device)), read_record(self.root / device)))
        except OSError as error:
            return Unreachable(_reason(error))

    def _foresee(self, device: str, tree: DeviceTree) -> Outcome:
        try:
            places = DevicePaths(home_of(self.root, device))
            owned = read_record(self.root / device)
            steps = _steps(places, tree, owned)
            if not steps and owned == {artifact.path for artifact in tree}:
                return Outcome(Status.UNCHANGED, digest=tree_digest(tree))
            return _foreseen(places, device, tree, steps, owned)
        except OSError as error:
            return Outcome(Status.FAILED, message=_reason(error))

    def _together(self, devices: Collection[str], batch: Mapping[str, DeviceTree]) -> dict[str, Outcome]:
        """Run every step over all devices before the next step; a failed device is rolled back at once."""
        outcomes: dict[str, Outcome] = {}
        changes: dict[str, _Change] = {}
        end = time.monotonic() + LOCK_WAIT_S
        with ExitStack() as locks:
            for device in devices:
                try:
                    locks.enter_context(_locked(home_of(self.root, device), end))
                    begun = self._begin(device, batch[device])
                except OSError as error:
                    begun = Outcome(Status.FAILED, message=_reason(error))
                if isinstance(begun, _Change):
                    changes[device] = begun
                else:
                    outcomes[device] = begun
            try:
                for step in (_stage, _open, _carry_out):
                    self._over_all(step, changes, outcomes)
            except BaseException:
                for change in changes.values():
                    change.journal.roll_back()
                raise
            for device, change in changes.items():
                outcomes[device] = self._end(device, change)
        return outcomes

    def _over_all(
        self,
        step: Callable[[_Change], Collection[str]],
        changes: dict[str, _Change],
        outcomes: dict[str, Outcome],
    ) -> None:
        """Run a step of all ``changes``; failed ones move to ``outcomes``."""
        written: list[str] = []
        for device, change in list(changes.items()):
            try:
                written += step(change)
            except OSError as error:
                outcomes[device] = _taken_back(changes.pop(device), error)
        try:
            _flush(self.root, written)
        except OSError as error:
            outcomes.update({device: _taken_back(change, error) for device, change in changes.items()})
            changes.clear()

    def _begin(self, device: str, tree: DeviceTree) -> _Change | Outcome:
        journal = Journal(self.root / device)
        journal.roll_back()
        owned = read_record(journal.home)
        change = _Change(tree=tree, journal=journal, owned=owned, steps=_steps(DevicePaths(journal.home), tree, owned))
        if not change.steps and owned == change.tree_paths:
            return Outcome(Status.UNCHANGED, digest=tree_digest(tree))
        return change

    def _end(self, device: str, change: _Change) -> Outcome:
        try:
            change.journal.close()
            for step in change.steps:
                if step.artifact is None:
                    _remove_empty_folders(change.home, (change.home / step.path).parent)
            if not change.tree:
                shutil.rmtree(change.home / OWN_FOLDER)
                _remove_empty_folders(self.root, change.home)
            return self._outcome(device, change.tree, change.paths)
        except OSError as error:
            return Outcome(Status.FAILED, message=_reason(error))

    def _outcome(self, device: str, tree: DeviceTree, changed: tuple[str, ...]) -> Outcome:
        """The outcome according to the device's present files."""
        held = self._read_one(device)
        if isinstance(held, Unreachable):
            return Outcome(Status.UNKNOWN, changed, held.message)
        if held.digest != tree_digest(tree):
            return Outcome(
                status=Status.UNKNOWN,
                changed=changed,
                message="the file differs after it was written",
                digest=held.digest,
            )
        return Outcome(Status.APPLIED if changed else Status.UNCHANGED, changed, digest=held.digest)


@contextmanager
def _locked(home: Path, end: float) -> Iterator[None]:
    """Hold the device's lock; wait for it until ``end`` of the monotonic clock.

    The kernel releases the lock of a dead process. Raises RefusedPath.
    """
    home.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        while not took_lock(descriptor):
            if time.monotonic() > end:
                raise RefusedPath(f"another deployment is changing it; it was waited for {LOCK_WAIT_S} s")
            time.sleep(0.1)
        yield
    finally:
        os.close(descriptor)


def _steps(places: DevicePaths, tree: DeviceTree, owned: frozenset[str]) -> tuple[JournalEntry, ...]:
    """Files to write and to remove. Raises RefusedPath for a path out of the folder, and for a directory."""
    puts = [JournalEntry(artifact.path, artifact) for artifact in tree if _differs(places.of(artifact.path), artifact)]
    tree_paths = {artifact.path for artifact in tree}
    drops = [JournalEntry(path, None) for path in sorted(owned - tree_paths) if os.path.lexists(places.of(path))]
    return (*puts, *drops)


def _differs(place: str, artifact: Artifact) -> bool:
    mode = mode_of(place)
    return not stat.S_ISREG(mode) or stat.S_IMODE(mode) != artifact.mode or _file_digest(place) != artifact.sha256


def _file_digest(place: str) -> str | None:
    """SHA-256 of a regular file; None for any other file, and without a file."""
    if not stat.S_ISREG(mode_of(place)):
        return None
    return hashlib.sha256(Path(place).read_bytes()).hexdigest()


def _held(places: DevicePaths, owned: Collection[str]) -> dict[str, str]:
    """Digests of the present files among ``owned``, by path. Raises RefusedPath."""
    digests: dict[str, str] = {}
    for path in sorted(owned):
        digest = _file_digest(places.of(path))
        if digest is not None:
            digests[path] = digest
    return digests


def _present_file(places: DevicePaths, device: str, path: str) -> Artifact | None:
    """The regular file at ``path``; None for any other file, and without a file. Raises RefusedPath."""
    place = Path(places.of(path))
    if place.is_symlink() or not place.is_file():
        return None
    return Artifact(
        device=device, path=path, source=place.read_bytes(), kind="found", mode=place.stat().st_mode & 0o7777
    )


def _foreseen(
    places: DevicePaths, device: str, tree: DeviceTree, steps: tuple[JournalEntry, ...], owned: frozenset[str]
) -> Outcome:
    """The difference in lines, and the digest of the current files. Raises RefusedPath."""
    touched = {step.path for step in steps}
    present_files = [_present_file(places, device, path) for path in sorted(touched)]
    before = tuple(file for file in present_files if file is not None)
    after = tuple(artifact for artifact in tree if artifact.path in touched)
    return Outcome(
        Status.APPLIED if steps else Status.UNCHANGED,
        tuple(sorted(touched)),
        digest=holding_digest(_held(places, owned)),
        diff="".join(f"{line}\n" for line in changed_lines(before, after)),
    )


def _stage(change: _Change) -> Collection[str]:
    return change.journal.stage(change.steps, change.owned, change.tree_paths)


def _open(change: _Change) -> Collection[str]:
    change.journal.open()
    return [f"{change.home}/{OWN_FOLDER}"]


def _carry_out(change: _Change) -> Collection[str]:
    change.journal.carry_out(change.steps)
    return [f"{change.home}/{OWN_FOLDER}"]


def _taken_back(change: _Change, error: Exception) -> Outcome:
    """The outcome of a failed change, with the device's former files restored.

    Raises no exception: the next attempt completes a failed rollback.
    """
    try:
        change.journal.roll_back()
    except OSError as rollback_error:
        error = rollback_error
    return Outcome(Status.FAILED, message=_reason(error))


def _flush(root: Path, written: Collection[str]) -> None:
    """Wait until the written files are on the disk. Raises OSError."""
    if len(written) <= FEW_FILES:
        make_durable(written)
        return
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if _LIBC.syncfs(descriptor):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
    finally:
        os.close(descriptor)


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
