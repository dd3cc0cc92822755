"""A spec of a revision, and one that was kept as deployed, bring every file that the spec is read from.

Which keys name files is the schema's to say: a new one fails here until a case names such a file.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright.compare.revision import spec_at
from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.cache import is_of_installation
from clusterwright.deploy.store import Store
from clusterwright.finding import ClusterwrightError
from clusterwright.rollout.deployed import keep_spec, kept_spec
from clusterwright.spec.load import load_spec
from clusterwright.spec.text.source import ABSENT, noting_reads

EXAMPLES = Path(__file__).parents[1] / "rules" / "examples"
INVENTORY = folder("inventory")
FILE_KIND = "strings.schema.json#/$defs/local_file"


@dataclass(frozen=True)
class Case:
    """A spec, ``site/mine.yaml``, and files of the rules' examples by the places that it names them at."""

    spec: str
    files: Mapping[str, str]


def example(text: str, name: str, place: str, base: str = "lab-roce") -> Case:
    return Case(f"extends: {INVENTORY}/{base}.yaml\n{text}", {place: name})


CASES = {
    "cluster extends": Case("version: 1\nextends: ../parts/lab.yaml\nname: mine\n", {"parts/lab.yaml": ""}),
    "cluster hardware": Case(
        f"extends: {INVENTORY}/lab-sonic.yaml\nhardware: [../parts/models.yaml]\n",
        {"parts/models.yaml": "CW180/known-model.yaml", "parts/port_config.ini": "CW180/port_config.ini"},
    ),
    "cluster device_names": example("device_names: ../parts/names.csv\n", "CW233/good.csv", "parts/names.csv"),
    "cluster fabric.guids": example(
        "fabrics: [{name: backend, guids: ../parts/guids.csv}]\n", "CW143/good.csv", "parts/guids.csv", "lab-ib"
    ),
    "cluster fabric.addresses": Case(
        (EXAMPLES / "CW519/good.yaml").read_text().replace("addresses.csv", "../parts/addresses.csv"),
        {"parts/addresses.csv": "CW519/addresses.csv"},
    ),
    "cluster boot.macs": example(
        "boot: {servers: services, fabric: frontend, macs: ../parts/macs.csv}\n", "CW149/good.csv", "parts/macs.csv"
    ),
    "cluster chip_settings.file": example(
        "chip_settings: [{name: minipack2, file: ../parts/fuji.json}]\n", "CW433/fuji.json", "parts/fuji.json"
    ),
    "cluster allocation.from": example(
        "allocation: {from: ../parts/before.yaml}\n", "CW284/good.allocated.yaml", "parts/before.yaml"
    ),
    "hardware model.platform_file": Case(
        f"extends: {INVENTORY}/lab-sonic.yaml\nhardware: [../parts/models.yaml]\n",
        {"parts/models.yaml": "CW180/known-model.yaml", "parts/port_config.ini": "CW180/port_config.ini"},
    ),
    "beside the spec: what is allocated": example(
        "name: lab-roce\n", "CW284/good.allocated.yaml", "site/mine.allocated.yaml"
    ),
    "beside the spec: labels": example("name: lab-roce\n", "CW280/good.overlay.csv", "site/mine.overlay.csv"),
}

READ_LATER = {
    "cluster key_schedule.certificate": "commands about keys read it, beside the key",
    "cluster secret.file": "the provider reads it while it deploys: a repository holds no secrets",
}


def file_keys() -> set[str]:
    """Every key of the schemas of specs and catalogues whose value is a file, as `schema type.key`."""
    keys = set()

    def walk(schema: str, node: object, place: tuple[str, ...]) -> None:
        if isinstance(node, dict):
            if node.get("$ref") == FILE_KIND:
                owner = place[place.index("$defs") + 1] + "." if "$defs" in place else ""
                keys.add(f"{schema} {owner}{place[place.index('properties') + 1]}")
            for key, value in node.items():
                walk(schema, value, (*place, key))
        elif isinstance(node, list):
            for item in node:
                walk(schema, item, place)

    for schema in ("cluster", "hardware"):
        walk(schema, json.loads((INVENTORY / "schema" / f"{schema}.schema.json").read_text()), ())
    return keys


def test_every_key_that_names_a_file_has_a_case() -> None:
    named = {key for key in CASES if not key.startswith("beside")}

    assert named | READ_LATER.keys() == file_keys()


@contextmanager
def in_a_revision(spec: Path) -> Iterator[Path]:
    """The spec at HEAD, when nothing is left of it in the work tree."""
    author = ("-c", "user.name=t", "-c", "user.email=t@t")
    for arguments in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "t"), ("rm", "-rqf", ".")):
        subprocess.run(["git", *arguments], check=True)
    with spec_at("HEAD:site/mine.yaml") as path:
        yield path


@contextmanager
def kept(spec: Path) -> Iterator[Path]:
    """The spec as it was kept, when nothing is left of it."""
    store = Store(Path("objects"))
    digest = keep_spec(store, load_spec(spec))
    shutil.rmtree(spec.parent)
    shutil.rmtree(Path("parts"), ignore_errors=True)
    with kept_spec(store, digest) as path:
        yield path


def own_reads(spec: Path) -> dict[str, frozenset[str]]:
    """What loading ``spec`` reads of its project, from the project's top, with the digests of it."""
    with noting_reads() as noted:
        load_spec(spec)
    top = spec.parents[1]
    return {
        os.path.relpath(os.path.normpath(path), top): digests
        for path, digests in noted.items()
        if not is_of_installation(path) and path.parent != INVENTORY and ABSENT not in digests
    }


@pytest.mark.parametrize("away", [in_a_revision, kept])
@pytest.mark.parametrize("key", CASES)
def test_every_file_is_read_from_there(
    key: str,
    away: Callable[[Path], AbstractContextManager[Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    case = CASES[key]
    for place, name in case.files.items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        shutil.copy(EXAMPLES / name if name else INVENTORY / "lab-ib.yaml", tmp_path / place)
    (tmp_path / "site").mkdir(exist_ok=True)
    spec = tmp_path / "site" / "mine.yaml"
    spec.write_text(case.spec)
    before = own_reads(spec)
    assert case.files.keys() <= before.keys()

    with away(spec) as path:
        assert own_reads(path) == before


def test_links_are_followed_within_the_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "lab.yaml").write_text((INVENTORY / "lab-ib.yaml").read_text())
    (tmp_path / "linked").symlink_to("parts")
    (tmp_path / "site" / "base.yaml").symlink_to("../linked/lab.yaml")
    (tmp_path / "site" / "out.yaml").symlink_to("/etc/passwd")
    spec = tmp_path / "site" / "mine.yaml"
    spec.write_text("version: 1\nextends: base.yaml\nname: mine\n")
    before = own_reads(spec)

    with in_a_revision(spec) as path:
        assert own_reads(path) == before
    with pytest.raises(ClusterwrightError, match="is a link to no file"), spec_at("HEAD:site/out.yaml"):
        pass
