"""Slurm: the controller's files on service nodes, and what makes a compute node ask the controller for the rest.

Compute nodes run configless: slurmd fetches slurm.conf from the controllers, so that it exists once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import cbrt, ceil

from clusterwright.artifact import Artifact
from clusterwright.intent.nccl_settings import TASK_ENVIRONMENT, job_environment
from clusterwright.intent.needs.jobs import SLURMCTLD_PORT, SRUN_PORTS
from clusterwright.intent.node_kind import NodeKind
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.scheduling import (
    AUTHENTICATION,
    CONTROLLER_UNITS,
    WORKER_UNITS,
    controllers,
    is_controller,
    munge_secret,
    slurm_units,
)
from clusterwright.plan.model import Device, Plan
from clusterwright.platforms.linux.writer.mounts import mounts_of
from clusterwright.platforms.linux.writer.network import node_address
from clusterwright.platforms.linux.writer.qos import has_lossless_nics
from clusterwright.platforms.linux.writer.secrets import MUNGE_KEY
from clusterwright.platforms.platform import SharedFile, Writer
from clusterwright.platforms.slurm.hostlist import hostlist
from clusterwright.platforms.slurm.topology import blocks, compute_nodes, tree
from clusterwright.platforms.templates import template
from clusterwright.spec.hardware.models import Gpus, Host
from clusterwright.spec.image import USUAL_HEALTH
from clusterwright.spec.job import Scheduler, SlurmTopology

KIND = "slurm"
FOLDER = "etc/slurm"
WANTS = "etc/systemd/system/multi-user.target.d/92-slurm.conf"
STATE_FOLDERS = "etc/tmpfiles.d/clusterwright-slurm.conf"
EPILOG = "usr/local/sbin/node-epilog"
# A width of 16, Slurm's own since 23.11, is three hops for 4,096 nodes. A message that fans out over more than a
# thousand nodes waits for the slowest of them: the 10 s that Slurm gives it by itself are for small clusters.
USUAL_WIDTH, LARGE = 16, 1024
USUAL_TIMEOUT_S, LARGE_TIMEOUT_S = 10, 60
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
class SlurmView:
    """What slurm.conf says. ``controllers`` are ``host(address)``, the acting one first.

    ``boot_s`` is how long a boot that Slurm is asked for may take, None where nobody asks it. ``task_prolog`` is the
    program that says what tasks find in their environment, "" where nothing is, and ``epilog`` what looks after a job.
    ``tree_width`` is how many nodes one node passes a message to. ``key_by_site`` says who brings munge's key, "" where
    a deployment does.
    """

    cluster: str
    controllers: tuple[str, ...]
    plugin: str
    gres_types: str
    ipv6: bool
    nodes: tuple[NodeLine, ...]
    partition: str
    all_nodes: str
    health_interval_s: int
    boot_s: int | None
    task_prolog: str
    epilog: str
    tree_width: int
    message_timeout_s: int
    key_by_site: str
    srun_ports: tuple[int, int] = SRUN_PORTS


def applies(plan: Plan, device: Device) -> bool:
    """The controller, and compute nodes that run an image, where there is a controller."""
    return bool(slurm_units(plan, device))


def own(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The controller's files on controllers, topology in both forms."""
    if is_controller(plan, device):
        for path, content in _waking(plan, CONTROLLER_UNITS):
            yield Artifact(device.name, path, content, KIND)
        yield Artifact(device.name, STATE_FOLDERS, template("slurm/tmpfiles.conf.j2").render().encode(), KIND)
        for name, content in _controller_files(plan):
            yield Artifact(device.name, f"{FOLDER}/{name}", content, KIND)


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """Slurmd's options on compute nodes."""
    if kind.slurm_units != WORKER_UNITS:
        return
    waits = has_lossless_nics(plan, kind)
    for path, content in (*_waking(plan, WORKER_UNITS), *_worker_files(plan, kind.node_group, waits)):
        yield path, content, 0o644
    gpus = plan.spec.catalogue[kind.model].gpus is not None
    yield EPILOG, template("slurm/epilog.sh.j2").render(gpus=gpus).encode(), 0o755


WRITER = Writer(KIND, applies, own, shared)


