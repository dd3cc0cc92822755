"""Slurm: files of controllers and login nodes, and the options by which compute nodes fetch theirs.

Compute nodes run configless: slurmd fetches slurm.conf from the controllers. Login nodes have no daemon
that would fetch it, and get the same text as a file.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.artifact import Artifact
from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.linux.writer.credentials import BY_DEPLOYMENT, arrival_units
from clusterwright.hosts.linux.writer.network import node_address
from clusterwright.hosts.linux.writer.qos import has_lossless_nics
from clusterwright.hosts.linux.writer.secrets import MUNGE_KEY
from clusterwright.hosts.slurm.configuration import DRAIN_REASON, EPILOG, configuration_files, has_job_environment
from clusterwright.hosts.slurm.login import login_files
from clusterwright.intent.device_kind import NodeKind
from clusterwright.intent.gpu_services import driven_vendor, gpu_vendor
from clusterwright.intent.image.mounts import mounts_of
from clusterwright.intent.nccl_settings import TASK_ENVIRONMENT, job_environment
from clusterwright.intent.needs.jobs import SLURMCTLD_PORT
from clusterwright.intent.scheduling import (
    ACCOUNTING,
    AUTHENTICATION,
    LOGIN_UNITS,
    WORKER_UNITS,
    controllers,
    is_controller,
    is_login_node,
    keeps_accounts,
    munge_secret,
    slurm_of_login,
    slurm_run_by,
    slurm_units,
)
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.distribution import slurm_number
from clusterwright.spec.job import Scheduler
from clusterwright.text.templates import template

KIND = "slurm"
FOLDER = "etc/slurm"
WANTS = "etc/systemd/system/multi-user.target.d/92-slurm.conf"
STATE_FOLDERS = "etc/tmpfiles.d/clusterwright-slurm.conf"
USERS = "etc/sysusers.d/clusterwright-slurm.conf"
DATABASE_FILE = "etc/clusterwright/slurmdbd.conf"
RETURN_NODES = "usr/local/sbin/slurm-return-nodes"
SETTLE_S = 180  # for a clock that is set and daemons that start; a boot itself is over by then


def applies(plan: Plan, device: Device) -> bool:
    """The controller, and compute and login nodes that run an image, where there is a controller."""
    return bool(slurm_units(plan, device))


def for_device(plan: Plan, device: Device) -> Iterator[Artifact]:
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
    if is_login_node(plan, device):
        for name, content in login_files(plan, scheduler):
            yield Artifact(device.name, f"{FOLDER}/{name}", content, KIND)
    if not is_controller(plan, device):
        return
    for name, content in configuration_files(plan, scheduler):
        yield Artifact(device.name, f"{FOLDER}/{name}", content, KIND)
    script = template("slurm/return-nodes.sh.j2").render(reason=DRAIN_REASON)
    yield Artifact(device.name, RETURN_NODES, script.encode(), KIND, 0o755)
    start = template("slurm/slurmctld-nodes.conf.j2").render(program=f"/{RETURN_NODES}")
    yield Artifact(device.name, "etc/systemd/system/slurmctld.service.d/91-nodes.conf", start.encode(), KIND)


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """Slurmd's options on compute nodes; files of commands on login nodes."""
    if kind.slurm_units == LOGIN_UNITS:
        yield from _login_files(plan, kind.node_group)
        return
    scheduler = plan.spec.scheduler(kind.node_group)
    if scheduler is None or kind.slurm_units != WORKER_UNITS:
        return
    qos, persistence_unit = has_lossless_nics(plan, kind), _persistence_unit(plan, kind)
    files = _worker_files(plan, scheduler, kind.node_group, qos, persistence_unit)
    for path, content in (*_waking(scheduler, WORKER_UNITS), *files):
        yield path, content, 0o644
    yield EPILOG, _epilog(plan, scheduler, kind), 0o755
    if has_job_environment(plan, scheduler) and not job_environment(plan, kind.node_group):
        yield TASK_ENVIRONMENT.removeprefix("/"), template("slurm/no-environment.sh.j2").render().encode(), 0o755


WRITER = Writer(kind=KIND, applies=applies, for_device=for_device, shared=shared)


