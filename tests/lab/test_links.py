"""Links that lie where a lab is about to write: nothing is written through them."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from clusterwright.durable import own_folder
from clusterwright.extras.lab import frr, running
from clusterwright.extras.lab.cut import Cut
from clusterwright.extras.lab.running import LabState, exclusively, remove_lab, write_state
from clusterwright.finding import ClusterwrightError

STATE = LabState("lab.yaml", "backend", Cut((), None, 0, 0))


@pytest.fixture
def labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(running, "LABS", tmp_path / "labs")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/file").write_text("somebody's")
    return tmp_path / "labs"


def test_a_link_in_place_of_the_labs_or_of_one_is_refused(labs: Path) -> None:
    elsewhere = labs.parent / "elsewhere"
    labs.symlink_to(elsewhere)
    with pytest.raises(ClusterwrightError, match="not a folder of this user"), exclusively("twin.backend"):
        pass
    with pytest.raises(ClusterwrightError, match="not a folder of this user"):
        write_state("twin.backend", STATE)
    labs.unlink()
    labs.mkdir()
    (labs / "twin.backend").symlink_to(elsewhere)
    with pytest.raises(ClusterwrightError, match="not a folder of this user"):
        write_state("twin.backend", STATE)
    assert [path.name for path in elsewhere.iterdir()] == ["file"]


def test_a_link_in_place_of_a_lock_is_refused_and_one_in_place_of_the_state_replaced(labs: Path) -> None:
    file = labs.parent / "elsewhere/file"
    write_state("twin.backend", STATE)
    for name in ("state.json", "state.part"):
        (labs / "twin.backend" / name).unlink(missing_ok=True)
        (labs / "twin.backend" / name).symlink_to(file)
    (labs / "twin.backend.lock").symlink_to(file)

    write_state("twin.backend", STATE)
    with pytest.raises(ClusterwrightError, match="Take away what stands there"), exclusively("twin.backend"):
        pass

    assert file.read_text() == "somebody's"
    assert not (labs / "twin.backend/state.json").is_symlink()


def test_a_folder_that_others_write_into_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(ClusterwrightError, match="without write access for others"):
        own_folder(tmp_path / "open")
    own_folder(tmp_path / "mine")
    own_folder(tmp_path / "mine")
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o700


def test_a_lab_that_is_a_link_is_not_removed(labs: Path) -> None:
    labs.mkdir()
    (labs / "twin.backend").symlink_to(labs.parent / "elsewhere")
    with pytest.raises(ClusterwrightError, match="a link, where the lab's folder should be"):
        remove_lab("twin.backend")
    assert (labs.parent / "elsewhere/file").exists()


def test_a_routers_folder_is_root_s_until_its_files_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[list[str]] = []
    monkeypatch.setattr(frr, "inside", lambda _: nullcontext())
    monkeypatch.setattr(
        shutil, "chown", lambda folder, *_: written.append(sorted(path.name for path in folder.iterdir()))
    )
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0, "", ""))

    frr.start_router("n0", tmp_path / "r0", "router bgp 1\n")

    assert written == [["bgpd.conf", "zebra.conf"]]
