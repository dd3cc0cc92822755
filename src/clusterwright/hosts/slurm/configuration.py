"""Files of Slurm: slurm.conf, and its topology, cgroups, GPUs and plugins."""

from __future__ import annotations

import re
from collections import defaultdict
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
    """A NodeName line: equal nodes of one pod in equal state."""

    names: str
    hardware: str
    """Processors and memory in Slurm's words; "" where the catalogue has none."""
    gres: str
    feature: str
    state: str


@dataclass(frozen=True, slots=True)
class PartitionLine:
    """A PartitionName line, the first one the default."""

    name: str
    nodes: str
    groups: str
    """Groups and accounts that may use it; both "" without limits."""
    accounts: str
    shares_nodes: bool
    settings: tuple[tuple[str, str], ...]
    """Words and values, with those that the spec leaves out."""


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """slurmctld: its hosts and its state."""

    cluster: str
    hosts: tuple[str, ...]
    """``host(address)``, the acting one first."""
    ipv6: bool
    state: str
    """The folder of its state."""
    state_by: str
    """The component that keeps the folder alike on several controllers; "" for one controller."""
    key_by_site: str
    """The component that installs munge's key; "" for a deployment."""
    accountant: str
    """The host of slurmdbd; "" without."""
    enforces_accounts: bool


@dataclass(frozen=True, slots=True)
class MessageSettings:
    """Messages between daemons, their fan-out and time limits."""

    tree_width: int
    """Nodes that a node passes a message to; all of them where none does."""
    timeout_s: int
    unkillable_s: int
    """Time that a killed process may stay before its node is drained."""
    health_interval_s: int
    boot_s: int | None
    """Time limit of a boot that Slurm requests; None where rollouts request none."""


@dataclass(frozen=True, slots=True)
class JobSettings:
    """Placement and environment of jobs."""

    topology_plugin: str
    switch_type: str
    """The plugin that allocates channels of an NVLink domain to jobs; "" where no node has one."""
    gres_types: str
    shares_nodes: bool
    """Whether jobs of any partition share nodes: memory is then counted as well."""
    task_prolog: str
    """The program that sets variables of tasks; "" where the spec sets none."""
    epilog: str
    has_pmix: bool
    """Whether packages of all nodes are known to install PMIx: without it, its name would end every srun."""
    srun_ports: tuple[int, int] = SRUN_PORTS


def controller_settings(plan: Plan, scheduler: Scheduler, topology: SlurmTopology) -> ControllerSettings:
    """The controllers with the addresses that nodes reach them at."""
    hosts = []
    is_ipv6 = False
    for name in controllers(plan, scheduler):
        address = node_address(plan, plan.by_name[name], scheduler.nodes)
        if address is None:
            hosts.append(name)
        else:
            hosts.append(f"{name}({address})")
            is_ipv6 = is_ipv6 or ":" in address
    shared_by = scheduler.controllers.shared_by or ""
    munge = topology.munge
    return ControllerSettings(
        cluster=cluster_name(plan, scheduler),
        hosts=tuple(hosts),
        ipv6=is_ipv6,
        state=scheduler.controllers.state,
        state_by=shared_by if len(hosts) > 1 else "",
        key_by_site="" if munge is None else munge.by_site or "",
        accountant=accountant(plan, scheduler) or "",
        enforces_accounts=any(partition.allow_accounts for partition in scheduler.partitions),
    )


def message_settings(plan: Plan, scheduler: Scheduler) -> MessageSettings:
    """Fan-out and time limits for the number of nodes."""
    members = compute_nodes(plan, scheduler)
    boots = plan.spec.rollout.boots
    timeout_s = LARGE_TIMEOUT_S if len(members) > LARGE else USUAL_TIMEOUT_S
    # Where nodes pass no messages on, the controller sends to all of them itself.
    tree_width = max(USUAL_WIDTH, len(members))
    if passes_messages_on(scheduler):
        tree_width = _tree_width(len(members))
    return MessageSettings(
        tree_width=tree_width,
        timeout_s=timeout_s,
        unkillable_s=max(USUAL_UNKILLABLE_S, 5 * timeout_s),
        health_interval_s=_health_interval_s(plan, members),
        boot_s=None if boots is None else boots.boot_s,
    )


def job_settings(plan: Plan, scheduler: Scheduler, topology: SlurmTopology) -> JobSettings:
    """Plugins and programs around jobs."""
    has_gpus = any(plan.spec.catalogue[device.model].gpus is not None for device in compute_nodes(plan, scheduler))
    return JobSettings(
        topology_plugin=f"topology/{topology.plugin}",
        switch_type=switch_type(plan, scheduler),
        gres_types="gpu" if has_gpus else "",
        shares_nodes=any(partition.shared for partition in scheduler.partitions),
        task_prolog=TASK_ENVIRONMENT if has_job_environment(plan, scheduler) else "",
        epilog=f"/{EPILOG}",
        has_pmix=_have_pmix(plan, scheduler),
    )


