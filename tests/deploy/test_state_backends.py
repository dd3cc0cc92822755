"""State in a database instead of a folder: a real PostgreSQL server on a socket of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterwright.data_files import folder

COMMAND = str(Path(sys.executable).parent / "clusterwright")
ACCOUNT = "postgres"  # the server refuses to run as root; the Debian package brings this account

pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


def programs() -> Path:
    """Where Debian keeps the server: not on the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert found, "no PostgreSQL server here: install the Debian package postgresql"
    return found[-1].parent


def as_account(*command: str | Path) -> None:
    prefix = ("runuser", "-u", ACCOUNT, "--") if os.getuid() == 0 else ()
    done = subprocess.run([*prefix, *command], capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def database(tmp_path: Path) -> Iterator[str]:
    """A server with an empty database, reached over a socket in a folder that only this test knows."""
    place = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    if os.getuid() == 0:
        shutil.chown(place, ACCOUNT)
    data, log = place / "data", place / "log"
    as_account(programs() / "initdb", "-D", data, "--auth=trust", f"--username={ACCOUNT}", "--no-sync")
    options = f"-k {place} -c listen_addresses='' -c fsync=off"
    as_account(programs() / "pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "start")
    try:
        yield f"postgres://{ACCOUNT}@/postgres?host={place}&sslmode=disable"
    finally:
        as_account(programs() / "pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(place)


def test_state_in_postgresql_is_found_again(database: str, tmp_path: Path) -> None:
    spec, root = folder("inventory") / "lab-roce.yaml", tmp_path / "up"

    def run(action: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [COMMAND, action, str(spec), "--root", str(root), "--pod", "pod0", "--backend", database, *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    first = run("up")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "8 created" in first.stderr
    assert not list((root / "state").rglob("*.json")), "nothing is kept in files"

    again = run("up")
    assert "nothing changed; 8 resources are as they were" in again.stderr, again.stdout + again.stderr

    gone = run("destroy", "--yes")
    assert gone.returncode == 0, gone.stdout + gone.stderr
    assert not any(path.is_file() for path in (root / "flash").rglob("*"))
