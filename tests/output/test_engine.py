"""Writing a tree: complete, the same every time, and never half."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli import in_process
from tests.plans import plan_of

from clusterwright import data_files
from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.output.tree import TreeError, write_tree
from clusterwright.output.workers import render_tree, shares_of

PROGRAM = Path(sys.executable).with_name("clusterwright")
SPEC = data_files.folder("inventory") / "lab-roce.yaml"
OLD = (Artifact("sw-0", "etc/a.conf", b"old\n", "test"),)
NEW = (Artifact("sw-0", "etc/a.conf", b"new\n", "test"), Artifact("sw-1", "etc/key", b"k", "test", mode=0o600))


def command(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, env=os.environ | environment, check=False
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_the_manifest_lists_every_file_with_its_digest(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_tree(NEW, out, "lab")
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert manifest == {
        "version": 2,
        "cluster": "lab",
        "groups": {},
        "artifacts": [
            {
                "device": artifact.device,
                "path": artifact.path,
                "kind": "test",
                "mode": f"{artifact.mode:04o}",
                "sha256": hashlib.sha256(artifact.content).hexdigest(),
                "size": len(artifact.content),
            }
            for artifact in NEW
        ],
    }
    assert contents(out).keys() == {"manifest.json", "sw-0/etc/a.conf", "sw-1/etc/key"}
    assert (out / "sw-1/etc/key").stat().st_mode & 0o777 == 0o600
    assert (out / "sw-0/etc/a.conf").stat().st_mode & 0o777 == 0o644


def test_modes_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_tree(NEW, tmp_path / "out", "lab")
    finally:
        os.umask(before)
    assert (tmp_path / "out/sw-0/etc/a.conf").stat().st_mode & 0o777 == 0o644


def test_a_tree_of_ours_is_replaced_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_tree(NEW, out, "lab")
    write_tree(OLD, out, "lab")
    assert contents(out).keys() == {"manifest.json", "sw-0/etc/a.conf"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_a_failed_run_leaves_the_old_tree(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_tree(OLD, out, "lab")
    before = contents(out)

    def failing() -> Iterator[Artifact]:
        yield NEW[0]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_tree(failing(), out, "lab")
    assert contents(out) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_the_old_tree(tmp_path: Path, sent: signal.Signals) -> None:
    out = tmp_path / "out"
    write_tree(OLD, out, "roce-24k")
    before = contents(out)
    program: list[Path | str] = [PROGRAM, "render", SPEC.with_name("roce-24k.yaml"), "--out", out]
    aside = tmp_path / ".out.part"
    # A shell that starts the tests in the background has them, and all that they start, ignore SIGINT.
    command = ["env", "--default-signal=INT", *program]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as run:
        deadline = time.monotonic() + 120
        while not (aside.is_dir() and any(aside.iterdir())):
            assert run.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(run.pid, sent)
        run.communicate()
    assert run.returncode != 0
    assert contents(out) == before
    write_tree(NEW, out, "roce-24k")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out"]


def test_files_of_another_origin_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(TreeError, match="files of another origin"):
        write_tree(NEW, tmp_path, "lab")
    assert contents(tmp_path) == {"thesis.tex": b"years of work"}


def test_the_tree_of_another_cluster_is_never_replaced(tmp_path: Path) -> None:
    write_tree(NEW, tmp_path, "lab")
    before = contents(tmp_path)
    with pytest.raises(TreeError, match="holds what was rendered of lab"):
        write_tree(NEW, tmp_path, "large")
    assert contents(tmp_path) == before


def test_a_foreign_manifest_does_not_make_a_folder_ours(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[1]")
    with pytest.raises(TreeError, match="files of another origin"):
        write_tree(NEW, tmp_path, "lab")


def test_a_file_of_that_name_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(TreeError, match="there is a file of this name"):
        write_tree(NEW, tmp_path / "out", "lab")


def test_two_runs_do_not_write_the_same_folder(tmp_path: Path) -> None:
    aside = tmp_path / ".out.part"
    aside.mkdir()
    descriptor = os.open(aside, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with pytest.raises(TreeError, match="another run is writing"):
            write_tree(NEW, tmp_path / "out", "lab")
    finally:
        os.close(descriptor)
    assert aside.is_dir()


@pytest.mark.parametrize(
    ("device", "path"), [("../x", "a"), ("sw", "../../a"), ("sw", "/etc/a"), ("..", "a"), ("sw", "")]
)
def test_names_cannot_leave_the_folder(tmp_path: Path, device: str, path: str) -> None:
    with pytest.raises(TreeError, match="outside the device's folder"):
        write_tree((Artifact(device, path, b"", "test"),), tmp_path / "in" / "out", "lab")
    assert contents(tmp_path) == {}


def test_workers_write_what_one_process_writes(tmp_path: Path) -> None:
    plan = plan_of("roce-24k")
    names = [device.name for device in plan.devices if device.role in {"node", "rtsw", "ctsw"}][-150:]
    one = render_tree(plan, names, tmp_path / "one", workers=1)
    assert render_tree(plan, names, tmp_path / "three", workers=3) == one
    assert contents(tmp_path / "one") == contents(tmp_path / "three")
    shared = [artifact for image in Rendering(plan).images(names) for artifact in image.files]
    every = (*Rendering(plan).of_devices_alone(names), *shared)
    expected = {f"{artifact.device}/{artifact.path}": artifact.content for artifact in every}
    written = contents(tmp_path / "one")
    del written["manifest.json"]
    assert written == expected


def test_workers_get_equal_shares_of_every_kind_and_each_device_once() -> None:
    plan = plan_of("roce-24k")
    names = [device.name for device in plan.devices]
    shares = shares_of(plan, names, 3)
    assert sorted(name for share in shares for name in share) == sorted(names)
    for role in ("node", "rtsw", "service"):
        counts = [sum(plan.by_name[name].role == role for name in share) for share in shares]
        assert max(counts) - min(counts) <= 1, role
    assert shares_of(plan, names[:1], 3) == [names[:1]]


def test_every_device_with_an_operating_system_gets_files() -> None:
    plan = plan_of("lab-roce")
    for device in plan.devices:
        if device.kind == "switch":
            assert Rendering(plan).of_device(device.name), device.name


def test_bytes_depend_on_neither_hash_seed_nor_locale(tmp_path: Path) -> None:
    for number, (seed, locale) in enumerate((("0", "C"), ("1", "C.UTF-8"), ("4242", "tr_TR.UTF-8"))):
        environment = {"PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": f"UTC{number}"}
        run = command("render", SPEC, "--out", tmp_path / str(number), **environment)
        assert run.returncode == 0, run.stderr
    assert contents(tmp_path / "0") == contents(tmp_path / "1") == contents(tmp_path / "2")


def test_only_takes_the_devices_that_match(tmp_path: Path) -> None:
    run = in_process.command(
        "render", SPEC, "--out", tmp_path / "out", "--only", "ctsw-p00-*", "--only", "mgmt-00", cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    assert sorted(entry.name for entry in (tmp_path / "out").iterdir()) == [
        "ctsw-p00-00",
        "ctsw-p00-01",
        "manifest.json",
        "mgmt-00",
    ]
    assert run.stdout == ""


def test_a_glob_without_a_match_writes_nothing(tmp_path: Path) -> None:
    run = in_process.command("render", SPEC, "--out", tmp_path / "out", "--only", "leaf-*", cwd=tmp_path)
    assert run.returncode == 2
    assert "no device of lab-roce matches leaf-*" in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_glob_without_a_match_is_told_beside_one_with_matches(tmp_path: Path) -> None:
    run = in_process.command(
        "render", SPEC, "--out", tmp_path / "out", "--only", "mgmt-*", "--only", "leaf-*", cwd=tmp_path
    )
    assert run.returncode == 2
    assert "no device of lab-roce matches leaf-*; names" in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_spec_with_errors_writes_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(SPEC.read_text().replace("count: 8", "count: -8"))
    run = in_process.command("render", bad, "--out", tmp_path / "out", cwd=tmp_path)
    assert run.returncode == 1
    assert "bad.yaml:" in run.stderr
    assert "Traceback" not in run.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["bad.yaml"]


def test_equal_files_share_an_inode_and_different_modes_do_not(tmp_path: Path) -> None:
    same = [Artifact(device, "etc/a", b"equal", "test") for device in ("one", "two")]
    write_tree([*same, Artifact("three", "etc/a", b"equal", "test", mode=0o600)], tmp_path / "out", "lab")
    inodes = {device: (tmp_path / "out" / device / "etc/a").stat().st_ino for device in ("one", "two", "three")}
    assert inodes["one"] == inodes["two"] != inodes["three"]


def test_a_file_that_stays_as_it_is_keeps_its_inode_and_any_other_is_written(tmp_path: Path) -> None:
    kept, edited, grown, opened, moved, piped = paths = [f"etc/{each}" for each in "abcdef"]
    tree = [Artifact("one", path, path.encode(), "test") for path in paths]
    out = tmp_path / "out"
    write_tree(tree, out, "lab")
    before = {path: (out / "one" / path).stat().st_ino for path in paths}
    (out / "one" / edited).write_bytes(b"etc/x")
    with (out / "one" / grown).open("ab") as stream:
        stream.write(b" and more")
    (out / "one" / opened).chmod(0o666)
    (out / "one" / moved).rename(tmp_path / "moved")
    (out / "one" / moved).symlink_to(tmp_path / "moved")
    (out / "one" / piped).unlink()
    os.mkfifo(out / "one" / piped, 0o644)

    write_tree(tree, out, "lab")

    assert {path: (out / "one" / path).read_bytes() for path in paths} == {path: path.encode() for path in paths}
    assert not any((out / "one" / path).is_symlink() for path in paths)
    assert {(out / "one" / path).stat().st_mode for path in paths} == {stat.S_IFREG | 0o644}
    assert [path for path in paths if (out / "one" / path).stat().st_ino == before[path]] == [kept]


def test_a_file_system_without_links_gets_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr("os.link", refuse)
    write_tree([Artifact(device, "etc/a", b"equal", "test") for device in ("one", "two")], tmp_path / "out", "lab")
    assert (tmp_path / "out/two/etc/a").read_bytes() == b"equal"
