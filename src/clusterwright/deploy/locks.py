"""Locks of a stack: ours ends with its owner, Pulumi's own does not.

Two locks guard a stack. Ours is a file under the deployment's root, unlocked by the kernel when its owner dies in any
way. Pulumi's is an object in the state backend, which a killed engine leaves behind; the owner of our lock can find out
whether its process still runs.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import IO, Any

from clusterwright.durable import took_lock
from clusterwright.finding import ClusterwrightError

ORPHAN_WAIT_S = 600
"""Time for an engine without a driver to finish its current steps."""
NOTE_WAIT_S = 1
"""Time for the owner of a lock that has only just been taken to write its name."""

# `created by root@control (pid 812) at 2026-03-01T02:11:09Z`: the message of backends in files, buckets and databases
_CREATED_BY = re.compile(r"created by (?P<user>\S+)@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<since>\S+?Z?)(?=\s|$)")


class Busy(ClusterwrightError):
    """Another process is changing the stack."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of a lock: ``since`` is the time of taking it, by the owner's clock."""

    user: str
    host: str
    pid: int
    since: datetime

    def description(self, now: datetime) -> str:
        """``root@control (pid 812) since 2026-03-01 02:11:09 UTC, 4 minutes ago``."""
        since = self.since.astimezone(UTC)
        return f"{self.user}@{self.host} (pid {self.pid}) since {since:%Y-%m-%d %H:%M:%S} UTC, {_age(now - since)}"


class LockHolder(Enum):
    """State of the owner of one of Pulumi's locks, as seen by the owner of ours."""

    ABANDONED = "its process is gone"
    ORPHANED = "an engine whose driver is gone"
    HELD = "at work, or out of sight from here"


@dataclass(frozen=True, slots=True)
class StackLocks:
    """The locks of one driver, from its first change of a stack to its end.

    A lock's file names its owner, and whether the last change came to a known end.
    """

    folder: Path
    _held: dict[str, IO[str]] = field(default_factory=dict)
    _taking: threading.Lock = field(default_factory=threading.Lock)

    def take(self, stack: str, action: str) -> bool:
        """Lock ``stack`` on this root. True if its last change was torn off.

        Raises Busy with owner and age.
        """
        with self._taking:
            file = self._held.get(stack) or self._locked(stack)
            self._held[stack] = file
            note = _read(file)
            is_torn = bool(note) and not note.get("ended")
            owner = {"action": action, "user": getpass.getuser(), "host": socket.gethostname(), "pid": os.getpid()}
            _write(file, {**owner, "since": datetime.now(UTC).isoformat(timespec="seconds")})
            return is_torn

    def is_free(self, stack: str) -> bool:
        """Whether no process on this root holds the lock of ``stack``."""
        path = self.folder / f"{stack}.lock"
        if not path.exists():
            return True
        with path.open("a+") as file:
            return took_lock(file)

    def settle(self, stack: str) -> None:
        """Mark the current change as ended, be it by a recorded failure."""
        with self._taking:
            file = self._held[stack]
            _write(file, {**_read(file), "ended": True})

    def close(self) -> None:
        """Release all locks, like the end of the process."""
        with self._taking:
            while self._held:
                self._held.popitem()[1].close()

    def _locked(self, stack: str) -> IO[str]:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = (self.folder / f"{stack}.lock").open("a+")
        if not took_lock(file):
            description = _described(_note_of_owner(file))
            file.close()
            raise Busy(f"{stack} {description}. Wait for that to end, or stop it. Nothing was done.")
        return file


def _read(file: IO[str]) -> dict[str, Any]:
    """The content of a lock's file; empty if its owner died while writing, or has not yet written."""
    file.seek(0)
    try:
        note = json.loads(file.read())
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}


def _note_of_owner(file: IO[str]) -> dict[str, Any]:
    """The content of a lock's file, once its owner has written it; empty if that takes too long."""
    end = time.monotonic() + NOTE_WAIT_S
    note = _read(file)
    while not note and time.monotonic() < end:
        time.sleep(0.02)
        note = _read(file)
    return note


