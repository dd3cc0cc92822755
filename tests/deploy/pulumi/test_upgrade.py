"""A cluster that the last release deployed is upgraded: in waves, and nothing is touched that has the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright import __version__, chain

CHECKOUT = Path(__file__).parents[3]
LAST, LAST_COMMIT = "0.1.0", "973a371caa63597518928d536e749fef818aba6c"
"""The commit that the changelog's section stands for: the release was given no tag."""

pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


def run(*arguments: str | Path, cwd: Path, **more: str) -> str:
    done = subprocess.run(arguments, cwd=cwd, env={**os.environ, **more}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Upgraded:
    """The lab's services and the layer above them, deployed by the last release's wheel, and then by this program."""

    place: Path
    preview: str
    update: str
    before: dict[str, tuple[int, int]]
    after: dict[str, tuple[int, int]]

    @property
    def root(self) -> Path:
        return self.place / "up"


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file by its path, with its inode and the time of its last change."""
    return {
        str(path.relative_to(folder)): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def last_release(place: Path) -> Path:
    """The package of the last release, unpacked from its wheel."""
    known = subprocess.run(["git", "cat-file", "-e", LAST_COMMIT], cwd=CHECKOUT, capture_output=True, check=False)
    if known.returncode:
        pytest.skip(f"this checkout is too shallow for {LAST}: `git fetch --unshallow` brings it")
    (place / "source").mkdir()
    archive = place / "source.tar"
    run("git", "archive", "--output", archive, LAST_COMMIT, cwd=CHECKOUT)
    run("tar", "xf", archive, "-C", place / "source", cwd=place)
    uv = run(CHECKOUT / "tools/bootstrap-uv", cwd=place).strip()
    build = ("build", "--quiet", "--wheel", "--build-constraints", CHECKOUT / "requirements-build.lock")
    run(uv, *build, "--out-dir", place, place / "source", cwd=place)
    (wheel,) = place.glob("clusterwright-*.whl")
    run(uv, "pip", "install", "--quiet", "--no-deps", "--target", place / "package", wheel, cwd=place)
    return place / "package"


def without_tuner(spec: Path) -> None:
    """What an upgrade asks of whoever deployed the last release's lab: its tuner ends jobs (CW424)."""
    text = spec.read_text(encoding="utf-8")
    start = text.index("  tuner:\n")
    spec.write_text(text[:start] + text[text.index("\nscheduler:", start) :], encoding="utf-8")


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Upgraded:
    place = tmp_path_factory.mktemp("upgrade")
    package = last_release(place)
    spec = place / "lab.yaml"
    spec.write_bytes((place / "source" / "inventory" / "lab-roce.yaml").read_bytes())
    root = place / "up"
    layers: tuple[str | Path, ...] = ("--root", root, "--pod", "services-rack0", "--upper")
    program = Path(sys.executable).parent / "clusterwright"
    old = {"PYTHONPATH": str(package), "CLUSTERWRIGHT_REASON": "a test"}
    assert LAST in run(program, "--version", cwd=place, **old)
    run(program, "up", spec, *layers, cwd=place, **old)
    (root / "flash" / "ssw-00" / "kept.txt").write_text("of nobody's spec\n")
    before = files_in(root / "flash")
    without_tuner(spec)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CLUSTERWRIGHT_REASON", "a test")
        previewed = command("preview", spec, *layers, cwd=place)
        assert previewed.returncode == 0, previewed.stdout + previewed.stderr
        updated = command("up", spec, *layers, "--yes", "--accept", "the lab has one management switch", cwd=place)
        assert updated.returncode == 0, updated.stdout + updated.stderr
    preview, update = previewed.stdout + previewed.stderr, updated.stdout + updated.stderr
    return Upgraded(place, preview, update, before, files_in(root / "flash"))


def test_the_preview_says_which_version_is_compared_with(upgraded: Upgraded) -> None:
    assert f"compared with the last complete update, by version {LAST} (this is {__version__})" in upgraded.preview


def test_devices_that_run_change_in_waves_and_are_changed_alone(upgraded: Upgraded) -> None:
    """No unit is made anew or removed: Pulumi knows each by the name that the last release gave it."""
    assert "to create" not in upgraded.preview
    assert "to delete" not in upgraded.preview
    assert "to replace" not in upgraded.preview
    assert "canary" in upgraded.update


def test_what_has_the_same_bytes_is_not_touched(upgraded: Upgraded) -> None:
    devices = {path.partition("/")[0] for path in upgraded.before}
    moved = {path for path, seen in upgraded.before.items() if upgraded.after.get(path) != seen}
    same = devices - {path.partition("/")[0] for path in moved}
    announced = {device for device in devices if f"{device}:" in upgraded.preview}
    assert {"rsw-v00", "ssw-00", "ssw-01"} <= same
    assert same | announced == devices
    assert (upgraded.root / "flash" / "ssw-00" / "kept.txt").exists()


def test_the_record_goes_on_and_says_who_wrote_what(upgraded: Upgraded) -> None:
    entries = chain.read(upgraded.root / "audit" / "rollouts.jsonl")
    versions = [entry.get("program", LAST) for entry in entries]  # the last release did not write it
    assert {LAST, __version__} == set(versions)
    assert versions == sorted(versions)
    assert command("audit", "verify", upgraded.root, cwd=upgraded.place).returncode == 0
    notes = [json.loads(file.read_text()) for file in (upgraded.root / "deployed").glob("*.json")]
    assert {note["program"] for note in notes} == {__version__}


def test_a_second_update_changes_nothing(upgraded: Upgraded) -> None:
    layers = ("--root", upgraded.root, "--pod", "services-rack0", "--upper")
    again = command("preview", upgraded.place / "lab.yaml", *layers, cwd=upgraded.place)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "nothing would change" in again.stderr


def test_errors_of_newer_rules_are_told_apart(upgraded: Upgraded) -> None:
    """A spec that the last release took, and this one does not: both say which rules are new."""
    spec = upgraded.place / "paths.yaml"
    spec.write_text(
        "extends: lab.yaml\nencryption:\n  tls: {certificate: /home/pki/node.pem, private_key: /home/pki/node.pem}\n"
    )
    layers = ("--root", upgraded.root, "--pod", "services-rack0")
    refused = command("preview", spec, *layers, cwd=upgraded.place)
    assert refused.returncode == 1
    assert f"errors come from rules that {__version__}" not in refused.stderr
    (note,) = (upgraded.root / "deployed").glob("*services-rack0.json")
    text = note.read_text()
    note.write_text(text.replace(f'"{__version__}"', f'"{LAST}"'))
    refused = command("preview", spec, *layers, cwd=upgraded.place)
    note.write_text(text)
    assert f"3 of these errors come from rules that {LAST}, by which this was deployed, did not have" in refused.stderr
