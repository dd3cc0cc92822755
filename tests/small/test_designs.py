"""Ten small clusters as people own them: each lints, renders and is proven, in as many lines as the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright.finding import Severity
from clusterwright.rules.engine import lint_path

SMALL = Path(__file__).parent
PAGE = SMALL.parents[1] / "docs" / "four-nodes.md"
# Nobody published where the adapters of these machines are.
WITHOUT_ADDRESSES = {"designs/mi300x", "designs/nvue-planes"}
PROVEN = {
    "specs/twelve": ("ib-cabling", "ib-partitions", "ib-managers"),
    "specs/nineteen": ("qos", "isolation", "node-check", "slurm"),
    "specs/existing": ("ib-nccl", "isolation"),
    "specs/fortyfive": ("qos", "isolation", "management", "slurm", "node-check"),
    "designs/basepod": ("ib-cabling", "ib-nccl", "isolation", "slurm"),
    "designs/roce-sonic": ("qos", "reachability", "isolation", "management", "slurm"),
    "designs/roce-eos": ("qos", "reachability", "isolation", "management", "slurm"),
    "designs/nvue-planes": ("qos", "reachability", "isolation", "management", "slurm"),
    "designs/mi300x": ("qos", "reachability", "isolation", "slurm"),
    "designs/l40s": ("reachability", "isolation", "management"),
    "designs/spark-pair": ("qos", "reachability", "isolation"),
    "designs/infiniband-64": ("ib-cabling", "ib-managers"),
}


@pytest.mark.parametrize("name", PROVEN)
def test_a_small_cluster_is_proven(tmp_path: Path, name: str) -> None:
    spec = SMALL / f"{name}.yaml"
    findings = lint_path(spec).findings
    warned = {finding.code for finding in findings if finding.severity != Severity.NOTE}
    assert warned == ({"CW274"} if name in WITHOUT_ADDRESSES else set())

    assert command("render", spec, "--out", tmp_path / "out", cwd=tmp_path).returncode == 0
    answer = command("verify", spec, cwd=tmp_path).stdout
    assert "REFUTED" not in answer
    assert ": not proven" not in answer
    for claim in PROVEN[name]:
        assert f"{claim}: proven." in answer, claim


@pytest.mark.parametrize("name", PROVEN)
def test_the_page_says_how_many_lines_it_takes(name: str) -> None:
    lines = len((SMALL / f"{name}.yaml").read_text().splitlines())
    assert f"| `{name}.yaml` | {lines} |" in PAGE.read_text()
    assert lines <= 45
