"""Changed units of nodes: what runs is the old state, until the role brings it about or the node boots."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from os.path import normpath
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.ansible.test_fleet import target_for
from tests.lab.sshfleet import SshFleet
from tests.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.data_files import folder
from clusterwright.deploy.store import Store
from clusterwright.deploy.target import DeviceTree, Status
from clusterwright.device_files.effect import Effect
from clusterwright.hosts.linux.effects import on_node
from clusterwright.output.rendering import Rendering
from clusterwright.rollout.device_history import DeviceEvent
from clusterwright.rollout.visit.boots import owed_boot

NODE = "gpu-p00r00n0"
LABS = ("lab-roce", "lab-ib", "lab-tenants", "lab-sonic")
DEFAULTS = yaml.safe_load((folder("roles") / "device_tree/defaults/main.yml").read_text())
STEPS: list[dict[str, Any]] = DEFAULTS["device_tree_switch_overs"]
KEPT = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/local/sbin/a\n"


def node_trees() -> Iterator[DeviceTree]:
    """The tree of one node of each kind."""
    for name in LABS:
        plan = plan_of(name)
        kinds = {(device.node_group, device.role, device.model): device.name for device in plan.devices_of("service")}
        kinds |= {(device.node_group, device.role, device.model): device.name for device in plan.devices_of("node")}
        for node in kinds.values():
            yield Rendering(plan).of_device(node)


def services() -> dict[str, str]:
    """The rendered services by path."""
    return {
        artifact.path: artifact.content.decode()
        for tree in node_trees()
        for artifact in tree
        if artifact.path.startswith("etc/systemd/system/") and artifact.path.endswith(".service") and artifact.content
    }


def step_of(path: str) -> dict[str, Any] | None:
    """The role's step for a file."""
    for step in STEPS:
        if any(fnmatch.fnmatchcase(path, pattern) for pattern in step["files"]):
            return step
    return None


def is_kept(text: str) -> bool:
    return "Type=oneshot" in text and "RemainAfterExit=yes" in text


def test_the_labs_render_units_of_each_kind() -> None:
    units = services()
    assert {Path(path).name for path, text in units.items() if is_kept(text)} >= {
        "rdma-names.service",
        "roce-qos.service",
        "nccl-topology.service",
        "nccl-partition.service",
        "no-swap.service",
    }


def test_a_changed_oneshot_that_stays_is_run_again_by_the_role_or_waits_for_a_boot() -> None:
    for path, text in services().items():
        if not is_kept(text) or path.endswith("opensm.service"):
            continue
        (consequence,) = on_node(path, text.encode(), text.replace("ExecStart=", "ExecStart=-").encode())
        assert consequence.does, path
        assert (consequence.effect is Effect.LIVE) == (step_of(path) is not None), path


def test_a_changed_program_does_what_its_changed_unit_does() -> None:
    for path, text in services().items():
        for program in re.findall(r"^ExecStart=(?:-|\+)?/(usr/local/\S+)", text, re.MULTILINE):
            if not is_kept(text):
                continue
            of_unit = on_node(path, text.encode(), text.replace("ExecStart=", "ExecStart=-").encode())
            (of_program,) = on_node(program, b"before", b"after")
            assert of_program.does, program
            assert of_program.effect is of_unit[0].effect, program
            assert step_of(program) is step_of(path), program


def test_what_the_role_runs_of_a_unit_is_what_the_unit_runs() -> None:
    text = services()["etc/systemd/system/roce-qos.service"]
    step = step_of("etc/systemd/system/roce-qos.service")
    assert step is not None
    assert [" ".join(command) for command in step["activate"]] == re.findall(r"^ExecStart(?:Pre)?=(.*)", text, re.M)