def _epilog(plan: Plan, scheduler: Scheduler, kind: NodeKind) -> bytes:
    """The program that Slurm runs on a node after each job."""
    vendor = gpu_vendor(plan.spec.catalogue[kind.model], plan.spec.image(kind.image))
    held_by, held_on = None, ""
    if vendor is not None:
        held_by = vendor.held_by
        held_on = (vendor.held_on or "").replace("{}", '"$SLURM_JOB_GPUS"')
    partitions = [partition for partition in scheduler.partitions if kind.node_group in partition.nodes]
    is_shared = any(partition.shared for partition in partitions)
    return template("slurm/epilog.sh.j2").render(held_by=held_by, held_on=held_on, shared=is_shared).encode()


def _login_files(plan: Plan, node_group: str) -> Iterator[SharedFile]:
    scheduler = slurm_of_login(plan.spec, node_group)
    if scheduler is None:
        return
    for path, content in _waking(scheduler, LOGIN_UNITS):
        yield path, content, 0o644
    for name, content in login_files(plan, scheduler):
        yield f"{FOLDER}/{name}", content, 0o644


def _persistence_unit(plan: Plan, kind: NodeKind) -> str:
    """The unit that makes device files of GPUs, where the image brings their driver; "" without one."""
    image = plan.spec.image(kind.image)
    vendor = driven_vendor(image) if image is not None else None
    if vendor is None or plan.spec.catalogue[kind.model].gpus is None:
        return ""
    return vendor.persistence_unit or ""


def _waking(scheduler: Scheduler, units: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Units to start a machine's units of Slurm once their key has arrived."""
    has_key = munge_secret(scheduler) is not None
    yield USERS, template("slurm/sysusers.conf.j2").render(number=slurm_number()).encode()
    wanted_units = (*units, "munge-key.path") if has_key else units
    yield WANTS, template("slurm/wants.conf.j2").render(units=wanted_units).encode()
    if has_key:
        for path, text in _key_units(units):
            yield path, text.encode()


def _key_units(units: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Drop-ins that make munge and its dependent daemons wait for the key, and start when a deployment brings it."""
    words = {"key": f"/{MUNGE_KEY}", "units": " ".join(units)}
    folder = "etc/systemd/system"
    what = "the key that Slurm's daemons know each other by"
    restart = f"/usr/bin/systemctl --no-block restart {words['units']}"
    yield from arrival_units("munge-key", words["key"], says=BY_DEPLOYMENT, what=what, commands=(restart,))
    yield f"{folder}/munge.service.d/90-clusterwright.conf", template("slurm/munge.service.conf.j2").render(**words)
    if "slurmctld.service" in units:
        text = template("slurm/slurmctld.service.conf.j2").render(authentication=AUTHENTICATION, **words)
        yield f"{folder}/slurmctld.service.d/90-clusterwright.conf", text


def _own_state(plan: Plan, scheduler: Scheduler, device: Device) -> str:
    """The folder of slurmctld's state that a machine creates; "" for several controllers, which share one."""
    is_only_controller = is_controller(plan, device) and len(controllers(plan, scheduler)) == 1
    return scheduler.controllers.state if is_only_controller else ""


def _accounting_files(plan: Plan, scheduler: Scheduler, device: Device) -> Iterator[Artifact]:
    """Slurmdbd's file with a password, and its unit, which installs the file for the user slurm."""
    accounting = scheduler.slurm.accounting if scheduler.slurm is not None else None
    if accounting is None:
        return
    client_groups = {plan.by_name[name].node_group for name in controllers(plan, scheduler)}
    address = node_address(plan, device, client_groups)
    text = template("slurm/slurmdbd.conf.j2").render(
        host=device.name, address=address, ipv6=":" in (address or ""), database=accounting.database
    )
    yield Artifact(device.name, DATABASE_FILE, text.encode(), KIND, 0o600)
    key = f"/{MUNGE_KEY}" if munge_secret(scheduler) is not None else ""
    unit = template("slurm/slurmdbd.service.conf.j2").render(
        authentication=AUTHENTICATION, key=key, source=f"/{DATABASE_FILE}"
    )
    yield Artifact(device.name, f"etc/systemd/system/{ACCOUNTING}.d/90-clusterwright.conf", unit.encode(), KIND)


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
