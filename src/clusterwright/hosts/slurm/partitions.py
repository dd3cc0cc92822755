"""Settings of a partition's line in slurm.conf beside its nodes, and a job's share of a node."""

from __future__ import annotations

from collections.abc import Iterable

from clusterwright.plan.model import Plan
from clusterwright.spec.hardware.models import HardwareModel, Host
from clusterwright.spec.job import SlurmPartition

USUAL_MAX_TIME = "7-00:00:00"


def partition_settings(plan: Plan, partition: SlurmPartition) -> tuple[tuple[str, str], ...]:
    """Settings of a partition's line beside its nodes: a job on a shared node gets each GPU's share of it."""
    settings = {"MaxTime": USUAL_MAX_TIME}
    groups = [group for group in plan.spec.node_groups if group.name in partition.nodes]
    if partition.shared:
        settings |= _shares_of_gpus([group.model for group in groups])
    return tuple(sorted({**settings, **dict(partition.settings)}.items()))


def _shares_of_gpus(models: Iterable[HardwareModel]) -> dict[str, str]:
    """Processors of a GPU's share of its node, and memory of a processor's, the least of several models'.

    Memory goes by processors: slurmctld 22.05 gives a job that asks by ``--gres`` no DefMemPerGPU, but all of a node.
    """
    of_gpus, of_processors = [], []
    for model in models:
        if model.host is None:
            return {}
        processors = model.host.sockets * model.host.cores_per_socket * model.host.threads_per_core
        of_processors.append(memory_mib(model.host) // processors)
        if model.gpus is not None:
            of_gpus.append(processors // model.gpus.count)
    settings = {"DefMemPerCPU": str(min(of_processors))} if of_processors else {}
    if of_gpus and min(of_gpus) > 0:
        settings["DefCpuPerGPU"] = str(min(of_gpus))
    return settings


def memory_mib(host: Host) -> int:
    """The catalogue counts memory in powers of ten, memory modules come in powers of two."""
    return host.memory_gb * 10**9 // 2**20
