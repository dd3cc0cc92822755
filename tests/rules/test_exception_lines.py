"""Findings on exceptions stand on the line of the exception that causes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.overlays import findings_of

NODE = '  - {device: gpu-p00r00n0, state: drained, reason: "memory test"}\n'
RACK_SWITCH = '  - {device: rsw-p00r00, state: drained, reason: "fan swap"}\n'
SPINE = '  - {device: ssw-00, state: drained, reason: "line card swap"}\n'


@pytest.mark.parametrize("before", ["", NODE, RACK_SWITCH, NODE + RACK_SWITCH], ids=["none", "node", "switch", "both"])
def test_a_single_failure_is_reported_at_the_exception_that_leaves_it(tmp_path: Path, before: str) -> None:
    text = f"exceptions:\n{before}{SPINE}"
    line = f"extends: base.yaml\n{text}".count("\n")
    (finding,) = [finding for finding in findings_of(tmp_path, text, "lab-roce") if finding.code == "CW250"]
    assert finding.position.line == line
