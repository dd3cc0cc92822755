"""The GPUs of nodes as Slurm counts them and finds them: slurm.conf's Gres, and gres.conf's device files and cores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from clusterwright.hosts.slurm.hostlist import hostlist
from clusterwright.intent.gpu_services import gpu_vendor
from clusterwright.plan.model import Plan
from clusterwright.spec.hardware.models import Gpus, HardwareModel


@dataclass(frozen=True, slots=True)
class DeviceLine:
    """A line of gres.conf: GPUs beside the same cores, on equal nodes."""

    names: str
    kind: str
    """NVML's name of them, as slurmd writes it; "" if unknown."""
    files: str
    cores: str
    """Slurm's own numbers of the cores, "" where the catalogue does not say which processor a GPU is at."""


def gpu_kind(gpus: Gpus) -> str:
    """The type of GPUs: NVML's name in small letters with ``_`` for blanks, "" if it is unknown.

    slurmd uses this form when it asks NVML itself (gpu_common_underscorify_tolower): requests for GPUs of a type stay
    the same either way.
    """
    if gpus.nvml_name is None:
        return ""
    return gpus.nvml_name.lower().replace(" ", "_")


def gres(gpus: Gpus) -> str:
    """GPUs as slurm.conf counts them, without an unknown type."""
    kind = gpu_kind(gpus)
    return f"gpu:{kind}:{gpus.count}" if kind else f"gpu:{gpus.count}"


def device_lines(plan: Plan, members: Mapping[tuple[str, str], list[str]]) -> Iterator[DeviceLine]:
    """gres.conf's lines for nodes by model and image; none for accelerators with unknown device files."""
    for (model_name, image_name), names in members.items():
        model = plan.spec.catalogue[model_name]
        if model.gpus is None:
            continue
        vendor = gpu_vendor(model, plan.spec.image(image_name))
        device_files = vendor.device_files if vendor is not None else None
        if device_files is None:
            continue
        for cores, indexes in gpus_by_cores(model).items():
            yield DeviceLine(
                names=hostlist(names),
                kind=gpu_kind(model.gpus),
                files=hostlist(f"{device_files.before}{device_files.first + index}" for index in indexes),
                cores=cores,
            )


def gpus_by_cores(model: HardwareModel) -> Mapping[str, tuple[int, ...]]:
    """The GPUs of a model by the cores beside them, in Slurm's numbers; all under "" if one's place is unknown.

    Slurm binds to whole sockets ("all the cores in a socket must be specified together", gres.conf(5), "Cores") and
    numbers cores socket by socket, as Linux numbers the first thread of each on the catalogue's machines.
    """
    count = model.gpus.count if model.gpus is not None else 0
    everywhere = {"": tuple(range(count))}
    if model.host is None or model.pcie is None or model.host.sockets == 1:
        return everywhere
    nics = chain.from_iterable(group.nics for group in model.nic_groups)
    numa_by_gpu = {nic.gpu: nic.numa for nic in nics if nic.numa is not None}
    per_socket = model.host.cores_per_socket
    by_cores: dict[str, list[int]] = {}
    for index in range(count):
        numa = numa_by_gpu.get(index)
        if numa is None or numa >= len(model.pcie.numa_cpus):
            return everywhere
        first_thread = int(model.pcie.numa_cpus[numa].split(",")[0].split("-")[0])
        socket = first_thread // per_socket
        if socket >= model.host.sockets:
            return everywhere
        cores = f"{socket * per_socket}-{(socket + 1) * per_socket - 1}"
        by_cores.setdefault(cores, []).append(index)
    return {cores: tuple(indexes) for cores, indexes in by_cores.items()}
