"""The command as a user starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.simulate.networks import inventory


def run(*arguments: str, hash_seed: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["clusterwright", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )


def test_json_is_the_same_every_time() -> None:
    arguments = ("simulate", str(inventory("lab-roce")), "--ranks", "32", "--hash", "ecmp", "--qps", "2")
    first, second = (run(*arguments, "--format", "json", hash_seed=seed) for seed in ("1", "2"))
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == second.stdout
    document = json.loads(first.stdout)
    assert document["cluster"] == "lab-roce"
    assert document["seeds"] == [0, 1, 2]
    assert 0 < document["share_of_ideal"]["lowest"] <= document["share_of_ideal"]["highest"] <= 1
    assert document["question"]["transport"] == {"hash": "ecmp", "qps": 2, "source_port": "queue-pair"}


def test_text_names_what_it_simulated(tmp_path: Path) -> None:
    done = command("simulate", inventory("lab-roce"), "--collective", "all-to-all", "--ranks", "64", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "all-to-all (pairwise) of 64 ranks, linear, on backend of lab-roce" in done.stdout
    assert "4 queue pairs a connection" in done.stdout  # the NCCL profile's
    for text in ("of the ideal", "rtsw > ctsw", "ctsw > atsw", "worst links"):
        assert text in done.stdout


@pytest.mark.parametrize(
    ("spec", "arguments", "message"),
    [
        ("ib-24k", ["--ranks", "16"], "is infiniband"),
        ("lab-roce", ["--ranks", "12"], "not whole nodes"),
        ("lab-roce", ["--ranks", "16", "--fabric", "backbone"], 'no fabric "backbone"'),
        ("lab-roce", ["--ranks", "16", "--qps", "129"], "129 is not in the range"),
        ("lab-roce", ["--ranks", "16", "--collective", "all-to-all", "--algorithm", "ring"], "has no ring"),
        ("nowhere", ["--ranks", "16"], "nowhere.yaml"),
    ],
)
def test_what_cannot_be_simulated_is_refused(spec: str, arguments: list[str], message: str, tmp_path: Path) -> None:
    done = command("simulate", inventory("lab-roce").with_name(f"{spec}.yaml"), *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_linting_does_not_pay_for_numpy(tmp_path: Path) -> None:
    program = (
        "import sys; from clusterwright.cli.main import _run; "
        f"_run(['lint', {str(inventory('lab-roce'))!r}]); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "False"
