"""Rendered trees on disk: nothing is judged that differs from its manifest."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plans import plan_of
from tests.proofs.trees import FABRIC, artifacts_of, managers_of, text_of

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.output.tree import write_tree
from clusterwright.output.workers import render_tree
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.files import FILES
from clusterwright.proofs.folder import TreeMismatch, read_folder
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.tree import RenderedTree, rendering_of, tree_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    out = tmp_path / "tree"
    write_tree(artifacts_of("lab-ib"), out, "lab-ib")
    return out


def test_a_tree_in_parts_has_every_file_once() -> None:
    whole = tree_of("lab-ib", artifacts_of("lab-ib"))
    chosen = [device for device in sorted({device for device, _ in whole.files}) if "leaf" in device]
    parts = list(whole.in_parts(chosen, 2))
    assert len(parts) == -(-len(chosen) // 2) + 1
    assert [place for part in parts for place in part.files] == sorted(
        whole.files, key=lambda place: (place[0] not in chosen, place[0] if place[0] in chosen else "")
    )
    assert {device for device, _ in parts[-1].files}.isdisjoint(chosen)
    assert all(part.text(*place) == whole.text(*place) for part in parts for place in part.files)


def test_a_text_in_memory_is_that_of_the_bytes_which_are_written() -> None:
    plan = plan_of("lab-roce")
    tree = tree_of(plan.name, Rendering(plan).of_devices())
    written = {(artifact.device, artifact.path): artifact for artifact in Rendering(plan).of_devices()}
    assert any(not isinstance(artifact.source, bytes) for artifact in written.values())
    for _ in range(2):  # a long text is made anew for each who asks
        assert all(
            tree.text(*place) == artifact.content.decode("utf-8", "replace") for place, artifact in written.items()
        )


def test_artifacts_are_compared_by_content_whoever_makes_it() -> None:
    asked: list[str] = []

    def text() -> str:
        asked.append("text")
        return "ä\n"

    ready, made = Artifact("a", "etc/b", "ä\n".encode(), "c"), Artifact("a", "etc/b", text, "c")
    assert not asked
    assert (made, hash(made), made.sha256) == (ready, hash(ready), ready.sha256)
    assert asked == ["text"], "the bytes are made once"
    assert made != Artifact("a", "etc/b", b"", "c") != Artifact("a", "etc/b", b"", "c", 0o600)


def test_a_folder_reads_as_it_was_rendered(folder: Path) -> None:
    found = read_folder(folder)
    assert found.cluster == "lab-ib"
    assert found.declaration is None
    assert found.devices_with(FABRIC) == tuple(managers_of("lab-ib"))
    assert found.text(managers_of("lab-ib")[0], FABRIC) == text_of("lab-ib", FABRIC)
    assert set(found.files) == {(artifact.device, artifact.path) for artifact in artifacts_of("lab-ib")}


def test_only_the_kinds_that_are_asked_for(folder: Path) -> None:
    assert {file.path for file in read_folder(folder, {"opensm-fabric"}).files.values()} == {FABRIC}


def test_a_changed_file_is_named_even_when_no_check_reads_it(folder: Path) -> None:
    path = folder / managers_of("lab-ib")[1] / "etc/opensm/partitions.conf"
    text = path.read_text()
    path.unlink()  # equal files of several devices may be one file on disk
    path.write_text(text + "\n")
    with pytest.raises(TreeMismatch, match=f"{path}: differs"):
        read_folder(folder, {"opensm-fabric"})


def test_a_missing_file_is_named(folder: Path) -> None:
    path = folder / managers_of("lab-ib")[0] / FABRIC
    path.unlink()
    with pytest.raises(TreeMismatch, match=f"{path}: No such file"):
        read_folder(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"artifacts": [1]}', '{"artifacts": [], "cluster": 3}'])
def test_a_folder_without_a_manifest_of_ours(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    with pytest.raises(TreeMismatch, match="no manifest of a rendered tree"):
        read_folder(folder)


def test_a_manifest_that_leads_out_of_the_folder(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["artifacts"][0]["path"] = "../../manifest.json"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(TreeMismatch, match="outside the folder"):
        read_folder(folder)


def test_intent_names_the_fabric_of_its_ports() -> None:
    declaration = Declaration(plan_of("lab-ib"))
    (partition,) = declaration.partitions
    assert (partition.pkey, len(partition.members), set(partition.members.values())) == (1, 128, {"full"})
    assert declaration.fabric_with(list(partition.members)[:3]) == "backend"
    assert declaration.fabric_with([1]) is None
    assert declaration.shares == {"backend": 1}
    assert declaration.open_default == frozenset()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan = plan_of("lab-roce")
    out = tmp_path_factory.mktemp("whole") / "tree"
    render_tree(plan, [device.name for device in plan.devices], out)
    return out


@pytest.fixture
def layered(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "tree")


def change(folder: Path, edit: Callable[[Any], object]) -> None:
    document = json.loads((folder / "manifest.json").read_text())
    edit(document)
    (folder / "manifest.json").write_text(json.dumps(document))


def test_what_is_shared_is_read_as_every_device_s_that_takes_it(layered: Path) -> None:
    found = read_folder(layered)
    rendered = tree_of("lab-roce", Rendering(plan_of("lab-roce")).of_devices())
    assert set(found.files) == set(rendered.files)
    assert len(found.files) == len(rendered.files)
    texts = [place for place in rendered.files if place[1].startswith("etc/")]
    assert all(found.text(*place) == rendered.text(*place) for place in texts)
    filters = {id(found.files[node, "etc/nftables.conf"]) for node in found.devices_with("etc/nftables.conf")}
    assert len(filters) == 1
    assert ("gpu-p00r00n0", "etc/none") not in found.files
    assert ("none", "etc/nftables.conf") not in found.files


def test_a_changed_shared_file_is_named(layered: Path) -> None:
    (layered / "image/compute/etc/nftables.conf").unlink()
    (layered / "image/compute/etc/nftables.conf").write_text("flush ruleset\n")
    with pytest.raises(TreeMismatch, match=r"image/compute/etc/nftables\.conf: differs from the digest"):
        read_folder(layered)


def test_a_shared_file_that_is_not_listed_is_named(layered: Path) -> None:
    (layered / "image/compute/etc/more.conf").write_text("more\n")
    with pytest.raises(TreeMismatch, match=r"image/compute/etc/more\.conf: manifest\.json does not list it"):
        read_folder(layered)


def test_an_own_file_lies_over_the_shared_one(layered: Path) -> None:
    content = b"flush ruleset\n"
    (layered / "gpu-p00r00n0/etc/nftables.conf").write_bytes(content)
    row = {"device": "gpu-p00r00n0", "path": "etc/nftables.conf", "kind": "nftables", "mode": "0644", "size": 14}
    digest = hashlib.sha256(content).hexdigest()
    change(layered, lambda document: document["artifacts"].append({**row, "sha256": digest}))
    found = read_folder(layered)
    assert found.text("gpu-p00r00n0", "etc/nftables.conf") == content.decode()
    assert found.text("gpu-p00r00n1", "etc/nftables.conf") != content.decode()
    assert len(set(found.files)) == len(found.files)
    verdict = ISOLATION.run(RenderedTree(found.cluster, found.files, Declaration(plan_of("lab-roce"))))
    assert {example.device for example in verdict.counterexamples} == {"gpu-p00r00n0"}


def test_a_device_that_is_left_out_of_its_group_lacks_the_files(layered: Path) -> None:
    change(layered, lambda document: document["groups"]["image/compute"].remove("gpu-p01r01n1"))
    plan = plan_of("lab-roce")
    rendering = rendering_of(plan.name, Rendering(plan).of_devices(), plan.by_name, kinds={"nftables"})
    found = read_folder(layered, None, Declaration(plan), rendering)
    assert {device for device, _ in found.lacking} == {"gpu-p01r01n1"}
    assert {example.device for example in FILES.run(found).counterexamples} == {"gpu-p01r01n1"}


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda doc: doc.pop("groups"), "no manifest of a rendered tree"),
        (lambda doc: doc.update(groups=["image/compute"]), "no manifest of a rendered tree"),
        (lambda doc: doc["groups"].update({"image/compute": "gpu-p00r00n0"}), "no manifest of a rendered tree"),
        (lambda doc: doc["groups"].update({"image/compute": [7]}), "no manifest of a rendered tree"),
        (lambda doc: doc["groups"].update({"image/more": ["gpu-p00r00n0"]}), "gpu-p00r00n0 takes more than one image"),
        (lambda doc: doc["groups"]["image/compute"].append("gpu-p00r00n0"), "gpu-p00r00n0 takes more than one image"),
        (lambda doc: doc["groups"].update({"rtsw-p00r00": ["sw-0"]}), "rtsw-p00r00 is no folder of an image"),
        (lambda doc: doc["groups"].update({"image/../x": []}), r"image/\.\./x is no folder of an image"),
        (lambda doc: doc["groups"].pop("image/compute"), "image/compute is no folder of an image"),
    ],
)
def test_a_manifest_with_odd_groups_is_refused(layered: Path, edit: Callable[[Any], object], why: str) -> None:
    change(layered, edit)
    with pytest.raises(TreeMismatch, match=why):
        read_folder(layered)