def node_lines(plan: Plan, scheduler: Scheduler) -> tuple[NodeLine, ...]:
    """The nodes, equal ones in a line."""
    names: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for device in compute_nodes(plan, scheduler):
        model = plan.spec.catalogue[device.model]
        resource = gres(model.gpus) if model.gpus is not None else ""
        names[_hardware(model.host), resource, device.pod, device.state].append(device.name)
    lines = []
    for (hardware, resource, pod, state), members in names.items():
        line = NodeLine(names=hostlist(members), hardware=hardware, gres=resource, feature=pod, state=state)
        lines.append(line)
    return tuple(lines)


def partition_lines(plan: Plan, scheduler: Scheduler) -> Iterator[PartitionLine]:
    """The partitions in the spec's order."""
    members = compute_nodes(plan, scheduler)
    for partition in scheduler.partitions:
        yield PartitionLine(
            name=partition.name,
            nodes=hostlist(device.name for device in members if device.node_group in partition.nodes),
            groups=",".join(partition.allow_groups),
            accounts=",".join(partition.allow_accounts),
            shares_nodes=partition.shared,
            settings=partition_settings(plan, partition),
        )


def _groups_by_site(plan: Plan, scheduler: Scheduler) -> str:
    """The component that creates the groups that partitions name; "" where the spec does not say."""
    directory = plan.spec.site.directory
    names_groups = any(partition.allow_groups for partition in scheduler.partitions)
    if directory is None or not names_groups:
        return ""
    return f"{', '.join(directory.groups)}: {directory.by_site}"


def _have_pmix(plan: Plan, scheduler: Scheduler) -> bool:
    """Whether srun starts MPI's ranks by PMIx on all nodes: their images have its library for Slurm's plugin.

    On login nodes too, whose srun loads the plugin before it asks for anything.
    """
    groups = _groups(plan, (*scheduler.nodes, *login_groups(scheduler)))
    return bool(groups) and all(_has_pmix(plan, group) for group in groups)


def _has_pmix(plan: Plan, group: NodeGroup) -> bool:
    """Whether the distribution of a group's image has a package of PMIx."""
    image = plan.spec.image(group.image or "")
    distribution = distribution_of(image.distribution) if image is not None else None
    return distribution is not None and bool(distribution.packages_for("pmix"))


def _groups(plan: Plan, names: Iterable[str]) -> list[NodeGroup]:
    """The node groups with these names, without unknown ones."""
    groups = (plan.spec.node_group(name) for name in names)
    return [group for group in groups if group is not None]


def _tree_width(nodes: int) -> int:
    """The fan-out with which three hops reach every node (slurm.conf(5), TreeWidth: the cube root of large systems)."""
    return max(USUAL_WIDTH, ceil(round(cbrt(nodes), 6)))


def has_job_environment(plan: Plan, scheduler: Scheduler) -> bool:
    """Whether tasks on any of the nodes find variables of the spec in their environment."""
    return any(job_environment(plan, name) for name in scheduler.nodes)


def cluster_name(plan: Plan, scheduler: Scheduler) -> str:
    """Slurm's ClusterName: the spec's name, and the scheduler's own where it has one."""
    name = plan.name if scheduler.name is None else f"{plan.name}-{scheduler.name}"
    return _word(name)[:_CLUSTER_NAME_LENGTH]


@per_plan
def configuration_files(plan: Plan, scheduler: Scheduler) -> tuple[tuple[str, bytes], ...]:
    """A controller's files below /etc/slurm, by name; none without Slurm."""
    if scheduler.slurm is None:
        return ()
    slurm = scheduler.slurm
    words = {
        "controllers": controller_settings(plan, scheduler, slurm),
        "messages": message_settings(plan, scheduler),
        "jobs": job_settings(plan, scheduler, slurm),
        "settings": slurm.settings,
        "nodes": node_lines(plan, scheduler),
        "partitions": tuple(partition_lines(plan, scheduler)),
        "groups_by_site": _groups_by_site(plan, scheduler),
        "reason": DRAIN_REASON,
    }
    is_block = slurm.plugin == "block"
    topology = {
        "switches": () if is_block else tree(plan, scheduler),
        "blocks": blocks(plan, scheduler) if is_block else (),
        "sizes": slurm.block_sizes,
    }
    texts = (
        ("slurm.conf", template("slurm/slurm.conf.j2").render(**words)),
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
    """Plugins of srun and slurmstepd: pyxis, where nodes start containers by enroot."""
    images = [plan.spec.image(group.image or "") for group in _groups(plan, scheduler.nodes)]
    if any(uses_enroot(image) for image in images if image is not None):
        yield "plugstack.conf", template("slurm/plugstack.conf.j2").render()


def _health_interval_s(plan: Plan, members: Iterable[Device]) -> int:
    """The shortest interval of all images: Slurm has one for all nodes."""
    image_names = {device.image for device in members if device.image}
    images = [plan.spec.image(name) for name in image_names]
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
    """A name in letters that Slurm accepts for clusters."""
    return re.sub(r"[^\w-]", "_", text.lower())
