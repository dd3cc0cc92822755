"""What the files of a Slurm say: slurm.conf, and its topology, cgroups, GPUs and plugins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import cbrt, ceil

from clusterwright.hosts.linux.writer.network import node_address
from clusterwright.hosts.slurm.gpu_devices import DeviceLine, device_lines, gres
from clusterwright.hosts.slurm.hostlist import hostlist
from clusterwright.hosts.slurm.partitions import memory_mib, partition_settings
from clusterwright.hosts.slurm.topology import blocks, compute_nodes, switch_type, tree
from clusterwright.intent.gpu_services import uses_enroot
from clusterwright.intent.nccl_settings import TASK_ENVIRONMENT, job_environment
from clusterwright.intent.needs.jobs import SRUN_PORTS
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.scheduling import accountant, controllers, login_groups, passes_messages_on
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.distribution import distribution_of
from clusterwright.spec.hardware.models import Host
from clusterwright.spec.image import USUAL_HEALTH
from clusterwright.spec.job import Scheduler, SlurmTopology
from clusterwright.spec.model import NodeGroup
from clusterwright.text.templates import template

EPILOG = "usr/local/sbin/node-epilog"
# Ends the reason of each node that the spec drains, so that nodes drained by anybody else are told apart.
DRAIN_REASON = "in the spec"
# A width of 16, Slurm's own since 23.11, is three hops for 4,096 nodes. A message that fans out over more than a
# thousand nodes waits for the slowest of them: the 10 s that Slurm gives it by itself are for small clusters.
USUAL_WIDTH, LARGE = 16, 1024
USUAL_TIMEOUT_S, LARGE_TIMEOUT_S = 10, 60
USUAL_UNKILLABLE_S = 180  # an NFS server that fails over takes two minutes; Slurm's own is 60
_CLUSTER_NAME_LENGTH = 40


@dataclass(frozen=True, slots=True)
class NodeLine:
    """A NodeName line: equal nodes of one pod in equal state. ``hardware`` are its processors and memory in Slurm's
    words, "" where the catalogue has none."""

    names: str
    hardware: str
    gres: str
    feature: str
    state: str


@dataclass(frozen=True, slots=True)
class PartitionLine:
    """A PartitionName line, the first one the default; the last two are "" where anybody may use it."""

    name: str
    nodes: str
    groups: str
    accounts: str
    shares_nodes: bool
    settings: tuple[tuple[str, str], ...]
    """Words and values, those that the spec leaves out among them."""


@dataclass(frozen=True, slots=True)
class SlurmView:
    """What slurm.conf says. ``controllers`` are ``host(address)``, the acting one first.

    ``boot_s`` is how long a boot that Slurm is asked for may take, None where nobody asks it. ``task_prolog`` is the
    program that says what tasks find in their environment, "" where nothing is, and ``epilog`` what looks after a job.
    ``state`` is slurmctld's folder, which ``state_by`` keeps alike on several controllers, ``accountant`` the host of
    slurmdbd, "" without; ``enforces`` that jobs need an account. ``tree_width`` is how many nodes one node passes a
    message to: all of them where none does. ``key_by_site`` says who brings munge's key, "" where a deployment does.
    """

    cluster: str
    controllers: tuple[str, ...]
    plugin: str
    switch_type: str
    """What gives jobs channels of an NVLink domain; "" where no node has one."""
    gres_types: str
    ipv6: bool
    nodes: tuple[NodeLine, ...]
    partitions: tuple[PartitionLine, ...]
    state: str
    state_by: str
    accountant: str
    enforces: bool
    health_interval_s: int
    boot_s: int | None
    task_prolog: str
    epilog: str
    tree_width: int
    message_timeout_s: int
    unkillable_s: int
    """How long a killed process may stay before its node is drained."""
    has_pmix: bool
    """Whether packages of all nodes are known to bring PMIx: named without it, it would end every srun."""
    key_by_site: str
    shares_nodes: bool
    """Whether jobs of any partition share nodes: memory is then counted as well."""
    settings: tuple[tuple[str, str], ...]
    """The spec's own words of slurm.conf."""
    groups_by_site: str
    """Who brings the groups that partitions name; "" where the spec does not say."""
    srun_ports: tuple[int, int] = SRUN_PORTS


