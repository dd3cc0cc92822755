"""CW642: settings of priorities that a release or a missing slurmdbd leaves without effect."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.overlays import findings_of


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("PriorityType: priority/basic, PriorityWeightJobSize: 1", "has no effect"),
        ("PriorityWeightJobSize: 1", "The release decides"),
        ("PriorityType: priority/multifactor, PriorityWeightFairshare: 1", "without slurmdbd"),
        ("PriorityType: priority/multifactor, PriorityDecayHalfLife: 7-0", "without slurmdbd"),
        ("PriorityType: priority/multifactor, PriorityWeightJobSize: 1", ""),
        ("PriorityType: priority/basic, KillWait: 30", ""),
    ],
)
def test_a_priority_without_effect_is_found(settings: str, message: str, tmp_path: Path) -> None:
    overlay = f"scheduler: {{settings: {{{settings}}}}}\n"
    messages = [finding.message for finding in findings_of(tmp_path, overlay, "lab-roce") if finding.code == "CW642"]
    assert len(messages) == bool(message)
    assert message in "".join(messages)


def test_records_give_all_weights_their_effect(tmp_path: Path) -> None:
    overlay = """\
scheduler:
  accounting: {nodes: services, database: {host: db.lab.example.net, secret: slurm-database}}
  settings: {PriorityType: priority/multifactor, PriorityWeightAge: 1, PriorityWeightFairshare: 1}
"""
    assert "CW642" not in {finding.code for finding in findings_of(tmp_path, overlay, "lab-roce")}
