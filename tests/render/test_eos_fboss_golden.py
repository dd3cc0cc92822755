"""The lab's switches as files that a reviewer can read: tests/golden/lab-roce/<device>/<path>."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden_files import GOLDEN, assert_golden
from tests.render.plans import plan_of

from clusterwright.render.engine import render_device

SWITCHES = tuple(device.name for device in plan_of("lab-roce").devices if device.kind == "switch")


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_is_rendered_as_reviewed(name: str) -> None:
    for artifact in render_device(plan_of("lab-roce"), name):
        assert_golden(f"lab-roce/{name}/{artifact.path}", artifact.content)


def test_there_is_no_golden_file_too_many() -> None:
    plan = plan_of("lab-roce")
    known = {GOLDEN / "lab-roce" / name / artifact.path for name in SWITCHES for artifact in render_device(plan, name)}
    folders = [folder for folder in (GOLDEN / "lab-roce").iterdir() if folder.name.split("-")[0] in switch_words()]
    found: set[Path] = {file for folder in folders for file in folder.rglob("*") if file.is_file()}
    assert found == known


def switch_words() -> set[str]:
    return {device.role for device in plan_of("lab-roce").devices if device.kind == "switch"}