def slurm_view(plan: Plan, scheduler: Scheduler, topology: SlurmTopology) -> SlurmView:
    """Everything slurm.conf needs, from the plan."""
    by_line: dict[tuple[str, str, str, str], list[str]] = {}
    members = compute_nodes(plan, scheduler)
    for device in members:
        model = plan.spec.catalogue[device.model]
        resource = gres(model.gpus) if model.gpus is not None else ""
        by_line.setdefault((_hardware(model.host), resource, device.pod, device.state), []).append(device.name)
    askers = scheduler.nodes
    timeout_s = LARGE_TIMEOUT_S if len(members) > LARGE else USUAL_TIMEOUT_S
    addresses = {name: node_address(plan, plan.by_name[name], askers) for name in controllers(plan, scheduler)}
    return SlurmView(
        cluster=cluster_name(plan, scheduler),
        controllers=tuple(f"{name}({address})" if address else name for name, address in addresses.items()),
        plugin=f"topology/{topology.plugin}",
        switch_type=switch_type(plan, scheduler),
        gres_types="gpu" if any(resource for _, resource, _, _ in by_line) else "",
        ipv6=any(":" in address for address in addresses.values() if address),
        nodes=tuple(NodeLine(hostlist(names), *what) for what, names in by_line.items()),
        partitions=tuple(
            PartitionLine(
                partition.name,
                hostlist(device.name for device in members if device.node_group in partition.nodes),
                ",".join(partition.allow_groups),
                ",".join(partition.allow_accounts),
                partition.shared,
                partition_settings(plan, partition),
            )
            for partition in scheduler.partitions
        ),
        state=scheduler.controllers.state,
        state_by=scheduler.controllers.shared_by or "" if len(addresses) > 1 else "",
        accountant=accountant(plan, scheduler) or "",
        enforces=any(partition.allow_accounts for partition in scheduler.partitions),
        health_interval_s=_health_interval_s(plan, members),
        boot_s=plan.spec.rollout.boots.boot_s if plan.spec.rollout.boots is not None else None,
        epilog=f"/{EPILOG}",
        shares_nodes=any(partition.shared for partition in scheduler.partitions),
        settings=topology.settings,
        groups_by_site=_groups_by_site(plan, scheduler),
        key_by_site=topology.munge.by_site or "" if topology.munge is not None else "",
        tree_width=_tree_width(len(members)) if passes_messages_on(scheduler) else max(USUAL_WIDTH, len(members)),
        message_timeout_s=timeout_s,
        unkillable_s=max(USUAL_UNKILLABLE_S, 5 * timeout_s),
        has_pmix=_have_pmix(plan, scheduler),
        task_prolog=TASK_ENVIRONMENT if has_job_environment(plan, scheduler) else "",
    )


def _groups_by_site(plan: Plan, scheduler: Scheduler) -> str:
    directory = plan.spec.site.directory
    names_groups = any(partition.allow_groups for partition in scheduler.partitions)
    if directory is None or not names_groups:
        return ""
    return f"{', '.join(directory.groups)}: {directory.by_site}"


def _have_pmix(plan: Plan, scheduler: Scheduler) -> bool:
    """Whether srun starts MPI's ranks by PMIx on all nodes: their images have its library for Slurm's plugin.

    On login nodes too, whose srun loads the plugin before it asks for anything.
    """
    images = [
        plan.spec.image(group.image or "") for group in _groups(plan, (*scheduler.nodes, *login_groups(scheduler)))
    ]
    distributions = [distribution_of(image.distribution) for image in images if image is not None]
    return len(distributions) == len(images) > 0 and all(
        distribution is not None and distribution.packages_for("pmix") for distribution in distributions
    )


