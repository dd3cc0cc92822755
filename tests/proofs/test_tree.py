"""Rendered trees on disk: nothing is judged that differs from its manifest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.platforms.plans import plan_of
from tests.proofs.trees import FABRIC, artifacts_of, managers_of, text_of

from clusterwright.output.tree import write_tree
from clusterwright.proofs.declaration import declaration_of
from clusterwright.proofs.folder import TreeMismatch, read_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    out = tmp_path / "tree"
    write_tree(artifacts_of("lab-ib"), out, "lab-ib")
    return out


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
    declaration = declaration_of(plan_of("lab-ib"))
    (partition,) = declaration.partitions
    assert (partition.pkey, len(partition.members), set(partition.members.values())) == (1, 128, {"full"})
    assert declaration.fabric_with(list(partition.members)[:3]) == "backend"
    assert declaration.fabric_with([1]) is None
    assert declaration.shares == {"backend": 1}
    assert declaration.open_default == frozenset()
