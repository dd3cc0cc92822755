"""NCCL's partition: named by the spec, found by each node in its own tables, and the same on all of them."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import pytest
from tests.hosts.nccl_start import PARTS, PORT, SCRIPT, made, place, start
from tests.plans import plan_of, plan_with

from clusterwright.hosts.linux.reader.nccl import read_partition
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan

DEVICES = ("mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11")
CHECKPOINT = """fabrics:
  - name: backend
    partitions:
      - {name: checkpoint, pkey: 16, zones: [compute], membership: full}
nccl: {partition: training}
"""
NODE = "gpu-s00r00n0"


def texts_of(plan: Plan) -> dict[str, str]:
    wanted = (*PARTS, SCRIPT, "etc/systemd/system/nccl-partition.service")
    found = {
        artifact.path: artifact.content.decode()
        for artifact in Rendering(plan).of_device(NODE)
        if artifact.path in wanted
    }
    assert set(found) == set(wanted)
    return found


def test_the_file_names_the_partition_and_all_adapters_and_no_index() -> None:
    texts = texts_of(plan_of("lab-ib"))
    assert read_partition(texts["etc/nccl/partition.conf"]) == ("0x8001", DEVICES)
    assert "NCCL_IB_PKEY" not in texts["etc/nccl/nccl.conf"]
    done = subprocess.run(["sh", "-n", "-c", texts[SCRIPT]], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_a_partition_that_is_added_changes_nothing_of_what_nodes_are_given(tmp_path: Path) -> None:
    before = texts_of(plan_of("lab-ib"))
    assert texts_of(plan_with(tmp_path, "lab-ib", CHECKPOINT)) == before


@pytest.mark.parametrize(
    ("table", "index"),
    [
        ((0x7FFF, 0x8001), "1"),  # as all nodes had it
        ((0x7FFF, 0x8001, 0x8010), "1"),  # one that kept running while a partition was added
        ((0x7FFF, 0x8000, 0x8001), "2"),  # one that restarted: the table was empty, and numbers decide
        ((0x7FFF, 0, 0, 0x8001), "3"),  # one from which others were taken away
    ],
)
def test_each_node_finds_the_partition_where_its_table_has_it(
    table: tuple[int, ...], index: str, tmp_path: Path
) -> None:
    texts = texts_of(plan_of("lab-ib"))
    place(texts, dict.fromkeys(DEVICES, table), tmp_path)
    assert start(texts, tmp_path).returncode == 0
    found = made(tmp_path)
    assert found["NCCL_IB_PKEY"] == index
    assert found["NCCL_IB_HCA"] == "=" + ",".join(DEVICES)
    assert start(texts, tmp_path).returncode == 0
    assert made(tmp_path) == found


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        ({"mlx5_5": (0x7FFF,)}, "no P_Key 0x8001 on mlx5_5"),
        ({"mlx5_5": (0x7FFF, 0x0001)}, "no P_Key 0x8001 on mlx5_5"),  # a limited member
        ({"mlx5_5": (0x7FFF, 0x8000, 0x8001)}, "stands at 1 2 of the adapters' tables"),
    ],
)
def test_a_node_that_cannot_say_one_index_fails_and_keeps_its_other_settings(
    tables: dict[str, tuple[int, ...]], reason: str, tmp_path: Path
) -> None:
    texts = texts_of(plan_of("lab-ib"))
    place(texts, {**dict.fromkeys(DEVICES, (0x7FFF, 0x8001)), **tables}, tmp_path)
    done = start(texts, tmp_path)
    assert done.returncode == 1
    assert reason in done.stderr
    found = made(tmp_path)
    assert "NCCL_IB_PKEY" not in found
    assert found["NCCL_IB_HCA"] == "=" + ",".join(DEVICES)


def test_a_subnet_manager_that_comes_later_is_waited_for(tmp_path: Path) -> None:
    texts = texts_of(plan_of("lab-ib"))
    place(texts, dict.fromkeys(DEVICES, (0x7FFF,)), tmp_path)

    def assign() -> None:
        time.sleep(1)
        for device in DEVICES:
            (tmp_path / PORT.format(device=device) / "1").write_text("0x8001\n")

    later = threading.Thread(target=assign)
    later.start()
    assert start(texts, tmp_path, 20).returncode == 0
    later.join()
    assert made(tmp_path)["NCCL_IB_PKEY"] == "1"


def test_an_index_by_hand_is_left_to_who_wrote_it(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-ib", "nccl: {variables: {NCCL_IB_PKEY: '1'}}\n")
    files = {artifact.path: artifact.content for artifact in Rendering(plan).of_device(NODE)}
    assert b"NCCL_IB_PKEY=1\n" in files["etc/nccl.conf"]
    assert SCRIPT not in files
