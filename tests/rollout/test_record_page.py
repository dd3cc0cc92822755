"""The record of first rollouts, as the page on first devices shows it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.pages.shown import assert_whole, shown_by

from clusterwright.data_files import folder

SWITCH = "rtsw-p00r00"


def without_names(line: str) -> str:
    """A row without the rollout's name and its operator."""
    return re.sub(r"^\d{8}T\d{6}-[0-9a-f]{8}  (.*?)\S+@\S+", r"ROLLOUT  \1OPERATOR", line)


@pytest.mark.slow
@pytest.mark.usefixtures("pulumi_on_the_path")
def test_the_page_shows_the_record(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    text = (folder("inventory") / "lab-roce.yaml").read_text()
    drained = f'exceptions:\n  - {{device: {SWITCH}, state: drained, reason: "burn-in"}}\n\nexpect:\n'
    spec.write_text(text)
    first = command("up", spec, "--pod", "pod0", "--reason", "first node", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    spec.write_text(text.replace("expect:\n", drained))
    options = ("--skip-gate", "sessions", "--because", "its spines are not deployed yet", "--yes")
    second = command("up", spec, "--device", SWITCH, "--reason", "first switch", *options, cwd=tmp_path)
    assert second.returncode == 0, second.stderr

    shown = command("audit", "show", "up", cwd=tmp_path)
    page = shown_by("first-devices.md", "clusterwright audit show up")
    page = dataclasses.replace(page, shown=tuple(without_names(line) for line in page.shown))
    assert_whole(page, "".join(f"{without_names(line)}\n" for line in shown.stdout.splitlines()))
