"""What changes of rendered files do to their devices: examples from the lab's own trees."""

from __future__ import annotations

import difflib
import json
from functools import cache

import pytest

from clusterwright.artifact import Artifact
from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.changes import changed_lines
from clusterwright.deploy.target import DeviceTree, Outcome, Status
from clusterwright.device_files.effect import Effect
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rollout.consequences import consequences_of, effect_of
from clusterwright.rollout.disturbance import disturbance
from clusterwright.rollout.drifted import running_tree
from clusterwright.rollout.preview.text import job_phrases
from clusterwright.rollout.running_jobs import RunningJob
from clusterwright.spec.load import load_spec


@cache
def lab(name: str) -> Plan:
    return build_plan(load_spec(folder("inventory") / f"{name}.yaml"))


def tree(name: str, device: str) -> DeviceTree:
    return tuple(Rendering(lab(name)).of_devices([device]))


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
        ("lab-roce", "gpu-p00r00n0", "etc/systemd/network/20-be0.network", "be0", "rail0", Effect.RESTART),
        ("lab-roce", "gpu-p00r00n0", "etc/systemd/network/20-be0.network", "b::3/127", "b::5/127", Effect.RESTART),
        (
            "lab-roce",
            "gpu-p00r00n0",
            "etc/systemd/network/20-be0.network",
            "MTUBytes=9000",
            "MTUBytes=1500",
            Effect.RESTART,
        ),
        ("lab-roce", "gpu-p00r00n0", "etc/systemd/network/20-be0.network", "LLDP=yes", "LLDP=no", Effect.LIVE),
        ("lab-roce", "gpu-p00r00n0", "etc/systemd/network/20-fe0.network", "Metric=200", "Metric=300", Effect.LIVE),
        ("lab-roce", "gpu-p00r00n0", "etc/systemd/network/20-fe0.network", "# Written", "# written", Effect.LIVE),
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


@pytest.mark.parametrize(
    ("spec", "device", "path", "old", "new", "does"),
    [
        ("lab-roce", "ctsw-p00-00", "mnt/flash/startup-config", "qos map dscp", "qos map dscp 9", "classified"),
        (
            "lab-roce",
            "ctsw-p00-00",
            "mnt/flash/startup-config",
            "description to rtsw",
            "description to x",
            "description",
        ),
        ("lab-roce", "rtsw-p00r00", "etc/coop/agent.conf", '"description": "', '"description": "x', "description"),
        (
            "lab-roce",
            "ctsw-p00-00",
            "mnt/flash/startup-config",
            "ip address 10.99.",
            "ip address 10.98.",
            "over which the switch is reached",
        ),
        ("lab-ib", "gpu-s00r00n0", "etc/opensm/root_guids.conf", "0x", "0x1", "opensm restarts"),
        ("lab-ib", "gpu-s00r00n0", "etc/opensm/opensm.conf", "ftree", "updn", "opensm restarts"),
        ("lab-ib", "gpu-s00r00n0", "etc/opensm/opensm.conf", "sweep_interval", "sweep_interval 1", "after a HUP"),
        ("lab-roce", "svc-v00n0", "etc/slurm/slurm.conf", "State=UNKNOWN", "State=DRAIN", "drains and resumes nodes"),
    ],
)
def test_what_restarts_nobody_is_live_and_says_what_it_does(
    spec: str, device: str, path: str, old: str, new: str, does: str
) -> None:
    before = tree(spec, device)
    after = edited(before, path, old, new)

    assert effect_of(lab(spec).by_name[device], before, after) is Effect.LIVE
    assert any(does in each.does for each in consequences_of(lab(spec).by_name[device], before, after))


def test_another_mount_waits_for_a_boot() -> None:
    device = lab("lab-roce").by_name["gpu-p00r00n0"]
    before = tree("lab-roce", device.name)

    after = edited(before, "etc/systemd/system/home.mount", "nfs", "nfs2")

    assert effect_of(device, before, after) is Effect.REBOOT


@pytest.mark.parametrize("name", ["over SSH", "a directory"])
def test_one_line_that_drifted_counts_as_that_line(name: str) -> None:
    """The answer to a trial says which lines differ; the file that runs is made of it."""
    device = lab("lab-roce").by_name["ctsw-p00-00"]
    path = "mnt/flash/startup-config"
    wanted = tuple(item for item in tree("lab-roce", device.name) if item.path == path)
    runs = edited(wanted, path, "logging vrf MGMT host 10.99.240.14", "logging vrf MGMT host 10.99.240.99")
    if name == "over SSH":
        old, new = (item.content.decode().splitlines() for item in (*runs, *wanted))
        diff = "\n".join(difflib.unified_diff(old, new, "running-config", "session-config", lineterm=""))
    else:
        diff = "\n".join(changed_lines(runs, wanted))

    found = running_tree(wanted, Outcome(Status.APPLIED, (path,), diff=diff))

    assert found[0].content == runs[0].content
    assert effect_of(device, found, wanted) is Effect.LIVE


def test_what_an_answer_does_not_tell_is_a_restart() -> None:
    device = lab("lab-roce").by_name["ctsw-p00-00"]
    path = "mnt/flash/startup-config"
    wanted = tuple(item for item in tree("lab-roce", device.name) if item.path == path)

    for diff in ("", "~ mnt/flash/startup-config\n  @@ -1,1 +1,1 @@\n  -a line\n  +of no such file\n"):
        found = running_tree(wanted, Outcome(Status.APPLIED, (path,), diff=diff))
        assert effect_of(device, found, wanted) is Effect.RESTART


def test_a_job_on_a_node_whose_interface_is_set_up_anew_is_named() -> None:
    plan = lab("lab-roce")
    job = RunningJob("101 (small)", frozenset({"gpu-p00r00n0", "gpu-p00r00n1"}), is_planned=False)
    effects = {"gpu-p00r00n0": Effect.RESTART, "gpu-p00r00n1": Effect.LIVE}

    (impact,) = disturbance((plan, plan), (), effects, jobs=(job,), notes=(), first=1).jobs

    words = "1 of 2 nodes lose connections: interfaces are configured again (gpu-p00r00n0)"
    assert list(job_phrases(impact)) == [words]
