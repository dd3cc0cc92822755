"""A tree that tells once what devices have in common: what one has alone lies over it, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tests.plans import plan_of, plan_with

from clusterwright import data_files
from clusterwright.artifact import Artifact
from clusterwright.cli.main import cli
from clusterwright.intent.device_kind import SwitchKind, device_kind, kind_of
from clusterwright.output.rendering import GroupImage, Rendering
from clusterwright.output.tree import TreeError, write_tree
from clusterwright.output.workers import render_tree
from clusterwright.plan.model import Plan

LABS = ("lab-border", "lab-ib", "lab-nvue", "lab-roce", "lab-sonic")
TRIED = """exceptions:
  - {device: gpu-p00r00n1, image: other, reason: "tried out"}
"""


def other_image(**keys: object) -> str:
    """An overlay with lab-roce's image once more, called ``other`` and with other ``keys``."""
    spec = yaml.safe_load((data_files.folder("inventory") / "lab-roce.yaml").read_text())
    return yaml.safe_dump({"images": [spec["images"][0] | {"name": "other"} | keys]})


def merged(plan: Plan, device: str, images: tuple[GroupImage, ...]) -> dict[str, tuple[bytes, int, str]]:
    """What a device has by the layered tree: its own files over those of its image."""
    shared = [file for image in images if device in image.members for file in image.files]
    every = (*shared, *Rendering(plan).of_device_alone(device))
    return {file.path: (file.content, file.mode, file.kind) for file in every}


@pytest.mark.parametrize("name", LABS)
def test_own_files_over_those_of_the_image_are_all_files(name: str) -> None:
    plan = plan_of(name)
    images = Rendering(plan).images()
    for device in plan.devices:
        whole = {file.path: (file.content, file.mode, file.kind) for file in Rendering(plan).of_device(device.name)}
        assert merged(plan, device.name, images) == whole, device.name


@pytest.mark.parametrize("name", ["lab-ib", "lab-roce", "roce-24k"])
def test_a_node_has_what_is_its_own_and_its_image_the_rest(name: str) -> None:
    plan = plan_of(name)
    image = next(image for image in Rendering(plan).images() if image.owner == "image/compute")
    own = Rendering(plan).of_device_alone(image.members[-1])
    assert len(own) <= 20
    assert len(image.files) > 3 * len(own)
    assert not {file.path for file in own} & {file.path for file in image.files}
    assert {file.path for file in own} >= {"etc/hostname", "etc/hosts", "etc/clusterwright/health-node.json"}


