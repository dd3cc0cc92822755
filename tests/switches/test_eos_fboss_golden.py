"""The lab's switches as files that a reviewer can read: tests/golden/lab-roce/<device>/<path>."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden_files import GOLDEN, assert_golden
from tests.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering

SWITCHES = tuple(device.name for device in plan_of("lab-roce").devices if device.kind == "switch")


# The Linux under FBOSS is the same on every switch but for its name and addresses: one is enough to review.
LINUX_OF = "rtsw-p00r00"
OF_ALL = ("mnt/", "etc/coop/", "etc/hostname", "etc/NetworkManager/")


def reviewed(name: str) -> list[Artifact]:
    return [
        artifact
        for artifact in Rendering(plan_of("lab-roce")).of_device(name)
        if name == LINUX_OF or artifact.path.startswith(OF_ALL)
    ]


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_is_rendered_as_reviewed(name: str) -> None:
    for artifact in reviewed(name):
        assert_golden(f"lab-roce/{name}/{artifact.path}", artifact.content)


def test_there_is_no_golden_file_too_many() -> None:
    known = {GOLDEN / "lab-roce" / name / artifact.path for name in SWITCHES for artifact in reviewed(name)}
    folders = [folder for folder in (GOLDEN / "lab-roce").iterdir() if folder.name.split("-")[0] in switch_words()]
    found: set[Path] = {file for folder in folders for file in folder.rglob("*") if file.is_file()}
    assert found == known


def switch_words() -> set[str]:
    return {device.role for device in plan_of("lab-roce").devices if device.kind == "switch"}
