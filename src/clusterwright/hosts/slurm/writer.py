"""Slurm: the controller's files on service nodes, and what makes a compute node ask the controller for the rest.

Compute nodes run configless: slurmd fetches slurm.conf from the controllers, so that it exists once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import cbrt, ceil

from clusterwright.artifact import Artifact
from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.linux.writer.credentials import BY_DEPLOYMENT, arrival_units
from clusterwright.hosts.linux.writer.mounts import mounts_of
from clusterwright.hosts.linux.writer.network import node_address
from clusterwright.hosts.linux.writer.qos import has_lossless_nics
from clusterwright.hosts.linux.writer.secrets import MUNGE_KEY
from clusterwright.hosts.slurm.gpu_devices import DeviceLine, device_lines, gres
from clusterwright.hosts.slurm.hostlist import hostlist
from clusterwright.hosts.slurm.partitions import memory_mib, partition_settings
from clusterwright.hosts.slurm.topology import blocks, compute_nodes, switch_type, tree
from clusterwright.intent.device_kind import NodeKind
from clusterwright.intent.gpu_services import driven_vendor, gpu_vendor, uses_enroot
from clusterwright.intent.nccl_settings import TASK_ENVIRONMENT, job_environment
from clusterwright.intent.needs.jobs import SLURMCTLD_PORT, SRUN_PORTS
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.scheduling import (
    ACCOUNTING,
    AUTHENTICATION,
    WORKER_UNITS,
    accountant,
    controllers,
    is_controller,
    keeps_accounts,
    munge_secret,
    passes_messages_on,
    slurm_run_by,
    slurm_units,
)
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.distribution import distribution_of, slurm_number
from clusterwright.spec.hardware.models import Host
from clusterwright.spec.image import USUAL_HEALTH
from clusterwright.spec.job import Scheduler, SlurmTopology
from clusterwright.spec.model import NodeGroup
from clusterwright.text.templates import template

KIND = "slurm"
FOLDER = "etc/slurm"
WANTS = "etc/systemd/system/multi-user.target.d/92-slurm.conf"
STATE_FOLDERS = "etc/tmpfiles.d/clusterwright-slurm.conf"
USERS = "etc/sysusers.d/clusterwright-slurm.conf"
DATABASE_FILE = "etc/clusterwright/slurmdbd.conf"
EPILOG = "usr/local/sbin/node-epilog"
RETURN_NODES = "usr/local/sbin/slurm-return-nodes"
# Ends the reason of each node that the spec drains, so that nodes drained by anybody else are told apart.
DRAIN_REASON = "in the spec"
# A width of 16, Slurm's own since 23.11, is three hops for 4,096 nodes. A message that fans out over more than a
# thousand nodes waits for the slowest of them: the 10 s that Slurm gives it by itself are for small clusters.
USUAL_WIDTH, LARGE = 16, 1024
USUAL_TIMEOUT_S, LARGE_TIMEOUT_S = 10, 60
USUAL_UNKILLABLE_S = 180  # an NFS server that fails over takes two minutes; Slurm's own is 60
SETTLE_S = 180  # for a clock that is set and daemons that start; a boot itself is over by then
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


def applies(plan: Plan, device: Device) -> bool:
    """The controller, and compute nodes that run an image, where there is a controller."""
    return bool(slurm_units(plan, device))


def own(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The controller's files on controllers, topology in both forms; slurmdbd's on the machine that runs it."""
    scheduler = slurm_run_by(plan, device)
    if scheduler is None:
        return
    for path, content in _waking(scheduler, slurm_units(plan, device)):
        yield Artifact(device.name, path, content, KIND)
    folders = template("slurm/tmpfiles.conf.j2").render(state=_own_state(plan, scheduler, device))
    yield Artifact(device.name, STATE_FOLDERS, folders.encode(), KIND)
    if keeps_accounts(plan, device):
        yield from _accounting_files(plan, scheduler, device)
    if not is_controller(plan, device):
        return
    for name, content in _controller_files(plan, scheduler):
        yield Artifact(device.name, f"{FOLDER}/{name}", content, KIND)
    script = template("slurm/return-nodes.sh.j2").render(reason=DRAIN_REASON)
    yield Artifact(device.name, RETURN_NODES, script.encode(), KIND, 0o755)
    start = template("slurm/slurmctld-nodes.conf.j2").render(program=f"/{RETURN_NODES}")
    yield Artifact(device.name, "etc/systemd/system/slurmctld.service.d/91-nodes.conf", start.encode(), KIND)


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """Slurmd's options on compute nodes."""
    scheduler = plan.spec.scheduler(kind.node_group)
    if scheduler is None or kind.slurm_units != WORKER_UNITS:
        return
    qos, persistence_unit = has_lossless_nics(plan, kind), _persistence_unit(plan, kind)
    files = _worker_files(plan, scheduler, kind.node_group, qos, persistence_unit)
    for path, content in (*_waking(scheduler, WORKER_UNITS), *files):
        yield path, content, 0o644
    vendor = gpu_vendor(plan.spec.catalogue[kind.model], plan.spec.image(kind.image))
    words = {
        "held_by": vendor.held_by if vendor is not None else None,
        "held_on": vendor.held_on.replace("{}", '"$SLURM_JOB_GPUS"') if vendor is not None and vendor.held_on else "",
        "shared": any(partition.shared for partition in scheduler.partitions if kind.node_group in partition.nodes),
    }
    yield EPILOG, template("slurm/epilog.sh.j2").render(**words).encode(), 0o755
    if _has_job_environment(plan, scheduler) and not job_environment(plan, kind.node_group):
        yield TASK_ENVIRONMENT.removeprefix("/"), template("slurm/no-environment.sh.j2").render().encode(), 0o755


