"""Jobs from the rendered files to a process that sees its GPUs, its environment, and no other's."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.hosts.slurm.controller import controller_answers
from tests.hosts.slurm.node import plan_on, run_jobs
from tests.plans import plan_with

from clusterwright.output.rendering import Rendering

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


SHARED = """
scheduler:
  settings: {PriorityType: priority/multifactor, PriorityWeightAge: 1000, KillWait: 29}
  partitions:
    - {name: batch, nodes: compute}
    - {name: interactive, nodes: compute, shared: true, settings: {MaxTime: "0-08:00:00", DefCpuPerGPU: 2}}
"""


def test_jobs_of_a_shared_partition_get_a_gpu_s_share_of_their_node(tmp_path: Path) -> None:
    cores = {"sockets": 1, "cores_per_socket": os.cpu_count() or 1, "threads_per_core": 1}
    plan = plan_on(tmp_path, "lab-ib", cores, SHARED)
    show = "sh -c 'scontrol --oneliner show job $SLURM_JOB_ID; scontrol show config; echo gpus $CUDA_VISIBLE_DEVICES'"
    requests = (f"--partition=interactive --gres=gpu:1 {show}", f"--partition=batch --gres=gpu:8 {show}")
    report = run_jobs(plan, tmp_path, NODE, requests)
    states = set(report.state.splitlines())  # of each partition
    assert states == {"idle gpu:nvidia_h100_80gb_hbm3:8 none"}, report.node + report.logs
    shared, whole = report.jobs
    host = plan.spec.catalogue["small-h100"].host
    assert host is not None
    share = host.memory_gb * 10**9 // 2**20 // (os.cpu_count() or 1)
    assert f"TRES=cpu=2,mem={2 * share}M,node=1" in shared, shared + report.logs
    assert "TimeLimit=08:00:00" in shared
    assert "gpus 0\n" in shared
    assert "gpus 0,1,2,3,4,5,6,7\n" in whole, whole + report.logs
    assert re.search(r"PriorityType += priority/multifactor", shared)
    assert re.search(r"KillWait += 29 sec", shared)


TIMED = """
scheduler:
  partitions:
    - {name: compute, nodes: compute, settings: {DefaultTime: "0-01:00:00", MaxTime: "2-00:00:00"}}
"""


def test_a_partition_limits_the_time_of_its_jobs(tmp_path: Path) -> None:
    """A job without a time gets the default one, and one beyond the largest time is never started."""
    then = f"""
sbatch --output=/dev/null --time=3-0 --wrap true
for try in $(seq 100); do squeue --noheader --format=%r | grep -q PartitionTimeLimit && break; sleep 0.1; done
squeue --noheader --sort=i --format='%l %t' > {tmp_path}/limits
squeue --noheader --sort=i --states=pending --format='%l %r' > {tmp_path}/pending
"""
    controller_answers(plan_with(tmp_path, "lab-ib", TIMED), tmp_path, ("--nodes=1", "--time=47:00:00"), then=then)
    limits = [line.split()[0] for line in (tmp_path / "limits").read_text().splitlines()]
    assert limits == ["1:00:00", "1-23:00:00", "3-00:00:00"]
    assert (tmp_path / "pending").read_text() == "3-00:00:00 PartitionTimeLimit\n"


def test_the_epilog_of_a_shared_node_spares_other_jobs(tmp_path: Path) -> None:
    """Processes of the user outside of jobs and of the job itself end, those of another job's cgroup stay."""
    plan = plan_on(tmp_path, "lab-ib", overlay=SHARED)
    epilog = next(
        artifact for artifact in Rendering(plan).of_device(NODE) if artifact.path == "usr/local/sbin/node-epilog"
    )
    calls = tmp_path / "calls"
    cgroups = {"11": "0::/system.slice/slurmstepd.scope/job_8/step_0", "12": "0::/user.slice", "13": "0::/slurm/job_7"}
    for process, cgroup in cgroups.items():
        (tmp_path / "proc" / process).mkdir(parents=True)
        (tmp_path / "proc" / process / "cgroup").write_text(cgroup + "\n")
    programs = {
        "pgrep": f"for p in 11 12 13; do grep -qw $p {tmp_path}/killed 2> /dev/null || echo $p; done",
        "find": f"echo find >> {calls}",
        "nvidia-smi": f'echo nvidia-smi "$@" >> {calls}',
        "sleep": "true",
    }
    for name, text in programs.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    # The shell's own kill, and the kernel's folder of processes, are the two that a test cannot have.
    script = epilog.content.decode().replace("/proc/", f"{tmp_path}/proc/").replace("kill -KILL", "ended")
    script = script.replace("set -u\n", f'set -u\nended() {{ echo "$@" >> {tmp_path}/killed; }}\n', 1)
    environment = {
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "SLURM_JOB_UID": "54321",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_GPUS": "3,4",
    }
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "killed").read_text().split() == ["12", "13"]
    assert calls.read_text().splitlines() == ["nvidia-smi --id=3,4 --query-compute-apps=pid --format=csv,noheader"]
