"""Who is changing a stack: a lock that dies with its owner, and Pulumi's own, which does not.

Two locks guard a stack. Ours is a file under the deployment's root that the kernel unlocks when its owner dies, however
it dies. Pulumi's is an object in the state backend, which a killed engine leaves behind; with ours in hand it can be
told whether anybody is behind it still.
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
"""How long an engine that lost its driver is waited for: it finishes the steps that are under way."""

# `created by root@control (pid 812) at 2026-03-01T02:11:09Z`, as the backends that are files, buckets and databases say
_CREATED_BY = re.compile(r"created by (?P<user>\S+)@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<since>\S+?Z?)(?=\s|$)")


class Busy(ClusterwrightError):
    """Somebody else is changing the stack."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lock: ``since`` is when it was taken, by the holder's clock."""

    user: str
    host: str
    pid: int
    since: datetime

    def told(self, now: datetime) -> str:
        """``root@control (pid 812) since 2026-03-01 02:11:09 UTC, 4 minutes ago``."""
        since = self.since.astimezone(UTC)
        return f"{self.user}@{self.host} (pid {self.pid}) since {since:%Y-%m-%d %H:%M:%S} UTC, {_age(now - since)}"


class LockHolder(Enum):
    """The owner of one of Pulumi's locks, as seen by a holder of ours."""

    ABANDONED = "nobody: its process is gone"
    ORPHANED = "an engine whose driver is gone"
    HELD = "somebody who is at work, or cannot be seen from here"


@dataclass(frozen=True, slots=True)
class StackLocks:
    """The locks of ours that one driver holds: from its first change of a stack to its end.

    A lock's file says who holds it, and whether the last change came to an end that is known.
    """

    folder: Path
    _held: dict[str, IO[str]] = field(default_factory=dict)
    _taking: threading.Lock = field(default_factory=threading.Lock)

    def take(self, stack: str, action: str) -> bool:
        """Nobody else on this root changes ``stack`` from here on. True: the last change of it was torn off.

        Raises Busy with owner and age.
        """
        with self._taking:
            file = self._held.get(stack) or self._locked(stack)
            self._held[stack] = file
            note = _read(file)
            is_torn = bool(note) and not note.get("ended")
            who = {"action": action, "user": getpass.getuser(), "host": socket.gethostname(), "pid": os.getpid()}
            _write(file, {**who, "since": datetime.now(UTC).isoformat(timespec="seconds")})
            return is_torn

    def is_free(self, stack: str) -> bool:
        """Whether nobody on this root changes ``stack`` just now."""
        path = self.folder / f"{stack}.lock"
        if not path.exists():
            return True
        with path.open("a+") as file:
            return took_lock(file)

    def settle(self, stack: str) -> None:
        """The change under way came to an end, be it a failure that is recorded."""
        with self._taking:
            file = self._held[stack]
            _write(file, {**_read(file), "ended": True})

    def close(self) -> None:
        """Lets go of every lock, as the end of the process does."""
        with self._taking:
            while self._held:
                self._held.popitem()[1].close()

    def _locked(self, stack: str) -> IO[str]:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = (self.folder / f"{stack}.lock").open("a+")
        if not took_lock(file):
            description = _by_whom(_read(file))
            file.close()
            raise Busy(f"{stack} {description}. Wait for that to end, or stop it. Nothing was done.")
        return file


def _read(file: IO[str]) -> dict[str, Any]:
    """The content of a lock's file; nothing where its owner died while writing, or has not yet written."""
    file.seek(0)
    try:
        note = json.loads(file.read())
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}


def _write(file: IO[str], note: Mapping[str, Any]) -> None:
    file.seek(0)
    file.truncate()
    file.write(json.dumps(note))
    file.flush()


def owners_in(message: str) -> tuple[Owner, ...]:
    """The owners of Pulumi's locks, as its refusal to run names them; none where it says something else."""
    if "currently locked by" not in message:
        return ()
    return tuple(
        Owner(
            user=match["user"], host=match["host"], pid=int(match["pid"]), since=datetime.fromisoformat(match["since"])
        )
        for match in _CREATED_BY.finditer(message)
    )


def holder_of(owner: Owner, project: Path) -> LockHolder:
    """The owner of a lock of Pulumi's. ``project`` is the folder in which our engines run.

    To be asked with ours taken: then no driver is at work, and an engine of this project has lost its own.
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
    """Have an engine finish the steps that are under way, and wait for its end. Raises Busy when it does not come."""
    with suppress(ProcessLookupError):
        os.kill(owner.pid, signal.SIGINT)
    end = time.monotonic() + ORPHAN_WAIT_S
    while (Path("/proc") / str(owner.pid)).exists() and not _is_zombie(owner.pid):
        if time.monotonic() > end:
            raise Busy(f"the engine with pid {owner.pid} was left by a killed run and does not end: kill it")
        time.sleep(0.1)


def clear_way(stack: str, owners: tuple[Owner, ...], project: Path) -> None:
    """Make sure that nobody is behind Pulumi's locks on ``stack``: then they may be removed.

    An engine that a killed driver left behind is ended in order first. Raises Busy when somebody else is at work.
    """
    holders = [(owner, holder_of(owner, project)) for owner in owners]
    at_work = [owner for owner, what in holders if what is LockHolder.HELD]
    if at_work:
        now = datetime.now(UTC)
        raise Busy(
            f"{stack} is being changed by {', '.join(owner.told(now) for owner in at_work)}. Wait for that to end. If "
            "that process is gone, and nobody works from that machine, have Pulumi forget the lock: "
            f"pulumi cancel --stack {stack}. Nothing was done."
        )
    for owner, what in holders:
        if what is LockHolder.ORPHANED:
            end_orphan(owner)


def _is_zombie(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _by_whom(note: Mapping[str, Any]) -> str:
    try:
        owner = Owner(
            user=note["user"], host=note["host"], pid=note["pid"], since=datetime.fromisoformat(note["since"])
        )
        return f"is being changed ({note['action']}) by {owner.told(datetime.now(UTC))}"
    except (ValueError, KeyError, TypeError):
        return "is being changed by somebody who has only just begun"


def _age(age: timedelta) -> str:
    seconds = int(age.total_seconds())
    if seconds < 0:
        return "by a clock that is ahead of this one"
    for name, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            count = seconds // size
            return f"{count} {name}{'s' * (count > 1)} ago"
    return f"{seconds} second{'s' * (seconds != 1)} ago"
