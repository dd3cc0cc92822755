"""Needs of a scheduler and of a job's ranks between nodes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from clusterwright.intent.gpu_services import memory_exchange
from clusterwright.intent.needs.need import Need, Party, imaged_party, party_of, server_at
from clusterwright.intent.scheduling import login_groups
from clusterwright.spec.image import Image
from clusterwright.spec.isolation import ROCE_PORT
from clusterwright.spec.job import NcclProfile, Scheduler
from clusterwright.spec.kernel_settings import dotted
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path

SLURMCTLD_PORT, SLURMD_PORT, SLURMDBD_PORT = 6817, 6818, 6819
DATABASE_PORT = 3306
ITSELF = ("localhost", "127.0.0.1", "::1")
# Ports of srun (SrunPortRange): above Linux' ephemeral ports, so that no other program takes them. One srun takes
# three, and two more for every 48 nodes (slurm.conf's manual): 131 for a job of 3,072 nodes.
SRUN_PORTS = (61000, 63999)
# Ephemeral ports of Linux (net.ipv4.ip_local_port_range), in Documentation/networking/ip-sysctl.rst.
OWN_PORTS = (32768, 60999)
PORT_RANGE = "net.ipv4.ip_local_port_range"
LISTENERS = "listeners"
MASTER_PORT = 29500  # PyTorch's default (torch/distributed/run.py)
KUBELET_PORT = 10250


def listening_ports(image: Image) -> tuple[Path, tuple[int, int] | None]:
    """Path in the spec and value of an image's range of ephemeral ports.

    The path is () without a setting; the range is None for a setting other than two ports.
    """
    for name, value in image.sysctl.items():
        if dotted(name) == PORT_RANGE:
            return (*image.path, "sysctl", name), _two_ports(value)
    return (), OWN_PORTS


def _two_ports(value: str) -> tuple[int, int] | None:
    ports = value.split()
    if len(ports) != 2 or not all(port.isdecimal() for port in ports):
        return None
    return int(ports[0]), int(ports[1])


def slurm(spec: ClusterSpec) -> Iterator[Need]:
    """Every Slurm's daemons in both directions, srun within a partition, controllers and the accounting daemon.

    srun starts steps on other nodes and receives their tasks' output.
    """
    for scheduler in spec.schedulers:
        if scheduler.slurm is None:
            continue
        path = scheduler.path
        servers = tuple(party_of(spec, controller_group(spec, scheduler)))
        for server in servers:
            for node in _scheduled_nodes(spec, scheduler):
                asks, slurmctld = "slurmd.service, srun", (SLURMCTLD_PORT,) * 2
                yield Need("scheduler", node, server, "tcp", *slurmctld, "slurmctld answers there", asks, path)
                asks, slurmd = "slurmctld.service", (SLURMD_PORT,) * 2
                yield Need("scheduler", server, node, "tcp", *slurmd, "slurmd answers there", asks, path)
        yield from _steps(spec, scheduler)
        yield from _from_login_nodes(spec, scheduler, servers)
        yield from _among_controllers(spec, scheduler, servers)


def _scheduled_nodes(spec: ClusterSpec, scheduler: Scheduler) -> Iterator[Party]:
    """The node groups of a scheduler with an image."""
    for name in scheduler.nodes:
        yield from imaged_party(spec, name)


def controller_group(spec: ClusterSpec, scheduler: Scheduler) -> str:
    """The node group of a scheduler's controllers; "" without one."""
    if scheduler.controllers.nodes:
        return scheduler.controllers.nodes
    service_groups = [group.name for group in spec.node_groups if group.role == "service"]
    return service_groups[0] if service_groups else ""


def _steps(spec: ClusterSpec, scheduler: Scheduler) -> Iterator[Need]:
    """Traffic between nodes of one partition: jobs span no more, and slurmd forwards messages to no others."""
    pairs: dict[tuple[str, str], None] = {}
    for partition in scheduler.partitions:
        pairs |= dict.fromkeys(product(partition.nodes, partition.nodes))
    rows = (
        ((SLURMD_PORT,) * 2, "slurmd starts steps there and passes messages on", "srun, slurmd.service"),
        (SRUN_PORTS, "srun waits there for its tasks", "slurmstepd"),
    )
    for one, other in pairs:
        for who, whom in product(imaged_party(spec, one), imaged_party(spec, other)):
            for ports, why, unit in rows:
                yield Need("scheduler", who, whom, "tcp", *ports, why, unit, scheduler.path)