@pytest.mark.parametrize(
    ("path", "was", "will", "effect", "does"),
    [
        ("a.service", KEPT, KEPT.replace("/a", "/b"), Effect.REBOOT, "ran at boot"),
        ("a.service", KEPT, "# words\n" + KEPT, Effect.LIVE, ""),
        ("a.service", None, KEPT, Effect.REBOOT, "ran at boot"),
        ("a.service", KEPT, None, Effect.REBOOT, "ran at boot"),
        ("a.service", KEPT, "[Unit]\nAfter=b.service\n" + KEPT, Effect.LIVE, "the next start of the unit"),
        ("a.service", KEPT.replace("RemainAfterExit=yes\n", ""), KEPT, Effect.REBOOT, "ran at boot"),
        ("a.service", KEPT.replace("yes", "no"), KEPT.replace("yes", "no") + "Nice=1\n", Effect.LIVE, "next run"),
        ("a.service", "[Service]\nExecStart=/a\n", "[Service]\nExecStart=/b\n", Effect.REBOOT, "with its old settings"),
        ("a.service", "[Service]\nExecStart=/a\nExecStart=/b\n", "[Service]\nExecStart=/b\nExecStart=/a\n",
         Effect.REBOOT, "with its old settings"),
        ("a.service", "[Service]\nExecStart=/a\n", "", Effect.REBOOT, "masked"),
        ("munge.service.d/1.conf", None, "[Service]\nNice=1\n", Effect.REBOOT, "with its old settings"),
        ("slurmctld.service.d/1.conf", "[Service]\nNice=1\n", "[Service]\nNice=2\n", Effect.LIVE, "daemon restarts"),
        ("multi-user.target.d/1.conf", None, "[Unit]\nWants=a.timer\n", Effect.LIVE, "the timer starts"),
        ("multi-user.target.d/1.conf", None, "[Unit]\nWants=a.service\n", Effect.LIVE, "at the next boot"),
        ("../../nftables.conf", "a\n", None, Effect.REBOOT, "stay until the next boot"),
        ("../../nftables.conf", "a\n", "b\n", Effect.LIVE, "in one transaction"),
        ("../../sysctl.d/a.conf", "a=1\nb=1\n", "a=1\n", Effect.LIVE, "a removed value stays"),
        ("../../sysctl.d/a.conf", "a=1\n", None, Effect.LIVE, "a removed value stays"),
        ("../../sysusers.d/a.conf", "u ops 1\n", "u ops 1\nu b 3\n", Effect.LIVE, ""),
        ("../../sysctl.d/a.conf", "a=1\n", "a=2\n", Effect.LIVE, "at once"),
        ("../../sysctl.d/a.conf", "a=1\n", "a=1\nb=1\n", Effect.LIVE, "at once"),
        ("no-swap.service", None, KEPT, Effect.REBOOT, "ran at boot"),
        ("no-swap.service", KEPT, KEPT.replace("/a", "/b"), Effect.LIVE, "runs again"),
        ("enroot-folders.service", None, KEPT, Effect.LIVE, "runs again"),
    ],
)  # fmt: skip
def test_what_a_unit_is_says_what_its_change_does(
    path: str, was: str | None, will: str | None, effect: Effect, does: str
) -> None:
    contents = (None if text is None else text.encode() for text in (was, will))
    (consequence,) = on_node(normpath(f"etc/systemd/system/{path}"), *contents)
    assert consequence.effect is effect
    assert does in consequence.does
    assert bool(does) == bool(consequence.does)


def test_an_account_with_another_number_is_told_and_one_that_goes_stays() -> None:
    told = on_node("etc/sysusers.d/a.conf", b"u ops 1\nu old 2\n", b"u ops 7\n")
    assert {consequence.effect for consequence in told} == {Effect.LIVE}
    words = [consequence.does.partition(":")[0] for consequence in told if consequence.does]
    assert words == [
        "a node where the account has its former number refuses the update",
        "removed accounts stay on the node",
    ]


def test_a_visit_lists_names_of_adapters_that_wait_for_a_boot(tmp_path: Path) -> None:
    plan, store = plan_of("lab-roce"), Store(tmp_path)
    before = Rendering(plan).of_device(NODE)
    after = tuple(
        Artifact(NODE, artifact.path, artifact.content.replace(b"mlx5_0", b"mlx5_9"), artifact.kind, artifact.mode)
        if artifact.path == "usr/local/sbin/rdma-names"
        else artifact
        for artifact in before
    )
    events = [_given(hour, store.put_tree(tree)) for hour, tree in (("10", before), ("12", after))]
    owed = owed_boot(plan.by_name[NODE], events, store, None)
    assert "adapters are named at boot, and keep their names until the next boot" in owed


def _given(hour: str, tree: str) -> DeviceEvent:
    at = f"2026-12-01T{hour}:00:00.000+00:00"
    nothing = dict.fromkeys(("who", "reason", "program", "commit"), "")
    return DeviceEvent(at=at, rollout="r", action="up", is_modified=False, result="ok", tree=tree, **nothing)


def test_the_role_runs_a_changed_oneshot_again_and_leaves_others(tmp_path: Path) -> None:
    """On a host with a systemd of its own: `enroot-folders` runs again, a unit that nobody knows stays as it ran."""

    def tree(word: str) -> DeviceTree:
        unit = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/install -d /run/{}\n"
        files = {"enroot-folders": unit.format(f"known-{word}"), "stranger": unit.format(f"strange-{word}")}
        return tuple(
            Artifact("n0", f"etc/systemd/system/{name}.service", text.encode(), "test") for name, text in files.items()
        )

    with SshFleet({"n0": "10.213.1.1"}, systemd=True) as fleet, fleet.as_controller():
        target = target_for(fleet, tmp_path)
        assert target.apply({"n0": tree("one")})["n0"].status is Status.APPLIED
        fleet.run("n0", "systemctl", "start", "stranger.service")
        changed = target.apply({"n0": tree("two")})["n0"]
        assert changed.status is Status.APPLIED, changed.message
        made = fleet.run("n0", "sh", "-c", "ls /run | grep -E 'known|strange'").split()
        assert made == ["known-one", "known-two", "strange-one"]
        assert target.apply({"n0": tree("two")})["n0"].status is Status.UNCHANGED