@pytest.mark.parametrize("name", ["ib-24k", "roce-24k", "rsc"])
def test_no_node_has_as_its_own_what_all_of_its_image_have(name: str) -> None:
    plan = plan_of(name)
    image = next(image for image in Rendering(plan).images() if image.owner == "image/compute")
    members = image.members[:: len(image.members) // 20]
    texts: dict[str, list[bytes]] = {}
    for member in members:
        for file in Rendering(plan).of_device_alone(member):
            texts.setdefault(file.path, []).append(file.content)
    assert not [path for path, own in texts.items() if len(own) == len(members) and len(set(own)) == 1]


@pytest.mark.parametrize(("name", "system", "most"), [("lab-roce", "fboss", 5), ("lab-sonic", "sonic", 1)])
def test_a_switch_has_what_is_its_own_and_its_system_the_rest(name: str, system: str, most: int) -> None:
    plan = plan_of(name)
    image = next(image for image in Rendering(plan).images() if image.owner == f"switch/{system}")
    every = [device.name for device in plan.devices if plan.spec.catalogue[device.model].network_os == system]
    assert list(image.members) == every
    for member in image.members:
        own = Rendering(plan).of_device_alone(member)
        assert len(own) <= most < len(image.files)
        assert not {file.path for file in own} & {file.path for file in image.files}


def test_what_one_node_has_otherwise_is_its_own(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", other_image(sysctl={"vm.zone_reclaim_mode": 1}) + TRIED)
    usual = {file.path: file.content for image in Rendering(plan_of("lab-roce")).images() for file in image.files}
    image, switches = Rendering(plan).images()
    assert {file.path: file.content for file in (*image.files, *switches.files)} == usual
    for device in ("gpu-p00r00n0", "gpu-p00r00n1"):
        whole = {file.path: (file.content, file.mode, file.kind) for file in Rendering(plan).of_device(device)}
        assert merged(plan, device, (image,)) == whole
        own = {file.path: file for file in Rendering(plan).of_device_alone(device)}
        assert ("etc/sysctl.d/90-clusterwright.conf" in own) is (device == "gpu-p00r00n1")
        assert len(own) < 25


def test_a_node_without_some_file_of_its_group_takes_no_image(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", other_image(users=[]) + TRIED)
    image, _ = Rendering(plan).images()
    assert "gpu-p00r00n1" not in image.members
    assert Rendering(plan).of_device_alone("gpu-p00r00n1") == Rendering(plan).of_device("gpu-p00r00n1")


def test_nodes_of_a_second_kind_have_an_image_of_their_own(tmp_path: Path) -> None:
    second = TRIED.partition("\n")[2].replace("gpu-p00r00n1", "gpu-p00r01n0")
    plan = plan_with(tmp_path, "lab-roce", other_image() + TRIED + second)
    members = {image.owner: image.members for image in Rendering(plan).images()}
    assert members["image/compute.gpu-p00r00n1"] == ("gpu-p00r00n1", "gpu-p00r01n0")
    assert len(members["image/compute"]) == 6


def test_a_merged_tree_has_every_file_of_every_device(tmp_path: Path) -> None:
    spec = data_files.folder("inventory") / "lab-roce.yaml"
    run = CliRunner().invoke(
        cli, ["render", str(spec), "--out", str(tmp_path / "out"), "--merged"], standalone_mode=False
    )
    assert run.return_value == 0, run.output
    expected = {f"{file.device}/{file.path}": file.content for file in Rendering(plan_of("lab-roce")).of_devices()}
    out = tmp_path / "out"
    written = {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file()}
    manifest = json.loads(written.pop("manifest.json"))
    assert written == expected
    assert manifest["groups"] == {}
    assert {f"{row['device']}/{row['path']}" for row in manifest["artifacts"]} == expected.keys()


def test_the_manifest_says_who_takes_what_is_shared(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    render_tree(plan, [device.name for device in plan.devices], tmp_path / "out")
    manifest = json.loads((tmp_path / "out/manifest.json").read_bytes())
    nodes = [device.name for device in plan.devices if device.node_group == "compute"]
    switches = [device.name for device in plan.devices if device.name.startswith(("rtsw-", "rsw-"))]
    assert manifest["groups"] == {"image/compute": nodes, "switch/fboss": switches}
    shared = [row for row in manifest["artifacts"] if row["device"] in manifest["groups"]]
    assert len(shared) > 70
    for row in shared:
        assert (tmp_path / "out" / row["device"] / row["path"]).stat().st_size == row["size"]


def test_a_choice_of_devices_is_said_to_be_one(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    render_tree(plan, ["gpu-p01r00n0"], tmp_path / "out")
    manifest = json.loads((tmp_path / "out/manifest.json").read_bytes())
    assert manifest["groups"] == {"image/compute": ["gpu-p01r00n0"]}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"image", "gpu-p01r00n0", "manifest.json"}


def test_a_pod_can_be_rendered_alone(tmp_path: Path) -> None:
    spec = data_files.folder("inventory") / "lab-roce.yaml"
    run = CliRunner().invoke(
        cli, ["render", str(spec), "--out", str(tmp_path / "out"), "--pod", "p01"], standalone_mode=False
    )
    assert run.return_value == 0, run.output
    names = {path.name for path in (tmp_path / "out").iterdir()} - {"image", "switch", "manifest.json"}
    assert names == {device.name for device in plan_of("lab-roce").devices if device.pod == "p01"}
    run = CliRunner().invoke(
        cli, ["render", str(spec), "--out", str(tmp_path / "out"), "--pod", "p07"], standalone_mode=False
    )
    assert "there is no layer 'p07'; this cluster has upper, pod0, pod1" in str(run.exception)


@pytest.mark.parametrize("device", ["image", "switch", "image/..", "switch/a/b", "other/a", "image/"])
def test_no_device_can_stand_in_the_place_of_an_image(tmp_path: Path, device: str) -> None:
    with pytest.raises(TreeError, match="outside the device's folder"):
        write_tree((Artifact(device, "etc/a", b"", "test"),), tmp_path / "out", "lab")


def test_nodes_of_a_kind_are_cabled_alike_whatever_their_switches_are_called() -> None:
    plan = plan_of("lab-roce")
    kinds = {kind_of(plan, device) for device in plan.devices if device.node_group == "compute"}
    assert len(kinds) == 1
    (switches,) = {device_kind(plan, device) for device in plan.devices if device.name.startswith("rtsw")}
    assert switches == SwitchKind("fboss", "management")
    with pytest.raises(ValueError, match="runs no image"):
        kind_of(plan, plan.by_name["rtsw-p00r00"])