def _write(file: IO[str], note: Mapping[str, Any]) -> None:
    file.seek(0)
    file.truncate()
    file.write(json.dumps(note))
    file.flush()


def owners_in(message: str) -> tuple[Owner, ...]:
    """Owners of Pulumi's locks in its refusal to run; none in any other message."""
    if "currently locked by" not in message:
        return ()
    owners = []
    for match in _CREATED_BY.finditer(message):
        since = datetime.fromisoformat(match["since"])
        owners.append(Owner(user=match["user"], host=match["host"], pid=int(match["pid"]), since=since))
    return tuple(owners)


def holder_of(owner: Owner, project: Path) -> LockHolder:
    """State of the owner of one of Pulumi's locks. ``project`` is the working directory of our engines.

    To be called with our lock taken: then no driver is at work, and an engine of this project has lost its own.
    """
    if owner.host != socket.gethostname() or not Path("/proc/self").exists():
        return LockHolder.HELD
    process = Path("/proc") / str(owner.pid)
    try:
        if (process / "comm").read_text().strip() != "pulumi":
            return LockHolder.ABANDONED  # the number went to another program
        is_driven = b"PULUMI_AUTOMATION_API=true" in (process / "environ").read_bytes().split(b"\0")
        is_ours = (process / "cwd").resolve() == project.resolve()
    except (FileNotFoundError, ProcessLookupError):
        return LockHolder.ABANDONED  # it ended before its file was opened, or before it was read
    except PermissionError:
        return LockHolder.HELD
    return LockHolder.ORPHANED if is_driven and is_ours else LockHolder.HELD


def end_orphan(owner: Owner) -> None:
    """Have an engine finish its current steps, and wait for its end. Raises Busy if it does not end."""
    with suppress(ProcessLookupError):
        os.kill(owner.pid, signal.SIGINT)
    end = time.monotonic() + ORPHAN_WAIT_S
    while (Path("/proc") / str(owner.pid)).exists() and not _is_zombie(owner.pid):
        if time.monotonic() > end:
            raise Busy(f"the engine with pid {owner.pid} was left by a killed run and does not end: kill it")
        time.sleep(0.1)


def clear_way(stack: str, owners: tuple[Owner, ...], project: Path) -> None:
    """Make sure that Pulumi's locks on ``stack`` are left behind, so that they may be removed.

    An engine left behind by a killed driver is ended in order first. Raises Busy if another process is at work.
    """
    holders = [(owner, holder_of(owner, project)) for owner in owners]
    at_work = [owner for owner, state in holders if state is LockHolder.HELD]
    if at_work:
        now = datetime.now(UTC)
        descriptions = ", ".join(owner.description(now) for owner in at_work)
        raise Busy(
            f"{stack} is being changed by {descriptions}. Wait for that to end. If that process is gone, and no one "
            f"works from that machine, have Pulumi forget the lock: pulumi cancel --stack {stack}. Nothing was done."
        )
    for owner, state in holders:
        if state is LockHolder.ORPHANED:
            end_orphan(owner)


def _is_zombie(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _described(note: Mapping[str, Any]) -> str:
    try:
        owner = Owner(
            user=note["user"], host=note["host"], pid=note["pid"], since=datetime.fromisoformat(note["since"])
        )
        return f"is being changed ({note['action']}) by {owner.description(datetime.now(UTC))}"
    except (ValueError, KeyError, TypeError):
        return "is being changed by somebody who has only just begun"


def _age(age: timedelta) -> str:
    seconds = int(age.total_seconds())
    if seconds < 0:
        return "by a clock that is ahead of this one"
    for name, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            count = seconds // size
            return f"1 {name} ago" if count == 1 else f"{count} {name}s ago"
    return "1 second ago" if seconds == 1 else f"{seconds} seconds ago"