def _waking(plan: Plan, units: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """What starts a machine's units of Slurm, once the key is there that they need."""
    has_key = munge_secret(plan) is not None
    wants = template("slurm/wants.conf.j2").render(units=(*units, "munge-key.path") if has_key else units)
    yield WANTS, wants.encode()
    for path, text in _key_units(units) if has_key else ():
        yield path, text.encode()


def _key_units(units: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """What has munge and the daemons behind it wait for the key, and start with it when a deployment brings one."""
    words = {"key": f"/{MUNGE_KEY}", "units": " ".join(units)}
    folder = "etc/systemd/system"
    yield f"{folder}/munge-key.path", template("slurm/munge-key.path.j2").render(**words)
    yield f"{folder}/munge-key.service", template("slurm/munge-key.service.j2").render(**words)
    yield f"{folder}/munge.service.d/90-clusterwright.conf", template("slurm/munge.service.conf.j2").render(**words)
    if units == CONTROLLER_UNITS:
        text = template("slurm/slurmctld.service.conf.j2").render(authentication=AUTHENTICATION, **words)
        yield f"{folder}/slurmctld.service.d/90-clusterwright.conf", text


def slurm_view(plan: Plan, scheduler: Scheduler, topology: SlurmTopology) -> SlurmView:
    """Everything slurm.conf needs, from the plan."""
    by_line: dict[tuple[str, str, str, str], list[str]] = {}
    members = compute_nodes(plan, scheduler)
    for device in members:
        model = plan.spec.catalogue[device.model]
        resource = gres(model.gpus) if model.gpus is not None else ""
        by_line.setdefault((_hardware(model.host), resource, device.pod, device.state), []).append(device.name)
    addresses = {name: node_address(plan, plan.by_name[name]) for name in controllers(plan)}
    return SlurmView(
        cluster=_word(plan.name)[:_CLUSTER_NAME_LENGTH],
        controllers=tuple(f"{name}({address})" if address else name for name, address in addresses.items()),
        plugin=f"topology/{topology.plugin}",
        gres_types="gpu" if any(resource for _, resource, _, _ in by_line) else "",
        ipv6=any(":" in address for address in addresses.values() if address),
        nodes=tuple(NodeLine(hostlist(names), *what) for what, names in by_line.items()),
        partition=scheduler.nodes,
        all_nodes=hostlist(device.name for device in members),
        health_interval_s=_health_interval_s(plan, members),
        boot_s=plan.spec.rollout.boots.boot_s if plan.spec.rollout.boots is not None else None,
        epilog=f"/{EPILOG}",
        key_by_site=topology.munge.by_site or "" if topology.munge is not None else "",
        tree_width=_tree_width(len(members)),
        message_timeout_s=LARGE_TIMEOUT_S if len(members) > LARGE else USUAL_TIMEOUT_S,
        task_prolog=TASK_ENVIRONMENT if _has_job_environment(plan, scheduler) else "",
    )


def _tree_width(nodes: int) -> int:
    """The fan-out with which three hops reach every node (slurm.conf(5), TreeWidth: the cube root of large systems)."""
    return max(USUAL_WIDTH, ceil(round(cbrt(nodes), 6)))


def _has_job_environment(plan: Plan, scheduler: Scheduler) -> bool:
    nccl = plan.spec.nccl
    return nccl is not None and nccl.nodes == scheduler.nodes and bool(job_environment(plan))


@per_plan
def _controller_files(plan: Plan) -> tuple[tuple[str, bytes], ...]:
    scheduler = plan.spec.scheduler
    if scheduler is None or scheduler.slurm is None:
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
        ("slurm.conf", template("slurm/slurm.conf.j2").render(view=view)),
        ("topology.conf", template(f"slurm/topology-{slurm.plugin}.conf.j2").render(**topology)),
        ("topology.yaml", template("slurm/topology.yaml.j2").render(**topology)),
        ("cgroup.conf", template("slurm/cgroup.conf.j2").render()),
        ("gres.conf", template("slurm/gres.conf.j2").render(nodes=[line for line in view.nodes if line.gres])),
    )
    return tuple((name, text.encode()) for name, text in texts)


def _health_interval_s(plan: Plan, members: Iterable[Device]) -> int:
    """Slurm has one interval for all nodes: that of the image that asks for the shortest."""
    images = [plan.spec.image(name) for name in sorted({device.image for device in members if device.image})]
    return min((image.health.interval_s for image in images if image is not None), default=USUAL_HEALTH.interval_s)


def _hardware(host: Host | None) -> str:
    """Processors and memory as slurmd will find them, or a little less: it drains a node that has less than is written.

    The catalogue counts memory in powers of ten, memory modules come in powers of two.
    """
    if host is None:
        return ""
    memory_mib = host.memory_gb * 10**9 // 2**20
    return (
        f"Sockets={host.sockets} CoresPerSocket={host.cores_per_socket} ThreadsPerCore={host.threads_per_core} "
        f"RealMemory={memory_mib}"
    )


def gres(gpus: Gpus) -> str:
    """GPUs as slurm.conf counts them, of no type where nobody knows what NVML calls them.

    slurmd takes NVML's name in small letters with ``_`` for blanks (gpu_common_underscorify_tolower), and a node whose
    type is no part of that registers as INVALID (gres.conf(5), "Type").
    """
    kind = f"{gpus.nvml_name.lower().replace(' ', '_')}:" if gpus.nvml_name is not None else ""
    return f"gpu:{kind}{gpus.count}"


@per_plan
def _worker_files(plan: Plan, node_group: str, waits_for_qos: bool) -> tuple[tuple[str, bytes], ...]:
    servers = ",".join(f"{name}:{SLURMCTLD_PORT}" for name in controllers(plan))
    key = f"/{MUNGE_KEY}" if munge_secret(plan) is not None else ""
    options = template("slurm/slurmd.j2").render(servers=servers)
    drop_in = template("slurm/slurmd.service.conf.j2").render(
        qos=waits_for_qos, mounts=bool(mounts_of(plan, node_group)), authentication=AUTHENTICATION, key=key
    )
    return (
        ("etc/default/slurmd", options.encode()),
        ("etc/systemd/system/slurmd.service.d/90-clusterwright.conf", drop_in.encode()),
    )


def _word(text: str) -> str:
    """A name in the letters that Slurm takes for clusters."""
    return "".join(char if char.isalnum() or char in "_-" else "_" for char in text.lower())