def _login_parties(spec: ClusterSpec, scheduler: Scheduler) -> Iterator[Party]:
    """The login groups of a Slurm with an image, without those that run jobs, which CW684 refuses."""
    for name in login_groups(scheduler):
        if name not in scheduler.nodes:
            yield from imaged_party(spec, name)


def _from_login_nodes(spec: ClusterSpec, scheduler: Scheduler, servers: tuple[Party, ...]) -> Iterator[Need]:
    """Commands on login nodes, with replies to srun and salloc there: their allocations, their tasks' output."""
    path, slurmctld, slurmd = (*scheduler.path, "login"), (SLURMCTLD_PORT,) * 2, (SLURMD_PORT,) * 2
    for login in _login_parties(spec, scheduler):
        for server in servers:
            if _is_one_machine(login, server, scheduler.controllers.count):
                continue
            why, unit = "slurmctld takes jobs there", "sbatch, salloc, srun"
            yield Need("scheduler", login, server, "tcp", *slurmctld, why, unit, path)
            why, unit = "srun and salloc wait there for their nodes", "slurmctld.service"
            yield Need("scheduler", server, login, "tcp", *SRUN_PORTS, why, unit, path)
        for node in _scheduled_nodes(spec, scheduler):
            yield Need("scheduler", login, node, "tcp", *slurmd, "slurmd starts steps there", "srun", path)
            why, unit = "srun waits there for its tasks", "slurmstepd"
            yield Need("scheduler", node, login, "tcp", *SRUN_PORTS, why, unit, path)


def _is_one_machine(login: Party, server: Party, servers: int) -> bool:
    """Whether all machines of a login group run the server, so that no connection leaves them."""
    return login.name == server.name and login.group is not None and login.group.count <= servers


def _daemon_need(who: Party, whom: Party, port: int, *, why: str, unit: str, path: Path) -> Need:
    """A Slurm daemon's request to another one at its TCP port."""
    return Need(
        topic="scheduler",
        who=who,
        whom=whom,
        protocol="tcp",
        low=port,
        high=port,
        why=why,
        unit=unit,
        path=path,
    )


def _among_controllers(spec: ClusterSpec, scheduler: Scheduler, servers: tuple[Party, ...]) -> Iterator[Need]:
    """Backups to the acting slurmctld; slurmctld to slurmdbd; slurmdbd to an external database."""
    wanted = scheduler.controllers
    if wanted.count > 1:
        for server in servers:
            yield _daemon_need(
                server,
                server,
                SLURMCTLD_PORT,
                why="slurmctld answers its backups there",
                unit="slurmctld.service",
                path=wanted.path,
            )
    accounting = scheduler.slurm.accounting if scheduler.slurm is not None else None
    if accounting is None:
        return
    for keeper in party_of(spec, accounting.nodes):
        for server in servers:
            if keeper.name == server.name and wanted.count == 1:
                continue  # both on the first machine of one group
            yield _daemon_need(
                server,
                keeper,
                SLURMDBD_PORT,
                why="slurmdbd takes the records of jobs there",
                unit="slurmctld.service",
                path=accounting.path,
            )
            yield _daemon_need(
                keeper,
                server,
                SLURMCTLD_PORT,
                why="slurmctld is told of accounts there",
                unit="slurmdbd.service",
                path=accounting.path,
            )
        for login in _login_parties(spec, scheduler):
            if not _is_one_machine(login, keeper, 1):
                yield _daemon_need(
                    login,
                    keeper,
                    SLURMDBD_PORT,
                    why="slurmdbd is asked for the records of jobs",
                    unit="sacct, sreport",
                    path=accounting.path,
                )
        host = accounting.database.host
        if host not in ITSELF:
            yield _daemon_need(
                keeper,
                server_at(spec, host),
                DATABASE_PORT,
                why="the database answers there",
                unit="slurmdbd.service",
                path=accounting.path,
            )


