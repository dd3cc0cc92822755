"""What changes of rendered files do to their devices: examples from the lab's own trees."""

from __future__ import annotations

import json
from functools import cache

import pytest

from clusterwright.artifact import Artifact
from clusterwright.data_files import folder
from clusterwright.deploy.target import DeviceTree
from clusterwright.output.engine import render_devices
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.platforms.effect import Effect
from clusterwright.rollout.prepare import effect_of
from clusterwright.spec.load import load_spec


@cache
def lab(name: str) -> Plan:
    return build_plan(load_spec(folder("inventory") / f"{name}.yaml"))


def tree(name: str, device: str) -> DeviceTree:
    return tuple(render_devices(lab(name), [device]))


def edited(trees: DeviceTree, path: str, old: str, new: str) -> DeviceTree:
    """The tree with ``old`` replaced by ``new`` in one file, which must hold it."""
    before = next(artifact for artifact in trees if artifact.path == path)
    assert old.encode() in before.content, f"{old!r} is not in {path}"
    after = Artifact(before.device, path, before.content.replace(old.encode(), new.encode()), before.kind)
    return tuple(after if artifact is before else artifact for artifact in trees)


@pytest.mark.parametrize(
    ("spec", "device", "path", "old", "new", "effect"),
    [
        ("lab-roce", "gpu-p00r00n0", "etc/sysctl.d/90-clusterwright.conf", "=", " =", Effect.LIVE),
        ("lab-roce", "gpu-p00r00n0", "etc/default/grub.d/90-clusterwright.cfg", "iommu", "intel_iommu", Effect.REBOOT),
        ("lab-roce", "gpu-p00r00n0", "etc/systemd/network/10-be0.link", "be0", "rail0", Effect.REBOOT),
        ("lab-roce", "gpu-p00r00n0", "etc/systemd/network/20-be0.network", "be0", "rail0", Effect.LIVE),
        ("lab-roce", "ctsw-p00-00", "mnt/flash/startup-config", "ntp server", "ntp server vrf x", Effect.LIVE),
        ("lab-roce", "ctsw-p00-00", "mnt/flash/startup-config", "maximum-paths", "maximum-paths 1 !", Effect.RESTART),
        ("lab-roce", "rtsw-p00r00", "etc/chrony.conf", "server", "pool", Effect.LIVE),
        ("lab-roce", "rtsw-p00r00", "etc/coop/agent.conf", "9000", "9001", Effect.RESTART),
        ("lab-sonic", "rtsw-p00r00", "etc/sonic/config_db.json", "9", "8", Effect.RESTART),
    ],
)
def test_a_change_is_as_mild_as_its_file_allows(
    spec: str, device: str, path: str, old: str, new: str, effect: Effect
) -> None:
    before = tree(spec, device)

    assert effect_of(lab(spec).by_name[device], before, edited(before, path, old, new)) is effect


def test_equal_trees_are_no_change() -> None:
    device = lab("lab-roce").by_name["ctsw-p00-00"]

    assert effect_of(device, tree("lab-roce", device.name), tree("lab-roce", device.name)) is None


def test_a_file_that_goes_away_counts_as_a_change() -> None:
    before = tree("lab-roce", "rtsw-p00r00")
    after = tuple(artifact for artifact in before if artifact.path != "etc/coop/agent.conf")

    assert effect_of(lab("lab-roce").by_name["rtsw-p00r00"], before, after) is Effect.RESTART


def test_another_image_is_a_reboot_and_another_limit_of_the_node_check_is_none() -> None:
    device = lab("lab-roce").by_name["gpu-p00r00n0"]
    before = tree("lab-roce", device.name)
    file = next(artifact for artifact in before if artifact.path == "etc/clusterwright/health.json")
    booted = json.loads(file.content)["image"]["boot_digest"]

    assert effect_of(device, before, edited(before, file.path, booted, "0" * len(booted))) is Effect.REBOOT
    assert effect_of(device, before, edited(before, file.path, '"limits"', '"limits" ')) is Effect.LIVE
