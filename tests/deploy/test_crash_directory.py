"""A process that dies at every single step of changing a device in a directory: the device is never in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from clusterwright.artifact import Artifact
from clusterwright.deploy import directory
from clusterwright.deploy.device_places import OWN_FOLDER
from clusterwright.deploy.directory import DirectoryTarget
from clusterwright.deploy.target import DeviceTree, Holding, Status, tree_digest

# Python's audit events of calls that change a file system, and of those that open files.
STEPS = frozenset({"open", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.chmod", "shutil.rmtree"})


def tree(**files: str) -> DeviceTree:
    """Files by path, two underscores standing for a slash."""
    return tuple(
        Artifact("gpu-0", name.replace("__", "/"), text.encode(), "test") for name, text in sorted(files.items())
    )


OLD = tree(etc__hostname="gpu-0\n", etc__old="leaves\n", etc__sysctl="a = 1\n")
NEW = tree(etc__hostname="gpu-0\n", etc__new__file="comes\n", etc__sysctl="a = 2\n")


def contents(home: Path) -> dict[str, bytes]:
    """What is on the device beside the target's own folder."""
    paths = (path.relative_to(home) for path in sorted(home.rglob("*")) if path.is_file())
    return {str(path): (home / path).read_bytes() for path in paths if path.parts[0] != OWN_FOLDER}


def plain(wanted: DeviceTree) -> dict[str, bytes]:
    return {artifact.path: artifact.content for artifact in wanted}


def apply_and_die(root: Path, batch: Mapping[str, DeviceTree], step: int) -> bool:
    """Apply in a child that kills itself before its ``step``-th step; False when it came to its end before."""

    def child() -> NoReturn:
        left = [step]

        def watch(event: str, _: object) -> None:
            if event in STEPS:
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        ended = DirectoryTarget(root).apply(batch)
        os._exit(0 if all(outcome.ok for outcome in ended.values()) else 1)

    pid = os.fork()
    if not pid:
        child()
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize(("before", "after"), [(OLD, NEW), ((), NEW), (NEW, ())], ids=["change", "first", "removal"])
def test_killed_at_any_step_the_next_attempt_ends_where_the_first_was_to(
    tmp_path: Path, before: DeviceTree, after: DeviceTree
) -> None:
    step, killed = 1, True
    while killed:
        root = tmp_path / str(step)
        target = DirectoryTarget(root)
        target.apply({"gpu-0": before})
        killed = apply_and_die(root, {"gpu-0": after}, step)

        # Going back to what was there first needs nothing to be done by hand, and leaves no trace of the attempt.
        back = tmp_path / f"{step}-back"
        subprocess.run(["cp", "-a", root, back], check=True)
        assert DirectoryTarget(back).apply({"gpu-0": before})["gpu-0"].ok
        assert contents(back / "gpu-0") == plain(before)

        outcome = target.apply({"gpu-0": after})["gpu-0"]
        assert outcome.ok, (step, outcome)
        assert outcome.digest == tree_digest(after)
        assert contents(root / "gpu-0") == plain(after)
        assert target.apply({"gpu-0": after})["gpu-0"].status is Status.UNCHANGED
        held = target.read(["gpu-0"])["gpu-0"]
        assert isinstance(held, Holding)
        assert held.digest == tree_digest(after)
        assert not list((root / "gpu-0").glob(f"{OWN_FOLDER}/journal.json"))
        step += 1
    assert step > 20


def test_killed_among_several_devices_the_next_attempt_takes_each_where_it_was_or_was_to_be(tmp_path: Path) -> None:
    names = ("gpu-0", "gpu-1", "gpu-2")
    step, killed = 1, True
    while killed:
        root = tmp_path / str(step)
        target = DirectoryTarget(root)
        target.apply(dict.fromkeys(names, OLD))
        killed = apply_and_die(root, dict.fromkeys(names, NEW), step)

        # One is wanted as it was, one as it was to be, and nobody asks for the third until later.
        assert all(each.ok for each in target.apply({"gpu-0": OLD, "gpu-1": NEW}).values()), step
        assert contents(root / "gpu-0") == plain(OLD)
        assert contents(root / "gpu-1") == plain(NEW)
        assert target.apply({"gpu-2": OLD})["gpu-2"].ok
        assert contents(root / "gpu-2") == plain(OLD)
        step += 5  # no divisor of a device's steps: kills fall everywhere
    assert step > 60


def test_more_files_than_are_flushed_one_by_one_are_applied_alike(tmp_path: Path) -> None:
    many = tree(**{f"etc__d__{number}": f"{number}\n" for number in range(directory.FEW_FILES + 1)})
    target = DirectoryTarget(tmp_path)
    assert target.apply({"gpu-0": many})["gpu-0"].digest == tree_digest(many)
    assert target.apply({"gpu-0": OLD})["gpu-0"].ok
    assert contents(tmp_path / "gpu-0") == plain(OLD)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of a few pages."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_device_whose_disk_is_full_keeps_what_it_had_and_says_so(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as root:
        target = DirectoryTarget(root)
        assert target.apply({"gpu-0": OLD})["gpu-0"].ok

        outcome = target.apply({"gpu-0": (*NEW, *tree(etc__z="x" * 100_000))})["gpu-0"]

        assert outcome.status is Status.FAILED
        assert outcome.message == "No space left on device"
        assert contents(root / "gpu-0") == plain(OLD)
        assert target.apply({"gpu-0": OLD})["gpu-0"].status is Status.UNCHANGED
        assert target.apply({"gpu-0": NEW})["gpu-0"].status is Status.APPLIED


def test_a_damaged_journal_is_named_and_nothing_is_touched(tmp_path: Path) -> None:
    target = DirectoryTarget(tmp_path)
    target.apply({"gpu-0": OLD})
    journal = tmp_path / "gpu-0" / OWN_FOLDER / "journal.json"
    journal.write_text('{"owned": [')

    outcome = target.apply({"gpu-0": NEW})["gpu-0"]

    assert outcome.status is Status.FAILED
    assert f"{journal} is damaged" in outcome.message
    assert contents(tmp_path / "gpu-0") == plain(OLD)
    journal.unlink()
    assert target.apply({"gpu-0": NEW})["gpu-0"].ok


def test_of_two_operators_on_one_device_the_second_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "LOCK_WAIT_S", 0.3)
    target = DirectoryTarget(tmp_path)
    target.apply({"gpu-0": OLD})

    with directory._locked(tmp_path / "gpu-0", time.monotonic()):
        outcome = target.apply({"gpu-0": NEW})["gpu-0"]
    assert outcome.status is Status.FAILED
    assert "another deployment is changing it" in outcome.message
    assert contents(tmp_path / "gpu-0") == plain(OLD)

    answers: list[bool] = []
    threads = [
        threading.Thread(target=lambda wanted=wanted: answers.append(target.apply({"gpu-0": wanted})["gpu-0"].ok))
        for wanted in (OLD, NEW) * 4
    ]
    monkeypatch.setattr(directory, "LOCK_WAIT_S", 10)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 8
    assert contents(tmp_path / "gpu-0") in (plain(OLD), plain(NEW))
