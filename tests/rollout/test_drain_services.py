"""A device that carries a service of the cluster is drained: the preview, or the refusal, says what that means."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.plans import plan_with

from clusterwright.data_files import folder
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.rollout.draining import devices_changed
from clusterwright.rollout.preview.services import service_sentences

FIRST, SECOND = "gpu-s00r00n0", "gpu-s01r00n0"


def drained(folder_of_spec: Path, device: str, state: str, more: str = "") -> tuple[Plan, Plan]:
    exception = f"exceptions:\n  - {{device: {device}, state: {state}, reason: a board}}\n"
    folders = [folder_of_spec / name for name in ("before", "after")]
    for place in folders:
        place.mkdir()
    return plan_with(folders[0], "lab-ib", more or "title: as it was\n"), plan_with(
        folders[1], "lab-ib", exception + more
    )


ALONE = "fabrics:\n  - name: backend\n    subnet_manager: {count: 1}\n"


@pytest.mark.parametrize(
    ("device", "state", "more", "says"),
    [
        (FIRST, "drained", "", ["(opensm): it runs while the host is up. Before you turn it off, stop its opensm"]),
        (SECOND, "drained", "", [f"(opensm): while it is off, {FIRST} goes on alone"]),
        (FIRST, "drained", ALONE, ["no other host takes over. While it is off, nothing sweeps the fabric"]),
        (
            FIRST,
            "out-of-service",
            "",
            [
                f"(opensm): it is left to {SECOND}",
                "gpu-s00r00n1 is to carry the subnet manager of backend (opensm): it starts",
            ],
        ),
        (
            "svc-v00n0",
            "drained",
            "",
            [
                "boot server (Kea, TFTP, HTTP): while it is off, svc-v00n1 serves alone",
                "scheduler of compute (slurmctld): it runs while the host is up, and no other host takes over",
            ],
        ),
        (
            "svc-v00n0",
            "out-of-service",
            "",
            [
                "boot server (Kea, TFTP, HTTP): it is left to svc-v00n1",
                "scheduler of compute (slurmctld): no other host runs it, so no job starts",
                "svc-v00n1 is to carry the scheduler of compute (slurmctld): it starts",
            ],
        ),
        ("fb-s02n0", "drained", "", ["file system home (/home): it runs while the host is up"]),
        ("gpu-s00r00n1", "drained", "", []),
    ],
)
def test_a_preview_names_the_services_of_a_device_that_leaves(
    tmp_path: Path, device: str, state: str, more: str, says: list[str]
) -> None:
    sentences = [sentence.text for sentence in service_sentences(*drained(tmp_path, device, state, more))]
    assert len(sentences) == len(says), sentences
    for words, sentence in zip(says, sentences, strict=True):
        assert words in sentence


def test_a_drain_of_a_machine_of_services_alone_is_refused_and_names_them(tmp_path: Path) -> None:
    shutil.copy(folder("inventory") / "lab-ib.yaml", tmp_path / "cluster.yaml")
    spec = (tmp_path / "cluster.yaml").read_bytes()
    refused = command("drain", "cluster.yaml", "svc-v00n0", "--because", "a fan", "--yes", cwd=tmp_path)
    assert (refused.returncode, "nothing would be drained" in refused.stderr) == (2, True), refused.stderr
    assert "svc-v00n0 carries the scheduler of compute (slurmctld): it runs while the host is up" in refused.stderr
    assert "svc-v00n0 carries the boot server (Kea, TFTP, HTTP): while it is off, svc-v00n1" in refused.stderr
    assert (tmp_path / "cluster.yaml").read_bytes() == spec


def test_a_drain_changes_no_file_of_any_subnet_manager(tmp_path: Path) -> None:
    before, after = drained(tmp_path, FIRST, "drained")
    for host in (FIRST, SECOND):
        sides = [
            {file.path: file.sha256 for file in Rendering(plan).of_device(host) if file.path.startswith("etc/opensm/")}
            for plan in (before, after)
        ]
        assert sides[0] == sides[1]
        assert sides[0]
    assert devices_changed(before, after, (FIRST,)) == ("svc-v00n0",)
