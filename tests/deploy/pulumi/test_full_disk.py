"""A disk that fills up in the middle of an update: every device is old or new, and the same command ends it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright.data_files import folder
from clusterwright.deploy.target import Holding
from clusterwright.deploy.targets import TargetSettings

SETTING = "net.core.netdev_max_backlog"
NODES = ("gpu-p00r00n0", "gpu-p00r00n1", "gpu-p00r01n0", "gpu-p00r01n1")

pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    assert os.getuid() == 0, "mounts a file system: run the tests as root"
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


@dataclass(frozen=True)
class Site:
    """A pod of the lab that is deployed under ``root``, and a ``disk`` that has a part of that."""

    root: Path
    spec: Path
    disk: Path

    def up(self, backlog: int = 250000) -> subprocess.CompletedProcess[str]:
        """With a setting of every node."""
        text = (folder("inventory") / "lab-roce.yaml").read_text()
        self.spec.write_text(text.replace(f"{SETTING}: 250000", f"{SETTING}: {backlog}"))
        return command("up", self.spec, "--root", self.root, "--pod", "pod0", "--yes", cwd=self.spec.parent)

    def held(self) -> dict[str, str]:
        """Device to a digest over what it holds."""
        names = sorted(path.name for path in (self.root / "flash").iterdir() if path.is_dir())
        found = TargetSettings("directory", self.root).open().read(names)
        return {name: held.digest for name, held in found.items() if isinstance(held, Holding)}

    def leave(self, kib: int) -> None:
        """Fill the disk up to that."""
        filler = self.disk / "filler"
        filler.unlink(missing_ok=True)
        filler.write_bytes(bytes(max(shutil.disk_usage(self.disk).free - kib * 1024, 0)))

    def make_room(self) -> None:
        (self.disk / "filler").unlink()


def deployed(site: Site, folder_on_disk: str) -> dict[str, str]:
    site.root.mkdir()
    (site.root / folder_on_disk).symlink_to(site.disk)
    first = site.up()
    assert first.returncode == 0, first.stdout + first.stderr
    return site.held()


def require_told(stopped: subprocess.CompletedProcess[str], words: str) -> None:
    told = stopped.stdout + stopped.stderr
    assert stopped.returncode in (2, 3), told
    assert words in told
    assert "Traceback" not in told


def test_no_room_for_the_state(disk: Path, tmp_path: Path) -> None:
    site = Site(tmp_path / "up", tmp_path / "lab-roce.yaml", disk)
    before = deployed(site, "state")

    site.leave(8)
    require_told(site.up(260000), "the disk of the state is full")
    between = site.held()

    site.make_room()
    again = site.up(260000)
    assert again.returncode == 0, again.stdout + again.stderr
    after = site.held()
    assert {name for name in before if before[name] != after[name]} == set(NODES)
    assert all(between[name] in (before[name], after[name]) for name in before)


def test_no_room_on_devices(disk: Path, tmp_path: Path) -> None:
    site = Site(tmp_path / "up", tmp_path / "lab-roce.yaml", disk)
    before = deployed(site, "flash")

    site.leave(0)
    stopped = site.up(260000)
    require_told(stopped, "failed, No space left on device")
    assert site.held() == before, "every device has what it had"

    site.make_room()
    again = site.up(260000)
    assert again.returncode == 0, again.stdout + again.stderr
    assert {name for name, digest in site.held().items() if before[name] != digest} == set(NODES)


def test_no_room_for_rendered_objects(disk: Path, tmp_path: Path) -> None:
    site = Site(tmp_path / "up", tmp_path / "lab-roce.yaml", disk)
    before = deployed(site, "objects")

    site.leave(0)
    require_told(site.up(260000), "objects: cannot be written: No space left on device")
    assert site.held() == before, "nothing was sent"

    site.make_room()
    again = site.up(260000)
    assert again.returncode == 0, again.stdout + again.stderr
    assert {name for name, digest in site.held().items() if before[name] != digest} == set(NODES)


def test_no_room_for_temporary_files(disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path / "up", tmp_path / "lab-roce.yaml", disk)
    site.root.mkdir()
    first = site.up()
    assert first.returncode == 0, first.stdout + first.stderr
    before = site.held()

    with monkeypatch.context() as patched:
        patched.setenv("TMPDIR", str(disk))
        patched.setattr("tempfile.tempdir", None)
        site.leave(0)
        stopped = site.up(260000)
    told = stopped.stdout + stopped.stderr
    assert "Traceback" not in told
    assert stopped.returncode in (0, 2, 3), told
    between = site.held()
    assert all(stopped.returncode == 0 or between[name] == before[name] for name in before)

    site.make_room()
    again = site.up(260000)
    assert again.returncode == 0, again.stdout + again.stderr
    assert {name for name, digest in site.held().items() if before[name] != digest} == set(NODES)


def test_a_target_that_takes_no_writes(disk: Path, tmp_path: Path) -> None:
    site = Site(tmp_path / "up", tmp_path / "lab-roce.yaml", disk)
    before = deployed(site, "flash")

    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    stopped = site.up(260000)
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    require_told(stopped, "Read-only file system")
    assert site.held() == before, "every device has what it had"

    again = site.up(260000)
    assert again.returncode == 0, again.stdout + again.stderr
    assert {name for name, digest in site.held().items() if before[name] != digest} == set(NODES)
