"""What a scheduler and the ranks of a job need between nodes."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.intent.needs.need import Need, Party, imaged_party, party_of
from clusterwright.intent.zone_networks import ROCE_PORT
from clusterwright.spec.image import Image
from clusterwright.spec.kernel_settings import dotted
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path

SLURMCTLD_PORT, SLURMD_PORT = 6817, 6818
# Where srun listens (SrunPortRange): above the ports that Linux gives out by itself, so that nothing else takes them.
# One srun takes three, and two more for every 48 nodes (slurm.conf's manual): 131 for a job of 3,072 nodes.
SRUN_PORTS = (61000, 63999)
# What Linux takes by itself (net.ipv4.ip_local_port_range), in Documentation/networking/ip-sysctl.rst.
OWN_PORTS = (32768, 60999)
PORT_RANGE = "net.ipv4.ip_local_port_range"
LISTENERS = "listeners"
MASTER_PORT = 29500  # PyTorch's, where a job names none (torch/distributed/run.py)
KUBERNETES_PORT, KUBELET_PORT = 6443, 10250


def listening_ports(image: Image) -> tuple[Path, tuple[int, int] | None]:
    """The ports that an image's kernel gives to listeners that ask for none; None for a setting that is not two ports.

    Before them the setting's place, () where there is none.
    """
    said = next(((name, value) for name, value in image.sysctl.items() if dotted(name) == PORT_RANGE), None)
    if said is None:
        return (), OWN_PORTS
    path, ports = (*image.path, "sysctl", said[0]), said[1].split()
    if len(ports) != 2 or not all(port.isdecimal() for port in ports):
        return path, None
    return path, (int(ports[0]), int(ports[1]))


def slurm(spec: ClusterSpec) -> Iterator[Need]:
    """Daemons both ways; srun within a job, which starts steps on other nodes and takes what their tasks write."""
    if spec.scheduler is None or spec.scheduler.slurm is None:
        return
    path = spec.scheduler.path
    rows = (
        (False, True, (SLURMCTLD_PORT,) * 2, "slurmctld answers there", "slurmd.service, srun"),
        (True, False, (SLURMD_PORT,) * 2, "slurmd answers there", "slurmctld.service"),
        (False, False, (SLURMD_PORT,) * 2, "slurmd starts steps there and passes messages on", "srun, slurmd.service"),
        (False, False, SRUN_PORTS, "srun waits there for its tasks", "slurmstepd"),
    )
    controllers = next((group.name for group in spec.node_groups if group.role == "service"), "")
    for server in party_of(spec, controllers):
        for node in imaged_party(spec, spec.scheduler.nodes):
            for from_server, to_server, (low, high), why, unit in rows:
                who, whom = server if from_server else node, server if to_server else node
                yield Need("scheduler", who, whom, "tcp", low, high, why, unit, path)


def kueue(spec: ClusterSpec) -> Iterator[Need]:
    """Nodes and Kubernetes' API server, both ways."""
    if spec.scheduler is None or spec.scheduler.kueue is None:
        return
    path, server = spec.scheduler.path, Party("Kubernetes' API server", None)
    for node in imaged_party(spec, spec.scheduler.nodes):
        port, why = KUBERNETES_PORT, "it gives nodes their pods"
        yield Need("scheduler", node, server, "tcp", port, port, why, "kubelet.service", path)
        port, why = KUBELET_PORT, "it is asked for logs and shells of pods"
        yield Need("scheduler", server, node, "tcp", port, port, why, "kube-apiserver", path)


def jobs(spec: ClusterSpec) -> Iterator[Need]:
    """What ranks of a job say to each other beside RDMA's own words: rendezvous, bootstrap, RoCE."""
    nccl = spec.nccl
    fabric = spec.fabric(nccl.fabric) if nccl is not None else None
    group = spec.node_group(nccl.nodes) if nccl is not None else None
    if nccl is None or fabric is None or group is None or group.image is None:
        return
    image = spec.image(group.image)
    for node in party_of(spec, group.name, nccl.sockets):
        said, ports = ((), OWN_PORTS) if image is None else listening_ports(image)
        if ports is not None:
            why, unit = "NCCL and PyTorch listen there", "NCCL's bootstrap, PyTorch's process groups"
            yield Need(LISTENERS, node, node, "tcp", *ports, why, unit, said or (*nccl.path, "sockets"))
        if nccl.pytorch is not None:
            why, unit = "the ranks of a job meet there", "torchrun (MASTER_PORT)"
            yield Need("jobs", node, node, "tcp", MASTER_PORT, MASTER_PORT, why, unit, (*nccl.path, "pytorch"))
    if fabric.technology == "roce":
        for node in party_of(spec, group.name, fabric.name):
            why, unit = "that is RoCE itself", "adapters"
            yield Need("jobs", node, node, "udp", ROCE_PORT, ROCE_PORT, why, unit, (*nccl.path, "fabric"))
