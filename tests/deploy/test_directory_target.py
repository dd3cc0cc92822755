"""The directory target: whole or not at all, and never a file of somebody else's."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright.artifact import Artifact
from clusterwright.deploy.directory import DirectoryTarget
from clusterwright.deploy.journal import Journal, JournalEntry
from clusterwright.deploy.target import DeviceTree, Holding, Status, Unreachable, tree_digest

DEVICE = "gpu-p00r00n0"


def tree(**files: str) -> DeviceTree:
    """A tree from ``etc_motd="text"``: underscores stand for slashes."""
    return tuple(
        Artifact(DEVICE, name.replace("_", "/"), text.encode(), "test", 0o640) for name, text in sorted(files.items())
    )


@pytest.fixture
def target(tmp_path: Path) -> DirectoryTarget:
    return DirectoryTarget(tmp_path / "flash")


def contents(target: DirectoryTarget) -> dict[str, str]:
    home = target.root / DEVICE
    return {
        str(path.relative_to(home)): path.read_text()
        for path in sorted(home.rglob("*"))
        if path.is_file() and ".clusterwright" not in path.parts
    }


def apply(target: DirectoryTarget, wanted: DeviceTree) -> Status:
    return target.apply({DEVICE: wanted})[DEVICE].status


def test_applies_a_tree_with_its_modes_and_reports_what_the_device_holds(target: DirectoryTarget) -> None:
    wanted = tree(etc_motd="hello\n", etc_nccl="NCCL_DEBUG=WARN\n")

    outcome = target.apply({DEVICE: wanted})[DEVICE]

    assert outcome.status is Status.APPLIED
    assert outcome.changed == ("etc/motd", "etc/nccl")
    assert outcome.digest == tree_digest(wanted)
    assert contents(target) == {"etc/motd": "hello\n", "etc/nccl": "NCCL_DEBUG=WARN\n"}
    assert (target.root / DEVICE / "etc/motd").stat().st_mode & 0o7777 == 0o640
    held = target.read([DEVICE])[DEVICE]
    assert isinstance(held, Holding)
    assert held.digest == tree_digest(wanted)


def test_a_second_time_nothing_changes(target: DirectoryTarget) -> None:
    wanted = tree(etc_motd="hello\n")
    apply(target, wanted)
    before = (target.root / DEVICE / "etc/motd").stat().st_ino

    assert apply(target, wanted) is Status.UNCHANGED
    assert (target.root / DEVICE / "etc/motd").stat().st_ino == before


def test_removes_what_it_put_there_and_nothing_else(target: DirectoryTarget) -> None:
    apply(target, tree(etc_motd="hello\n", opt_only_ours="x\n"))
    (target.root / DEVICE / "etc/hostname").write_text("theirs\n")

    outcome = target.apply({DEVICE: ()})[DEVICE]

    assert outcome.changed == ("etc/motd", "opt/only/ours")
    assert contents(target) == {"etc/hostname": "theirs\n"}
    assert not (target.root / DEVICE / "opt").exists()


def test_check_changes_nothing_and_says_what_would(target: DirectoryTarget) -> None:
    apply(target, tree(etc_motd="hello\n"))

    outcome = target.apply({DEVICE: tree(etc_nccl="x\n")}, check=True)[DEVICE]

    assert outcome.changed == ("etc/motd", "etc/nccl")
    assert contents(target) == {"etc/motd": "hello\n"}


def test_a_device_that_refuses_one_file_keeps_all_the_others_as_they_were(target: DirectoryTarget) -> None:
    apply(target, tree(etc_a="old\n", etc_b="old\n"))
    (target.root / DEVICE / "etc/zz").write_text("a file where a folder is wanted\n")

    outcome = target.apply({DEVICE: tree(etc_a="new\n", etc_c="new\n", etc_zz_z="new\n")})[DEVICE]

    assert outcome.status is Status.FAILED
    assert "etc/zz" in outcome.message
    assert contents(target) == {
        "etc/a": "old\n",
        "etc/b": "old\n",
        "etc/zz": "a file where a folder is wanted\n",
    }
    (target.root / DEVICE / "etc/zz").unlink()
    assert apply(target, tree(etc_a="new\n", etc_zz_z="new\n")) is Status.APPLIED
    assert contents(target) == {"etc/a": "new\n", "etc/zz/z": "new\n"}


def test_one_devices_trouble_is_not_anothers(target: DirectoryTarget) -> None:
    target.root.mkdir()
    (target.root / "broken").write_text("no folder\n")
    wanted = tree(etc_motd="hello\n")

    outcomes = target.apply({"broken": wanted, DEVICE: wanted})

    assert outcomes["broken"].status is Status.FAILED
    assert outcomes[DEVICE].status is Status.APPLIED
    assert isinstance(target.read(["broken"])["broken"], Unreachable)


def test_a_crash_in_the_middle_is_rolled_back_by_the_next_attempt(target: DirectoryTarget) -> None:
    apply(target, tree(etc_a="old\n", etc_b="old\n"))
    home = target.root / DEVICE
    journal = Journal(home)
    steps = (
        JournalEntry("etc/a", tree(etc_a="half\n")[0]),
        JournalEntry("etc/c", tree(etc_c="half\n")[0]),
        JournalEntry("etc/b", None),
    )
    journal.stage(steps, {"etc/a", "etc/b"}, {"etc/a", "etc/c"})
    journal.open()
    journal.carry_out(steps)
    assert contents(target) == {"etc/a": "half\n", "etc/c": "half\n"}

    (home / "etc/in-the-way").mkdir()
    assert apply(target, (Artifact(DEVICE, "etc/in-the-way", b"", "test"),)) is Status.FAILED

    assert contents(target) == {"etc/a": "old\n", "etc/b": "old\n"}


@pytest.mark.parametrize("path", ["../escape", "/etc/passwd", "etc/../../escape", ".clusterwright/applied.json", ""])
def test_refuses_paths_outside_the_device(target: DirectoryTarget, path: str) -> None:
    outcome = target.apply({DEVICE: (Artifact(DEVICE, path, b"x", "test"),)})[DEVICE]

    assert outcome.status is Status.FAILED
    assert "not a path inside" in outcome.message


def test_refuses_a_symbolic_link_that_leads_out_of_the_device(target: DirectoryTarget, tmp_path: Path) -> None:
    (target.root / DEVICE).mkdir(parents=True)
    (target.root / DEVICE / "etc").symlink_to(tmp_path)

    assert apply(target, tree(etc_motd="hello\n")) is Status.FAILED
    assert not (tmp_path / "motd").exists()


def test_a_changed_file_is_seen_when_the_device_is_read(target: DirectoryTarget) -> None:
    wanted = tree(etc_motd="hello\n")
    apply(target, wanted)
    (target.root / DEVICE / "etc/motd").write_text("changed by hand\n")

    held = target.read([DEVICE])[DEVICE]

    assert isinstance(held, Holding)
    assert held.digest != tree_digest(wanted)
    assert apply(target, wanted) is Status.APPLIED
    assert contents(target) == {"etc/motd": "hello\n"}


@pytest.mark.parametrize("link", ["", ".clusterwright", ".clusterwright/staged", ".clusterwright/previous", "etc"])
def test_no_symbolic_link_is_followed_out_of_the_root(target: DirectoryTarget, tmp_path: Path, link: str) -> None:
    """Neither to write, nor to read back, nor to foresee, nor to remove; what it leads to stays as it is."""
    assert apply(target, tree(etc_motd="hello\n")) is Status.APPLIED
    place, outside = target.root / DEVICE / link, tmp_path / "outside"
    if place.exists():
        place.rename(outside)
    else:
        outside.mkdir()
        (outside / "0").write_text("somebody's\n")
    place.symlink_to(outside)
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}

    for wanted in (tree(etc_motd="other\n"), tree(etc_new="more\n"), ()):
        outcome = target.apply({DEVICE: wanted}, check=True)[DEVICE]
        assert outcome.status is Status.FAILED
        assert "symbolic link" in outcome.message
        assert "hello" not in outcome.diff
        assert apply(target, wanted) is Status.FAILED
    held = target.read([DEVICE])[DEVICE]
    assert isinstance(held, Unreachable)
    assert "symbolic link" in held.message
    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before


def test_a_crash_is_not_rolled_back_through_a_symbolic_link(target: DirectoryTarget, tmp_path: Path) -> None:
    apply(target, tree(etc_a="old\n"))
    home = target.root / DEVICE
    journal = Journal(home)
    steps = (JournalEntry("etc/a", tree(etc_a="half\n")[0]), JournalEntry("etc/c", tree(etc_c="half\n")[0]))
    journal.stage(steps, {"etc/a"}, {"etc/a", "etc/c"})
    journal.open()
    journal.carry_out(steps)
    (home / "etc").rename(tmp_path / "etc")
    (home / "etc").symlink_to(tmp_path / "etc")

    assert apply(target, tree(etc_a="new\n")) is Status.FAILED

    assert (tmp_path / "etc/a").read_text() == "half\n"
    assert (tmp_path / "etc/c").exists()


@pytest.mark.parametrize("device", ["..", ".", "", "a/b", "../outside"])
def test_a_name_that_is_no_name_of_a_folder_is_no_device(target: DirectoryTarget, device: str) -> None:
    target.root.mkdir()
    assert target.apply({device: tree(etc_a="x\n")})[device].status is Status.FAILED
    assert isinstance(target.read([device])[device], Unreachable)
    assert not list(target.root.parent.glob("*/etc"))
