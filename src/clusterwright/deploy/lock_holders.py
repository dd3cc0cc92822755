"""Owners of a deployment's locks, for an operator at another terminal."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from clusterwright.deploy.locks import Owner, StackLocks


@dataclass(frozen=True, slots=True)
class LockOwner:
    """A held lock: ``name`` is the cluster's or a stack's, ``action`` the command holding it."""

    name: str
    action: str
    owner: Owner

    @property
    def is_here(self) -> bool:
        """Whether the process of the owner runs on this machine."""
        return self.owner.host == socket.gethostname()


def lock_owners(folder: Path) -> tuple[LockOwner, ...]:
    """Owners of the held locks in ``folder``, by the names of the locks."""
    return tuple(_held(folder))


def _held(folder: Path) -> Iterator[LockOwner]:
    for path in sorted(folder.glob("*.lock")):
        try:
            note = json.loads(path.read_text())
            since = datetime.fromisoformat(note["since"])
            lock = LockOwner(
                path.stem, note["action"], Owner(user=note["user"], host=note["host"], pid=note["pid"], since=since)
            )
        except (OSError, ValueError, KeyError, TypeError):
            continue  # the owner has only just begun, or died while writing
        is_held = _is_open(lock.owner.pid, path) if lock.is_here else not StackLocks(folder).is_free(path.stem)
        if is_held:
            yield lock


def _is_open(pid: int, path: Path) -> bool:
    """Whether process ``pid`` has ``path`` open; False for another program with a reused number."""
    real = path.resolve()
    try:
        return any(entry.resolve() == real for entry in (Path("/proc") / str(pid) / "fd").iterdir())
    except OSError:
        return False
