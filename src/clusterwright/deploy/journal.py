"""The journal of one device's change in a directory: what makes it whole or not at all.

While ``journal.json`` lies in the device's own folder, a change is under way; everything that it replaces is kept under
``previous/`` until the journal is removed. Rolling back is idempotent, so a crash while rolling back does no harm.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from clusterwright.artifact import Artifact

OWN_FOLDER = ".clusterwright"
_RECORD = "applied.json"


@dataclass(frozen=True, slots=True)
class Step:
    """A file to put at ``path``, or to drop from it when ``artifact`` is None."""

    path: str
    artifact: Artifact | None


def read_record(home: Path) -> frozenset[str]:
    """The paths that were put on the device and not removed since. Raises OSError when the device cannot be read."""
    try:
        return frozenset(json.loads((home / OWN_FOLDER / _RECORD).read_bytes()))
    except FileNotFoundError:
        return frozenset()
    except ValueError as error:
        raise OSError(f"{home / OWN_FOLDER / _RECORD} is damaged: {error}") from None


def write_record(home: Path, paths: Collection[str]) -> None:
    """Replaces the record."""
    text = json.dumps(sorted(paths), indent=0)
    _replace_durably(home / OWN_FOLDER / _RECORD, text.encode())


def write_durably(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Writes a new file and flushes it to the disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o600)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        left = memoryview(content)
        while left:
            left = left[file.write(left) :]
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)


def _replace_durably(path: Path, content: bytes) -> None:
    aside = path.with_name(path.name + ".part")
    write_durably(aside, content)
    aside.replace(path)
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of the device whose folder is ``home``."""

    home: Path

    def staged(self, number: int) -> Path:
        """Where the new content of step ``number`` waits."""
        return self.home / OWN_FOLDER / "staged" / str(number)

    def open(self, steps: Collection[Step], owned: Collection[str]) -> None:
        """Writes down what is about to change, and the record as it was."""
        self._previous(0).parent.mkdir(parents=True, exist_ok=True)
        places = [{"path": step.path, "existed": os.path.lexists(self.home / step.path)} for step in steps]
        text = json.dumps({"owned": sorted(owned), "places": places})
        _replace_durably(self._path, text.encode())

    def carry_out(self, number: int, step: Step) -> None:
        """Puts or drops one file; at no moment is a replaced file absent."""
        place = self.home / step.path
        if step.artifact is None:
            place.rename(self._previous(number))
            return
        if os.path.lexists(place):
            os.link(place, self._previous(number), follow_symlinks=False)
        staged = self.staged(number)
        try:
            staged.replace(place)
        except FileNotFoundError:
            place.parent.mkdir(parents=True, exist_ok=True)
            staged.replace(place)

    def close(self) -> None:
        """The change is done: from here on a crash keeps the new files."""
        self._path.unlink()
        self._clear()

    def roll_back(self) -> None:
        """Brings back what was there before ``open``; does nothing when no change is under way. Raises OSError."""
        # What waits to be put is of no more use, and its space may be needed: a full disk is a reason to be here.
        shutil.rmtree(self.home / OWN_FOLDER / "staged", ignore_errors=True)
        try:
            written = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            self._clear()
            return
        except ValueError as error:
            raise OSError(
                f"{self._path} is damaged ({error}): what it replaced lies in {self._previous(0).parent}. "
                "Put that back, or remove both, and run the same command again."
            ) from None
        for number, place in enumerate(written["places"]):
            path = self.home / place["path"]
            if os.path.lexists(self._previous(number)):
                path.parent.mkdir(parents=True, exist_ok=True)
                self._previous(number).replace(path)
            elif not place["existed"]:
                path.unlink(missing_ok=True)
        write_record(self.home, written["owned"])
        self._path.unlink()
        self._clear()

    @property
    def _path(self) -> Path:
        return self.home / OWN_FOLDER / "journal.json"

    def _previous(self, number: int) -> Path:
        return self.home / OWN_FOLDER / "previous" / str(number)

    def _clear(self) -> None:
        for name in ("staged", "previous"):
            shutil.rmtree(self.home / OWN_FOLDER / name, ignore_errors=True)