WRITER = Writer(KIND, applies, own, shared)


def _persistence_unit(plan: Plan, kind: NodeKind) -> str:
    """The unit that makes device files of GPUs, where the image brings their driver; "" without one."""
    image = plan.spec.image(kind.image)
    vendor = driven_vendor(image) if image is not None else None
    if vendor is None or plan.spec.catalogue[kind.model].gpus is None:
        return ""
    return vendor.persistence_unit or ""


def _waking(scheduler: Scheduler, units: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """What starts a machine's units of Slurm, once the key is there that they need."""
    has_key = munge_secret(scheduler) is not None
    yield USERS, template("slurm/sysusers.conf.j2").render(number=slurm_number()).encode()
    wants = template("slurm/wants.conf.j2").render(units=(*units, "munge-key.path") if has_key else units)
    yield WANTS, wants.encode()
    if not has_key:
        return
    for path, text in _key_units(units):
        yield path, text.encode()


def _key_units(units: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """What has munge and the daemons behind it wait for the key, and start with it when a deployment brings one."""
    words = {"key": f"/{MUNGE_KEY}", "units": " ".join(units)}
    folder = "etc/systemd/system"
    what, restart = (
        "the key that Slurm's daemons know each other by",
        f"/usr/bin/systemctl --no-block restart {words['units']}",
    )
    yield from arrival_units("munge-key", words["key"], BY_DEPLOYMENT, what, (restart,))
    yield f"{folder}/munge.service.d/90-clusterwright.conf", template("slurm/munge.service.conf.j2").render(**words)
    if "slurmctld.service" in units:
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
        task_prolog=TASK_ENVIRONMENT if _has_job_environment(plan, scheduler) else "",
    )


def _groups_by_site(plan: Plan, scheduler: Scheduler) -> str:
    directory = plan.spec.site.directory
    names_groups = any(partition.allow_groups for partition in scheduler.partitions)
    if directory is None or not names_groups:
        return ""
    return f"{', '.join(directory.groups)}: {directory.by_site}"


def _have_pmix(plan: Plan, scheduler: Scheduler) -> bool:
    """Whether srun starts MPI's ranks by PMIx on all nodes: their images have its library for Slurm's plugin."""
    images = [plan.spec.image(group.image or "") for group in _groups(plan, scheduler)]
    distributions = [distribution_of(image.distribution) for image in images if image is not None]
    return len(distributions) == len(images) > 0 and all(
        distribution is not None and distribution.packages_for("pmix") for distribution in distributions
    )


def _groups(plan: Plan, scheduler: Scheduler) -> list[NodeGroup]:
    return [group for name in scheduler.nodes if (group := plan.spec.node_group(name)) is not None]


def _tree_width(nodes: int) -> int:
    """The fan-out with which three hops reach every node (slurm.conf(5), TreeWidth: the cube root of large systems)."""
    return max(USUAL_WIDTH, ceil(round(cbrt(nodes), 6)))


def _has_job_environment(plan: Plan, scheduler: Scheduler) -> bool:
    return any(job_environment(plan, name) for name in scheduler.nodes)


def cluster_name(plan: Plan, scheduler: Scheduler) -> str:
    """What Slurm calls its cluster: the spec's name, and the scheduler's own where it has one."""
    name = plan.name if scheduler.name is None else f"{plan.name}-{scheduler.name}"
    return _word(name)[:_CLUSTER_NAME_LENGTH]


def _own_state(plan: Plan, scheduler: Scheduler, device: Device) -> str:
    """The folder of slurmctld's state that a machine makes for itself; "" where it is not its own to make."""
    alone = is_controller(plan, device) and len(controllers(plan, scheduler)) == 1
    return scheduler.controllers.state if alone else ""


def _accounting_files(plan: Plan, scheduler: Scheduler, device: Device) -> Iterator[Artifact]:
    """Slurmdbd's own file, which has a password in it and must be slurm's: its unit puts it where slurmdbd looks."""
    accounting = scheduler.slurm.accounting if scheduler.slurm is not None else None
    if accounting is None:
        return
    askers = {plan.by_name[name].node_group for name in controllers(plan, scheduler)}
    address = node_address(plan, device, askers)
    text = template("slurm/slurmdbd.conf.j2").render(
        host=device.name, address=address, ipv6=":" in (address or ""), database=accounting.database
    )
    yield Artifact(device.name, DATABASE_FILE, text.encode(), KIND, 0o600)
    key = f"/{MUNGE_KEY}" if munge_secret(scheduler) is not None else ""
    unit = template("slurm/slurmdbd.service.conf.j2").render(
        authentication=AUTHENTICATION, key=key, source=f"/{DATABASE_FILE}"
    )
    yield Artifact(device.name, f"etc/systemd/system/{ACCOUNTING}.d/90-clusterwright.conf", unit.encode(), KIND)


@per_plan
def _controller_files(plan: Plan, scheduler: Scheduler) -> tuple[tuple[str, bytes], ...]:
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
    images = (image for group in _groups(plan, scheduler) if (image := plan.spec.image(group.image or "")) is not None)
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


def _worker_files(
    plan: Plan, scheduler: Scheduler, node_group: str, qos: bool, persistence_unit: str
) -> tuple[tuple[str, bytes], ...]:
    servers = ",".join(f"{name}:{SLURMCTLD_PORT}" for name in controllers(plan, scheduler))
    key = f"/{MUNGE_KEY}" if munge_secret(scheduler) is not None else ""
    options = template("slurm/slurmd.j2").render(servers=servers)
    mounts = bool(mounts_of(plan, node_group))
    words = {"qos": qos, "persistence_unit": persistence_unit, "mounts": mounts, "settle_s": SETTLE_S}
    drop_in = template("slurm/slurmd.service.conf.j2").render(authentication=AUTHENTICATION, key=key, **words)
    return (
        ("etc/default/slurmd", options.encode()),
        ("etc/systemd/system/slurmd.service.d/90-clusterwright.conf", drop_in.encode()),
    )


def _word(text: str) -> str:
    """A name in the letters that Slurm takes for clusters."""
    return "".join(char if char.isalnum() or char in "_-" else "_" for char in text.lower())