def nvlink_domains(spec: ClusterSpec) -> Iterator[Need]:
    """Nodes of an NVLink domain: they agree over the network on shared memory."""
    for group in spec.node_groups:
        exchange = memory_exchange(group, spec.image(group.image or ""))
        if exchange is None:
            continue
        path = (*group.path, "nvlink_domain")
        for who, whom in product(imaged_party(spec, group.name), repeat=2):
            yield Need(
                topic="jobs",
                who=who,
                whom=whom,
                protocol="tcp",
                low=exchange.port,
                high=exchange.port,
                why="nodes of an NVLink domain meet there",
                unit=exchange.unit,
                path=path,
            )


def kueue(spec: ClusterSpec) -> Iterator[Need]:
    """Nodes and Kubernetes' API server, both ways."""
    server = Party("Kubernetes' API server", None)
    for scheduler in spec.schedulers:
        if scheduler.kueue is None:
            continue
        for node in _scheduled_nodes(spec, scheduler):
            port, why = scheduler.kueue.api_port, "it gives nodes their pods"
            yield Need(
                topic="scheduler",
                who=node,
                whom=server,
                protocol="tcp",
                low=port,
                high=port,
                why=why,
                unit="kubelet.service",
                path=scheduler.path,
            )
            port, why = KUBELET_PORT, "it serves logs and shells of pods"
            yield Need(
                topic="scheduler",
                who=server,
                whom=node,
                protocol="tcp",
                low=port,
                high=port,
                why=why,
                unit="kube-apiserver",
                path=scheduler.path,
            )


def jobs(spec: ClusterSpec) -> Iterator[Need]:
    """Traffic between ranks of a job beside RDMA: rendezvous, bootstrap, RoCE.

    They are on one node group, or on several in one Slurm partition.
    """
    together = {(group.name, group.name) for group in spec.node_groups}
    for scheduler in spec.schedulers:
        for partition in scheduler.partitions:
            together.update(product(partition.nodes, partition.nodes))
    for nccl in spec.nccl_profiles:
        for one, other in product((group.name for group in spec.node_groups), repeat=2):
            if one in nccl.nodes and (one, other) in together:
                yield from _ranks(spec, nccl, one, other)


def _ranks(spec: ClusterSpec, nccl: NcclProfile, one: str, other: str) -> Iterator[Need]:
    """Requests of ranks on a profile's group to ranks on another, or on the same."""
    fabric, there = spec.fabric(nccl.fabric), spec.node_group(other)
    if fabric is None or there is None or there.image is None:
        return
    image = spec.image(there.image)
    for node, peer in _pairs(spec, one, other, nccl.sockets):
        origin, ports = ((), OWN_PORTS) if image is None else listening_ports(image)
        if ports is not None:
            why, unit = "NCCL and PyTorch listen there", "NCCL's bootstrap, PyTorch's process groups"
            yield Need(LISTENERS, node, peer, "tcp", *ports, why, unit, origin or (*nccl.path, "sockets"))
        if nccl.pytorch is not None:
            why, unit = "the ranks of a job meet there", "torchrun (MASTER_PORT)"
            yield Need(
                topic="jobs",
                who=node,
                whom=peer,
                protocol="tcp",
                low=MASTER_PORT,
                high=MASTER_PORT,
                why=why,
                unit=unit,
                path=(*nccl.path, "pytorch"),
            )
    if fabric.technology == "roce":
        for node, peer in _pairs(spec, one, other, fabric.name):
            why, unit = "that is RoCE itself", "adapters"
            yield Need(
                topic="jobs",
                who=node,
                whom=peer,
                protocol="udp",
                low=ROCE_PORT,
                high=ROCE_PORT,
                why=why,
                unit=unit,
                path=(*nccl.path, "fabric"),
            )


def _pairs(spec: ClusterSpec, one: str, other: str, fabric: str) -> Iterator[tuple[Party, Party]]:
    yield from product(party_of(spec, one, fabric), party_of(spec, other, fabric))
