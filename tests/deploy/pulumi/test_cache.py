"""A stack that was rendered before is not rendered again, unless anything that goes into it differs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi import cache
from clusterwright.deploy.pulumi.cache import TargetLayer, installation_digest, recall
from clusterwright.deploy.pulumi.manifest import Manifest
from clusterwright.deploy.pulumi.rendering import Source, make_manifests
from clusterwright.deploy.pulumi.units import choose, cut
from clusterwright.deploy.targets import ANSIBLE, DIRECTORY, TargetSettings
from clusterwright.keys.ledger import Ledger, Version, write_ledger
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec
from clusterwright.spec.text.source import noting_reads


class Rendered:
    """The first pod of the small cluster, rendered from a spec on top of a base, with a hardware file of its own."""

    def __init__(self, place: Path) -> None:
        self.spec, self.base, self.models = (place / name for name in ("spec.yaml", "base.yaml", "models.yaml"))
        shutil.copy(folder("inventory") / "lab-roce.yaml", self.base)
        known = yaml.safe_load((folder("inventory") / "hardware" / "storage.yaml").read_text())
        model = {**known["models"][0], "name": "a-model-of-our-own"}
        self.models.write_text(yaml.safe_dump({**known, "models": [model]}))
        self.spec.write_text("extends: base.yaml\nhardware: [models.yaml]\n")
        self.question = TargetLayer(self.spec, "pod0", TargetSettings(DIRECTORY, place / "up"))
        self.manifest = self.make()

    def make(self) -> Manifest:
        with noting_reads() as read:
            plan = build_plan(load_spec(self.spec))
        (stack,) = choose(cut(plan), [self.question.layer])
        return make_manifests(plan, self.question.target, [stack], Source(self.spec, read))[stack.name]


@pytest.fixture
def rendered(tmp_path: Path) -> Rendered:
    return Rendered(tmp_path)


def test_renders_once(rendered: Rendered, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("rendered again")

    monkeypatch.setattr(Rendering, "of_devices", refuse)
    assert recall(rendered.question) == rendered.manifest
    assert rendered.make() == rendered.manifest


def _appended(name: str) -> Callable[[Rendered], object]:
    def append(rendered: Rendered) -> None:
        file: Path = getattr(rendered, name)
        file.write_text(file.read_text() + "# a comment\n")

    return append


def _object_gone(rendered: Rendered) -> None:
    store = rendered.question.target.root / "objects"
    tree = next(iter(rendered.manifest.trees.values()))
    file = json.loads((store / tree[:2] / tree[2:]).read_bytes())[0]["sha256"]
    (store / file[:2] / file[2:]).unlink()


def _manifest_damaged(rendered: Rendered) -> None:
    digest = rendered.manifest.digest
    file = rendered.question.target.root / "objects" / digest[:2] / digest[2:]
    file.write_bytes(file.read_bytes().replace(b"pod0", b"pod1", 1))


def _note_torn(rendered: Rendered) -> None:
    note = rendered.question.note
    note.write_bytes(note.read_bytes()[:-20])


def _note_names_another(rendered: Rendered) -> None:
    note = rendered.question.note
    note.write_text(note.read_text().replace(rendered.manifest.digest, "0" * 64))


def _note_of_another_layer(rendered: Rendered) -> None:
    other = replace(rendered.question, layer="pod1")
    shutil.copy(rendered.question.note, other.note)
    rendered.question = other


@pytest.mark.parametrize(
    "change",
    [
        _appended("spec"),
        _appended("base"),
        _appended("models"),
        lambda rendered: rendered.models.unlink(),
        _object_gone,
        _manifest_damaged,
        _note_torn,
        _note_names_another,
        _note_of_another_layer,
    ],
)
def test_does_not_believe_what_changed(rendered: Rendered, change: Callable[[Rendered], object]) -> None:
    assert recall(rendered.question) is not None
    change(rendered)
    assert recall(rendered.question) is None


def test_counts_what_was_read_and_not_what_is_there_now(rendered: Rendered) -> None:
    with noting_reads() as read:
        load_spec(rendered.spec)
    _appended("base")(rendered)
    assert recall(rendered.question, read) == rendered.manifest
    assert recall(rendered.question) is None


def test_notes_nothing_of_a_file_that_changed_while_it_was_read(rendered: Rendered) -> None:
    rendered.question.note.unlink()
    with noting_reads() as read:
        load_spec(rendered.spec)
        _appended("base")(rendered)
        load_spec(rendered.spec)
    cache.remember(rendered.question, read, rendered.manifest)
    assert not rendered.question.note.exists()


def test_tells_targets_and_their_access_files_apart(rendered: Rendered, tmp_path: Path) -> None:
    access = tmp_path / "access.yaml"
    access.write_text("addresses: {}\n")
    target = TargetSettings(ANSIBLE, rendered.question.target.root, access)
    question = replace(rendered.question, target=target)
    assert recall(question) is None
    with noting_reads() as read:
        load_spec(rendered.spec)
    cache.remember(question, read, rendered.manifest)
    assert recall(question) == rendered.manifest
    access.write_text("addresses: {a: 1.2.3.4}\n")
    assert recall(question) is None


def test_the_installation_is_its_files_python_and_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "clusterwright"
    package.mkdir()
    (package / "module.py").write_text("WIDTH = 1\n")
    template = tmp_path / "templates" / "eos.j2"
    template.parent.mkdir()
    template.write_text("mtu 9000\n")
    monkeypatch.setattr(cache, "_PACKAGE", package)
    monkeypatch.setattr(cache, "_data_folder", lambda name: tmp_path / name)
    seen = [installation_digest()]
    (package / "module.py").write_text("WIDTH = 2\n")
    seen.append(installation_digest())
    template.write_text("mtu 9001\n")
    seen.append(installation_digest())
    template.rename(template.with_name("fboss.j2"))
    seen.append(installation_digest())
    monkeypatch.setattr(sys, "version", "3.99")
    seen.append(installation_digest())
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.0" if name == "jinja2" else version(name))
    seen.append(installation_digest())
    assert len(set(seen)) == len(seen)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "module.pyc").write_bytes(b"whatever")
    assert installation_digest() == seen[-1]


READING = """
import sys
from pathlib import Path

