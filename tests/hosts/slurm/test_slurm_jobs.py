"""Jobs from the rendered files to a process that sees its GPUs, its environment, and no other's."""

from __future__ import annotations

import os
from pathlib import Path

from tests.hosts.slurm.node import plan_on, run_jobs

NODE = "gpu-s00r00n0"
LOOK = """sh -c 'echo gpus $CUDA_VISIBLE_DEVICES; echo hca $NCCL_IB_HCA
for at in 0 1 2 3 4 5 6 7; do head -c0 /dev/nvidia$at 2>&1 | sed "s/.*: //;s/^/$at /"; done'"""
OPENED, REFUSED = (
    "No such device or address",
    "Operation not permitted",
)  # of the driver that is not there; of the cgroup


def test_a_node_comes_with_the_gpus_that_slurm_conf_counts(tmp_path: Path) -> None:
    """And with the cores beside them: no slurmd of a distribution can ask NVML."""
    report = run_jobs(plan_on(tmp_path, "lab-ib"), tmp_path, NODE, processors="package:2 core:56 pu:2")
    assert report.state == "idle gpu:nvidia_h100_80gb_hbm3:8(S:0-1) none", report.node + report.logs


def test_a_job_sees_its_gpus_and_no_others(tmp_path: Path) -> None:
    cores = {"sockets": 1, "cores_per_socket": os.cpu_count() or 1, "threads_per_core": 1}
    plan = plan_on(tmp_path, "lab-ib", cores)
    report = run_jobs(plan, tmp_path, NODE, (f"--gres=gpu:2 {LOOK}", f"--gres=gpu:8 {LOOK}"))
    assert report.state == "idle gpu:nvidia_h100_80gb_hbm3:8 none", report.node + report.logs
    for job, count in zip(report.jobs, (2, 8), strict=True):
        lines = job.splitlines()
        assert f"gpus {','.join(map(str, range(count)))}" in lines, job + report.logs
        for index in range(8):
            assert f"{index} {OPENED if index < count else REFUSED}" in lines, job
