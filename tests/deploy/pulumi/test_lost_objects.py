"""Objects of what is deployed that are damaged or lost: every command goes on, and claims nothing unknown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.in_process import command

from clusterwright import chain
from clusterwright.data_files import folder

SPEC = folder("inventory") / "lab-roce.yaml"

pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


def flip(path: Path) -> None:
    """As a disk does it: other bytes, as many."""
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:] if content else b"")


def remove(path: Path) -> None:
    path.unlink()


@dataclass(frozen=True)
class Site:
    """The lab's services, deployed."""

    place: Path

    @property
    def root(self) -> Path:
        return self.place / "up"

    @property
    def objects(self) -> list[Path]:
        return sorted((self.root / "objects").glob("??/*"))

    def run(self, action: str, *more: str) -> CompletedProcess[str]:
        place: tuple[str | Path, ...] = ("--root", self.root, "--pod", "services-rack0", "--upper")
        return command(action, self.place / "lab.yaml", *place, *more, cwd=self.place)

    def edit(self) -> None:
        """Another time server: one of the stack's devices is to have another tree."""
        text = (self.place / "lab.yaml").read_text()
        edited = text.replace('fff0::123"]', 'fff0::124"]', 1)
        assert edited != text
        (self.place / "lab.yaml").write_text(edited)

    def record(self) -> dict[str, str]:
        """The devices of the last refresh, with what the audit log says of each."""
        entries = [entry for entry in chain.read(self.root / "audit" / "rollouts.jsonl") if entry["event"] == "stack"]
        devices: dict[str, str] = {}
        for entry in entries[-2:]:
            devices |= entry["devices"]
        return devices


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Deployed once; a copy of all that is there stands aside, as the state names absolute paths."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CLUSTERWRIGHT_REASON", "a test")
        site = Site(tmp_path_factory.mktemp("site"))
        shutil.copy(SPEC, site.place / "lab.yaml")
        assert site.run("up").returncode == 0
        shutil.copytree(site.root, site.place / "kept", symlinks=True)
        yield site


@pytest.fixture
def site(deployed: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setenv("CLUSTERWRIGHT_REASON", "a test")
    shutil.rmtree(deployed.root)
    shutil.copytree(deployed.place / "kept", deployed.root, symlinks=True)
    shutil.copy(SPEC, deployed.place / "lab.yaml")
    return deployed


@pytest.mark.parametrize("harm", [flip, remove])
def test_what_the_spec_still_gives_is_made_anew(harm: Callable[[Path], None], site: Site) -> None:
    for path in site.objects:
        harm(path)

    watched = site.run("refresh")

    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert "all 7 devices hold what they were given" in watched.stderr
    assert set(site.record().values()) == {"as given"}


def test_a_device_that_cannot_be_compared_is_neither_well_nor_different(site: Site) -> None:
    site.edit()
    for path in site.objects:
        flip(path)

    watched = site.run("refresh")

    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert "svc-v00n0: not compared, because the object store has lost the deployed files" in watched.stdout
    assert "1 devices were not compared" in watched.stderr
    assert "all 6 devices hold what they were given" in watched.stderr
    assert site.record()["svc-v00n0"] == "not known"
    assert site.run("up", "--yes").returncode == 0  # the advice
    again = site.run("refresh")
    assert again.returncode == 0
    assert "all 7 devices hold what they were given" in again.stderr


@pytest.mark.parametrize("action", ["preview", "up", "destroy"])
def test_other_commands_go_on_as_with_an_empty_store(action: str, site: Site) -> None:
    site.edit()
    for path in site.objects:
        flip(path)

    done = site.run(action, *(() if action == "preview" else ("--yes",)))

    assert done.returncode == 0, done.stdout + done.stderr
    assert "does not hold" not in done.stdout + done.stderr
    if action != "destroy":
        assert "the spec of the last complete update is lost or damaged" in done.stdout + done.stderr


def test_each_object_alone(site: Site) -> None:
    """A listing, a file, a manifest, the kept spec: a refresh and an update of another spec end well without it."""
    kinds: dict[str, Path] = {}
    for path in site.objects:
        content = path.read_bytes()
        try:
            data = json.loads(content)
        except ValueError:
            data = None
        kind = ",".join(sorted(data)) if isinstance(data, dict) else type(data).__name__
        kinds.setdefault(kind, path)
    assert len(kinds) >= 4
    site.edit()
    for path in kinds.values():
        flip(path)
        watched = site.run("refresh")
        assert watched.returncode == 0, watched.stdout + watched.stderr
    assert site.run("up", "--yes").returncode == 0
