"""Lists of running jobs as Slurm writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clusterwright.finding import ClusterwrightError
from clusterwright.rollout.running_jobs import expand, running_jobs

NODES = [f"gpu-p00r{rack:02}n{node}" for rack in range(4) for node in range(2)]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("gpu-1", ["gpu-1"]),
        ("gpu-[08-11]", ["gpu-08", "gpu-09", "gpu-10", "gpu-11"]),
        (
            "gpu-p00r[00,02-03]n[0-1],st-1",
            [*(f"gpu-p00r{rack}n{node}" for rack in ("00", "02", "03") for node in "01"), "st-1"],
        ),
    ],
)
def test_a_host_list_is_written_out(pattern: str, names: list[str]) -> None:
    assert list(expand(pattern)) == names


@pytest.mark.parametrize("pattern", ["gpu-[0-", "gpu-[5-2]", "gpu-[a-b]", "gpu-[0-999999][0-9]"])
def test_a_host_list_that_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"bracket|range|more than"):
        expand(pattern)


def test_lines_of_squeue_are_read(tmp_path: Path) -> None:
    file = tmp_path / "jobs"
    file.write_text("4711 llm pretrain gpu-p00r[00-01]n[0-1]\n\n4712 eval gpu-p00r03n1\n")

    first, second = running_jobs(file, NODES)

    assert first.name == "4711 (llm pretrain)"
    assert first.nodes == frozenset(NODES[:4])
    assert second.nodes == {"gpu-p00r03n1"}
    assert not first.is_planned


def test_the_document_of_squeue_is_read(tmp_path: Path) -> None:
    file = tmp_path / "jobs.json"
    jobs = [
        {"job_id": 1, "name": "llm", "nodes": "gpu-p00r00n[0-1]", "job_state": ["RUNNING"]},
        {"job_id": 2, "name": "next", "nodes": "", "job_state": ["PENDING"]},
    ]
    file.write_text(json.dumps({"jobs": jobs}))

    (only,) = running_jobs(file, NODES)

    assert only.name == "1 (llm)"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("4711 llm\n", "jobs:1: needs job id, name and nodes"),
        ("1 a gpu-[\n", "jobs:1: gpu-[: a bracket is not closed"),
        ("1 a other-7\n", "jobs:1: job 1 (a) runs on other-7, which this cluster does not have"),
        ('{"jobs": [{}, 5]}', "this is no answer of `squeue --json`"),
        ("{", "this is no answer of `squeue --json`"),
    ],
)
def test_what_cannot_be_read_says_where(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "jobs"
    file.write_text(content)

    with pytest.raises(ClusterwrightError) as caught:
        running_jobs(file, NODES)

    assert told in str(caught.value)
