"""The journal of one device's change in a directory: the change is made as a whole or not at all.

While ``journal.json`` is in the device's own folder, a change is under way; all replaced files are kept under
``previous/`` until the journal is removed. Rolling back is idempotent, so a crash while rolling back does no harm.

A change is made in steps: ``stage``, ``open``, ``carry_out``, ``close``. The files of one step have to be on the disk
before the next one begins; the caller flushes them for many devices at once.
"""

# A cluster has 82,000 files, and making a Path of each costs more than the call itself.
# ruff: noqa: PTH103, PTH104, PTH105, PTH108, PTH120

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from clusterwright.artifact import Artifact
from clusterwright.deploy.device_places import OWN_FOLDER, DevicePaths

_RECORD = "applied.json"
_JOURNAL = "journal.json"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A file to put at ``path``, or to remove if ``artifact`` is None."""

    path: str
    artifact: Artifact | None


def read_record(home: Path) -> frozenset[str]:
    """Paths put on the device and not removed since. Raises OSError if the device cannot be read."""
    try:
        return frozenset(json.loads(_read(f"{home}/{OWN_FOLDER}/{_RECORD}")))
    except FileNotFoundError:
        return frozenset()
    except ValueError as error:
        raise OSError(f"{home / OWN_FOLDER / _RECORD} is damaged: {error}") from None


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of the device with the folder ``home``."""

    home: Path

    def staged(self, number: int) -> str:
        """Temporary path of the new content of step ``number``."""
        return self._aside(str(number))

    def stage(self, steps: Sequence[JournalEntry], owned: Collection[str], wanted: Collection[str]) -> list[str]:
        """Write the new files, the list of changes, and the record before (``owned``) and after (``wanted``) aside.

        Returns the files that have to be on the disk before ``open``.
        """
        os.makedirs(self._own("staged"), exist_ok=True)
        places = [{"path": step.path, "existed": os.path.lexists(f"{self.home}/{step.path}")} for step in steps]
        if any(place["existed"] for place in places):
            os.makedirs(self._own("previous"), exist_ok=True)
        written = [(self.staged(number), step.artifact) for number, step in enumerate(steps) if step.artifact]
        for path, artifact in written:
            _write(path, artifact.content, artifact.mode)
        journal, record = self._aside(_JOURNAL), self._aside(_RECORD)
        _write(journal, json.dumps({"owned": sorted(owned), "places": places}).encode())
        _write(record, _record(wanted))
        return [*(path for path, _ in written), journal, record]

    def open(self) -> None:
        """Begin the change: from here on a crash is rolled back."""
        os.replace(self._aside(_JOURNAL), self._own(_JOURNAL))

    def carry_out(self, steps: Sequence[JournalEntry]) -> None:
        """Put and remove files, and replace the record; at no moment is a replaced file absent."""
        for number, step in enumerate(steps):
            self._carry_out(number, step)
        os.replace(self._aside(_RECORD), self._own(_RECORD))

    def _carry_out(self, number: int, step: JournalEntry) -> None:
        place = f"{self.home}/{step.path}"
        if step.artifact is None:
            os.rename(place, self._previous(number))
            return
        if os.path.lexists(place):
            os.link(place, self._previous(number), follow_symlinks=False)
        staged = self.staged(number)
        try:
            os.replace(staged, place)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.replace(staged, place)

    def close(self) -> None:
        """Complete the change: from here on a crash keeps the new files."""
        os.unlink(self._own(_JOURNAL))
        self._clear()

    def roll_back(self) -> None:
        """Restore the state before ``open``; does nothing without a change under way. Raises OSError."""
        places = DevicePaths(self.home)
        # The new files are of no more use, and their space may be needed: a full disk is a reason to be here.
        shutil.rmtree(self._own("staged"), ignore_errors=True)
        try:
            written = json.loads(_read(self._own(_JOURNAL)))
        except FileNotFoundError:
            self._clear()
            return
        except ValueError as error:
            raise OSError(
                f"{self._own(_JOURNAL)} is damaged ({error}): what it replaced lies in {self._own('previous')}. "
                "Put that back, or remove both, and run the same command again."
            ) from None
        for number, place in enumerate(written["places"]):
            path = Path(places.of(place["path"]))
            if os.path.lexists(self._previous(number)):
                path.parent.mkdir(parents=True, exist_ok=True)
                os.replace(self._previous(number), path)
            elif not place["existed"]:
                path.unlink(missing_ok=True)
        self._write_record(written["owned"])
        os.unlink(self._own(_JOURNAL))
        self._clear()

    def _write_record(self, paths: Collection[str]) -> None:
        aside = self._own(f"{_RECORD}.part")
        _write(aside, _record(paths))
        make_durable([aside])
        os.replace(aside, self._own(_RECORD))
        make_durable([self._own("")])

    def _own(self, name: str) -> str:
        return f"{self.home}/{OWN_FOLDER}/{name}"

    def _aside(self, name: str) -> str:
        return f"{self.home}/{OWN_FOLDER}/staged/{name}"

    def _previous(self, number: int) -> str:
        return f"{self.home}/{OWN_FOLDER}/previous/{number}"

    def _clear(self) -> None:
        for name in ("staged", "previous"):
            shutil.rmtree(self._own(name), ignore_errors=True)


def make_durable(paths: Collection[str]) -> None:
    """Wait until changes of files and folders are on the disk."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _read(path: str) -> bytes:
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW)) as file:
        return file.read()


def _record(paths: Collection[str]) -> bytes:
    return json.dumps(sorted(paths), indent=0).encode()


def _write(path: str, content: bytes, mode: int = 0o644) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        unwritten = memoryview(content)
        while unwritten:
            unwritten = unwritten[os.write(descriptor, unwritten) :]
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)