def _groups(plan: Plan, names: Iterable[str]) -> list[NodeGroup]:
    return [group for name in names if (group := plan.spec.node_group(name)) is not None]


def _tree_width(nodes: int) -> int:
    """The fan-out with which three hops reach every node (slurm.conf(5), TreeWidth: the cube root of large systems)."""
    return max(USUAL_WIDTH, ceil(round(cbrt(nodes), 6)))


def has_job_environment(plan: Plan, scheduler: Scheduler) -> bool:
    """Whether tasks on any of the nodes find variables of the spec in their environment."""
    return any(job_environment(plan, name) for name in scheduler.nodes)


def cluster_name(plan: Plan, scheduler: Scheduler) -> str:
    """What Slurm calls its cluster: the spec's name, and the scheduler's own where it has one."""
    name = plan.name if scheduler.name is None else f"{plan.name}-{scheduler.name}"
    return _word(name)[:_CLUSTER_NAME_LENGTH]


@per_plan
def configuration_files(plan: Plan, scheduler: Scheduler) -> tuple[tuple[str, bytes], ...]:
    """A controller's files below /etc/slurm, by name; none without Slurm."""
    if scheduler.slurm is None:
        return ()
    slurm = scheduler.slurm
    view = slurm_view(plan, scheduler, slurm)
    is_block = slurm.plugin == "block"
    topology = {
        "switches": () if is_block else tree(plan, scheduler),
        "blocks": blocks(plan, scheduler) if is_block else (),
        "sizes": slurm.block_sizes,
    }
    texts = (
        ("slurm.conf", template("slurm/slurm.conf.j2").render(view=view, reason=DRAIN_REASON)),
        ("topology.conf", template(f"slurm/topology-{slurm.plugin}.conf.j2").render(**topology)),
        ("topology.yaml", template("slurm/topology.yaml.j2").render(**topology)),
        ("cgroup.conf", template("slurm/cgroup.conf.j2").render()),
        ("gres.conf", template("slurm/gres.conf.j2").render(lines=list(_gpu_lines(plan, scheduler)))),
    )
    return tuple((name, text.encode()) for name, text in (*texts, *_plugins(plan, scheduler)))


def _gpu_lines(plan: Plan, scheduler: Scheduler) -> Iterator[DeviceLine]:
    members: dict[tuple[str, str], list[str]] = {}
    for device in compute_nodes(plan, scheduler):
        members.setdefault((device.model, device.image or ""), []).append(device.name)
    yield from device_lines(plan, members)


def _plugins(plan: Plan, scheduler: Scheduler) -> Iterator[tuple[str, str]]:
    """What srun and slurmstepd load: pyxis, where nodes start containers by enroot."""
    images = (
        image for group in _groups(plan, scheduler.nodes) if (image := plan.spec.image(group.image or "")) is not None
    )
    if any(uses_enroot(image) for image in images):
        yield "plugstack.conf", template("slurm/plugstack.conf.j2").render()


def _health_interval_s(plan: Plan, members: Iterable[Device]) -> int:
    """Slurm has one interval for all nodes: that of the image that asks for the shortest."""
    images = [plan.spec.image(name) for name in sorted({device.image for device in members if device.image})]
    return min((image.health.interval_s for image in images if image is not None), default=USUAL_HEALTH.interval_s)


def _hardware(host: Host | None) -> str:
    """Processors and memory as slurmd finds them, or a little less: it drains a node with less than is written."""
    if host is None:
        return ""
    return (
        f"Sockets={host.sockets} CoresPerSocket={host.cores_per_socket} ThreadsPerCore={host.threads_per_core} "
        f"RealMemory={memory_mib(host)}"
    )


def _word(text: str) -> str:
    """A name in the letters that Slurm takes for clusters."""
    return "".join(char if char.isalnum() or char in "_-" else "_" for char in text.lower())
