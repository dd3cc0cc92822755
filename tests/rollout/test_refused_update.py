"""An update that breaks a proof, by the real commands: nothing is touched, and an answer for it is recorded."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.rollout.test_preview import DRAIN, SYSCTL

from clusterwright.data_files import folder
from clusterwright.rollout.gates.selection import GATES

pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


def run(site: Path, action: str, *options: str) -> subprocess.CompletedProcess[str]:
    return command(action, site / "spec.yaml", "--root", site / "up", "--pod", "pod0", *options, cwd=site)


def startup(site: Path) -> str:
    return (site / "up/flash/ctsw-p00-00/mnt/flash/startup-config").read_text()


# A drained switch carries nothing: there is no second way left, and no bandwidth as promised. A drain alone is what an
# operator does every day; beside another change nobody can tell which of them takes something.
ACCEPTED = ("--accept-refuted", "ethernet-bisection", "--accept-refuted", "ethernet-failures")


def test_an_update_that_breaks_a_proof_needs_an_answer_which_is_recorded(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    shutil.copy(folder("inventory") / "lab-roce.yaml", spec)
    first = run(tmp_path, "up", "--reason", "first deployment", "--yes")
    assert first.returncode == 0, first.stderr
    before = startup(tmp_path)
    spec.write_text(spec.read_text().replace(*DRAIN).replace(*SYSCTL))

    previewed = run(tmp_path, "preview", "--no-engine")
    document = run(tmp_path, "preview", "--no-engine", "--format", "json")
    refused = run(tmp_path, "up", "--reason", "line card", "--yes")

    assert previewed.returncode == 1
    assert "REFUSED: breaks ethernet-bisection, ethernet-failures; nothing was touched" in previewed.stdout
    assert json.loads(document.stdout)["refused"] is True
    assert [each["gate"] for each in json.loads(document.stdout)["gates"]["left_out"]] == list(GATES)
    assert refused.returncode == 2
    assert "is cut off when ctsw-p00-01 fails" in refused.stderr
    assert startup(tmp_path) == before

    half = run(tmp_path, "up", "--reason", "line card", "--yes", "--accept-refuted", "ethernet-failures")
    unknown = run(tmp_path, "preview", "--no-engine", "--accept-refuted", "x", "--because", "nobody knows this one")
    assert half.returncode == 2
    assert "--because REASON belongs to --accept-refuted CHECK" in half.stderr
    assert 'There is no check "x"' in unknown.stderr

    answer = (*ACCEPTED, "--because", "the spare line card goes in tonight")
    done = run(tmp_path, "up", "--reason", "line card", "--yes", *answer)

    assert done.returncode == 0, done.stderr
    assert "description drained" in startup(tmp_path)
    records = [json.loads(line) for line in (tmp_path / "up/audit/rollouts.jsonl").read_text().splitlines()]
    answers = [found for record in records for found in record.get("answers", ())]
    assert [(found["what"], found["reason"]) for found in answers] == [
        ("refuted: ethernet-bisection", "the spare line card goes in tonight"),
        ("refuted: ethernet-failures", "the spare line card goes in tonight"),
    ]
    again = run(tmp_path, "preview", "--no-engine")
    assert again.returncode == 0
    assert again.stdout == "lab-roce: nothing changes\n"


def test_the_first_deployment_of_a_cluster_that_breaks_a_proof_is_refused_as_well(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text((folder("inventory") / "lab-roce.yaml").read_text().replace(*DRAIN))

    refused = run(tmp_path, "up", "--reason", "first deployment", "--yes")

    assert refused.returncode == 2
    assert "is cut off when ctsw-p00-01 fails" in refused.stderr
    assert "--accept-refuted ethernet-failures --because REASON" in refused.stderr
    assert not (tmp_path / "up/flash").exists()
    assert not (tmp_path / "up/audit").exists()

    answer = (*ACCEPTED, "--because", "the second line card comes on Monday")
    done = run(tmp_path, "up", "--reason", "first deployment", "--yes", *answer)

    assert done.returncode == 0, done.stderr
    assert "description drained" in startup(tmp_path)
    started = json.loads((tmp_path / "up/audit/rollouts.jsonl").read_text().splitlines()[0])
    assert [(found["what"], found["reason"]) for found in started["answers"]] == [
        ("refuted: ethernet-bisection", "the second line card comes on Monday"),
        ("refuted: ethernet-failures", "the second line card comes on Monday"),
    ]
    assert "accepted by " in started["preview"]["text"]