opened = set()
sys.addaudithook(lambda event, given: opened.add(given) if event == "open" and isinstance(given[0], str) else None)

from clusterwright.deploy.pulumi import cache
from clusterwright.deploy.pulumi.rendering import make_manifests
from clusterwright.deploy.targets import TargetSettings
from clusterwright.deploy.pulumi.units import cut
from clusterwright.plan.build import build_plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec
from clusterwright.spec.text.source import noting_reads

spec, root = Path(sys.argv[1]), Path(sys.argv[2])
with noting_reads() as read:
    lint_path(spec)
    plan = build_plan(load_spec(spec))
make_manifests(plan, TargetSettings("directory", root), cut(plan))
covered = [cache._PACKAGE, *map(cache._data_folder, cache._FOLDERS), root, Path("/proc"), Path("/dev")]
covered += [Path(place) for place in {sys.prefix, sys.base_prefix, *filter(None, sys.path)}]
own = cache._PACKAGE.parent
for name in sorted({Path(given[0]).absolute() for given in opened}):
    if name not in read and not any(name.is_relative_to(place) for place in covered if place not in own.parents):
        print(name)
"""


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib"])
def test_nothing_else_goes_in(tmp_path: Path, name: str) -> None:
    """Every file that is opened on the way from a spec to its manifests is one that a note is compared by."""
    spec = folder("inventory") / f"{name}.yaml"
    done = subprocess.run(
        [sys.executable, "-c", READING, str(spec), str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""


def test_does_not_believe_another_version_of_a_secret(tmp_path: Path) -> None:
    """The files that say versions lie beside the spec: a list of its own, and the ledger of scheduled keys."""
    rendered = Rendered(tmp_path)
    listed = tmp_path / "secrets.yaml"
    listed.write_text(
        "secrets: [{name: one, source: environment, version: 1}, {name: two, source: keys, file: keys}]\n"
    )
    rendered.question = replace(rendered.question, target=replace(rendered.question.target, secrets=listed))
    assert recall(rendered.question) is None
    rendered.make()
    assert recall(rendered.question) is not None
    (tmp_path / "keys").mkdir()
    write_ledger(tmp_path / "keys" / "ledger.json", Ledger({"two": (Version(1, date(2026, 1, 1), "wrapped", 1),)}))
    assert recall(rendered.question) is None
    rendered.make()
    assert recall(rendered.question) is not None
    listed.write_text(listed.read_text().replace("version: 1", "version: 2"))
    assert recall(rendered.question) is None
