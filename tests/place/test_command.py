"""``clusterwright place`` from outside."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from click.testing import CliRunner, Result

from clusterwright import data_files
from clusterwright.cli.main import cli
from clusterwright.finding import ClusterwrightError

LAB = str(data_files.folder("inventory") / "lab-roce.yaml")


def _run(*arguments: str) -> Result:
    result = CliRunner().invoke(cli, ["place", *arguments], standalone_mode=False)
    if isinstance(result.exception, ClusterwrightError):
        raise result.exception
    assert result.exception is None, result.exception
    return result


def test_the_text_names_nodes_and_bytes_of_each_layer() -> None:
    output = _run(LAB, "--job", "small-llm").stdout
    assert "small-llm on lab-roce: 64 ranks on 8 of 8 nodes in service" in output
    assert "domains used: 2 of 2 × pod, 4 of 4 × rack" in output
    assert "across the cluster    64 GB   128 GB      256 GB" in output
    assert output.endswith("nodes: gpu-p[00-01]r[00-01]n[0-1]\n")


def test_json_and_files_say_the_same() -> None:
    document = json.loads(_run(LAB, "--format", "json").stdout)
    by_rank = {}
    for run in document["ranks"]:
        for offset, gpu in enumerate(run["gpus"]):
            by_rank[run["first_rank"] + offset] = (run["node"], gpu)
    assert len(set(by_rank.values())) == 64
    ranks = _run(LAB, "--format", "rankfile").stdout.splitlines()
    assert ranks == [f"rank {rank}={node} slot={gpu}" for rank, (node, gpu) in sorted(by_rank.items())]
    hosts = _run(LAB, "--format", "hostfile").stdout.splitlines()
    assert hosts == [node for _, (node, _) in sorted(by_rank.items())]
    assert set(Counter(hosts).values()) == {8}
    assert set(document["nodes"]) == set(hosts)
    assert sum(document["bytes"]["planned"]["by_layer"]) == sum(document["bytes"]["random"]["by_layer"])


def test_the_random_placement_follows_its_seed() -> None:
    first, again, other = (_run(LAB, "--format", "json", "--seed", seed).stdout for seed in ("1", "1", "2"))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--job", "small-lm"), 'Did you mean "small-llm"?'),
        (("--failed", "gpu-p00r00n9"), 'There is no node "gpu-p00r00n9" among the compute nodes. Did you mean'),
        (("--failed", "gpu-p00r00n0"), "64 ranks need 8 nodes, and 7 of compute are in service"),
    ],
)
def test_what_cannot_be_placed_is_said(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(ClusterwrightError, match=message.replace("?", r"\?")):
        _run(LAB, *arguments)
