"""Owners of locks, ours and Pulumi's, without a deployment."""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.deploy.pulumi.site import STACK

from clusterwright.deploy.locks import Busy, LockHolder, Owner, StackLocks, holder_of, owners_in


def test_a_second_operator_waits_until_the_first_has_written_its_name(tmp_path: Path) -> None:
    first, second = StackLocks(tmp_path), StackLocks(tmp_path)
    first.take(STACK, "up")
    file = tmp_path / f"{STACK}.lock"
    note = file.read_text()
    file.write_text("")  # as it is between the taking of the lock and the note
    writing = threading.Timer(0.2, file.write_text, [note])
    writing.start()

    with pytest.raises(Busy, match=rf"is being changed \(up\) by {getpass.getuser()}@"):
        second.take(STACK, "up")
    writing.join()

    file.write_text("")
    with pytest.raises(Busy, match="is being changed by somebody who has only just begun"):
        second.take(STACK, "up")
    first.close()


def test_pulumis_lock_tells_its_owner_and_only_that_of_a_process_that_is_gone_is_taken_away() -> None:
    message = (
        "error: the stack is currently locked by 2 lock(s). Either wait for the other process(es) to end or delete the "
        "lock file with `pulumi cancel`.\n"
        "  s3://state/.pulumi/locks/x/6f4e.json: created by ann@control-1 (pid 812) at 2026-03-01T02:11:09Z\n"
        "  s3://state/.pulumi/locks/x/0a1b.json: created by bob@control-2 (pid 7) at 2026-03-01T02:12:00+01:00\n"
    )
    ann, bob = owners_in(message)
    assert ann == Owner("ann", "control-1", 812, datetime(2026, 3, 1, 2, 11, 9, tzinfo=UTC))
    assert bob.description(datetime(2026, 3, 1, 3, 12, tzinfo=UTC)) == (
        "bob@control-2 (pid 7) since 2026-03-01 01:12:00 UTC, 2 hours ago"
    )
    assert bob.description(datetime(2026, 2, 1, tzinfo=UTC)).endswith(", by a clock that is ahead of this one")
    assert owners_in("error: something else") == ()

    here, now = socket.gethostname(), datetime.now(UTC)
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        assert (
            holder_of(Owner("root", here, sleeper.pid, now), Path("/")) is LockHolder.ABANDONED
        )  # the number is reused
        sleeper.kill()
    assert holder_of(Owner("root", here, sleeper.pid, now), Path("/")) is LockHolder.ABANDONED
    assert holder_of(Owner("root", "elsewhere", 1, now), Path("/")) is LockHolder.HELD


def test_an_engine_that_ends_while_it_is_looked_at_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(place: Path) -> bytes:
        raise ProcessLookupError(3, "No such process", str(place))  # as the kernel answers for an opened environ

    monkeypatch.setattr(Path, "read_text", lambda *_: "pulumi\n")
    monkeypatch.setattr(Path, "read_bytes", ended)
    owner = Owner("root", socket.gethostname(), os.getpid(), datetime.now(UTC))
    assert holder_of(owner, Path("/")) is LockHolder.ABANDONED
