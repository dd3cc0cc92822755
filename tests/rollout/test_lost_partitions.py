"""A partition that nodes lose ends their jobs, and the preview says so: nothing restarts, and yet it disturbs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.device_files.effect import Effect
from clusterwright.hosts.linux.effects import on_node
from clusterwright.rollout.disturbance import disturbance
from clusterwright.rollout.lost_partitions import lost_partitions
from clusterwright.rollout.running_jobs import RunningJob

ANOTHER_KEY = """fabrics:
  - name: backend
    partitions:
      - {name: training, pkey: 2}
"""
ONE_MORE = """fabrics:
  - name: backend
    partitions:
      - {name: checkpoint, pkey: 16, zones: [compute], membership: full}
nccl: {partition: training}
"""
MOVED = ONE_MORE.replace("partition: training", "partition: checkpoint")
FILE = "etc/opensm/partitions.conf"


def test_another_key_ends_all_jobs_of_its_nodes(tmp_path: Path) -> None:
    before, after = plan_of("lab-ib"), plan_with(tmp_path, "lab-ib", ANOTHER_KEY)
    (loss,) = lost_partitions(before, after)
    assert (loss.fabric, loss.partition, loss.key, loss.ends_jobs) == ("backend", "training", "0x8001", True)
    assert len(loss.nodes) == 16
    job = RunningJob("train", frozenset(loss.nodes[:4]), is_planned=False)
    result = disturbance((before, after), (), {}, jobs=(job,), notes=())
    assert not result.is_none
    assert result.jobs[0].cut == tuple(sorted(loss.nodes[:4]))
    assert not result.untouched


@pytest.mark.parametrize("overlay", [ONE_MORE, MOVED])
def test_a_partition_that_is_added_takes_nothing(overlay: str, tmp_path: Path) -> None:
    before, after = plan_of("lab-ib"), plan_with(tmp_path, "lab-ib", overlay)
    assert lost_partitions(before, after) == ()
    job = RunningJob("train", frozenset({"gpu-s00r00n0"}), is_planned=False)
    result = disturbance((before, after), (), {}, jobs=(job,), notes=())
    assert result.is_none
    assert result.untouched == (job,)


def test_a_partition_that_is_taken_away_and_carries_no_data_ends_what_it_carries(tmp_path: Path) -> None:
    (loss,) = lost_partitions(plan_with(tmp_path, "lab-ib", ONE_MORE), plan_of("lab-ib"))
    assert (loss.partition, loss.ends_jobs) == ("checkpoint", False)


@pytest.mark.parametrize(
    ("was", "will", "ends"),
    [
        ("Default=0x7fff : ALL=limited;\na=0x1 : 0x1=full, 0x2=full;\n", "", True),
        ("a=0x1 : 0x1=full, 0x2=full;\n", "a=0x1 : 0x1=full;\n", True),
        ("a=0x1 : 0x1=full;\n", "a=0x1 : 0x1=limited;\n", True),
        ("a=0x1 : 0x1=full;\n", "a=0x2 : 0x1=full;\n", True),
        ("a=0x1 : 0x1=full;\n", "a=0x1 : 0x1=full;\nb=0x2 : 0x1=full;\n", False),
    ],
)
def test_the_file_of_partitions_says_who_loses(was: str, will: str, ends: bool) -> None:
    (found,) = on_node(FILE, was.encode(), will.encode())
    assert found.effect is Effect.LIVE
    assert ("connections in these partitions end" in found.does) is ends
