"""NCCL's files on a node: /etc/nccl.conf, jobs' environment, the tuner's table, the topology.

NCCL reads each line of nccl.conf as it stands: no quotes, no blanks, no comment behind a value, and ``#`` only in the
first column.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.nccl.topology import addresses_of, topology
from clusterwright.intent.device_kind import NodeKind, kind_of
from clusterwright.intent.gpu_services import uses_enroot
from clusterwright.intent.nccl_settings import (
    FOLDER,
    NCCL_CONF,
    PARTITION_CONF,
    PARTITION_UNIT,
    PARTS_OF_CONF,
    TASK_ENVIRONMENT,
    TOPOLOGY_LINK,
    TUNER_TABLE,
    NcclCabling,
    Setting,
    has_topology,
    job_environment,
    job_paths,
    port_key,
    settings,
    wiring_of,
)
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.partitions import nccl_partition
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.image import Image
from clusterwright.spec.job import NcclProfile, TunerRow
from clusterwright.text.templates import template

KIND = "nccl"
File = tuple[str, str, int]
"""Path, text and mode."""
SCRIPT = "etc/profile.d/clusterwright-nccl.sh"
MADE_CONF = "/run/nccl/nccl.conf"
_TOPOLOGY_UNIT = "nccl-topology.service"
_CONTAINERS = "etc/containers/containers.conf.d/91-clusterwright-nccl.conf"


def applies(plan: Plan, device: Device) -> bool:
    """Nodes of a profile's groups with an image."""
    return is_managed(device) and plan.spec.nccl(device.node_group) is not None


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """nccl.conf; files with jobs' environment, the record folder, the tuner's table and the topology."""
    nccl = plan.spec.nccl(kind.node_group)
    if nccl is None:
        return
    yield from _files(plan, kind.node_group, kind.model, wiring_of(kind, nccl))
    image = plan.spec.image(kind.image)
    if image is not None:
        for path, text, mode in _job_files(plan, nccl, kind.node_group, image):
            yield path, text.encode(), mode


WRITER = Writer(KIND, applies, shared=shared)


def settings_by_node(plan: Plan) -> dict[tuple[Setting, ...], str]:
    """The distinct sets of settings, each with its first node: one a profile, unless cabling differs."""
    by_settings: dict[tuple[Setting, ...], str] = {}
    for device in plan.devices:
        nccl = plan.spec.nccl(device.node_group)
        if nccl is not None and applies(plan, device):
            wiring = wiring_of(kind_of(plan, device), nccl)
            by_settings.setdefault(settings(plan, device.node_group, wiring), device.name)
    return by_settings


def tuner_line(row: TunerRow) -> str:
    """A line of the example tuner's table; -1 stands for any number."""
    fields = (row.collective, row.min_bytes, row.max_bytes, row.algorithm, row.protocol)
    counts = (row.channels, row.nodes, row.ranks)
    return ",".join([*map(str, fields), *map(_any_or_number, counts)])


def _any_or_number(number: int | None) -> str:
    return "-1" if number is None else str(number)


def _files(plan: Plan, node_group: str, model: str, wiring: NcclCabling) -> tuple[SharedFile, ...]:
    nccl = plan.spec.nccl(node_group)
    if nccl is None:
        return ()
    node_settings = settings(plan, node_group, wiring)
    has_partition = any(setting.at_start for setting in node_settings)
    of_nccl = [setting for setting in node_settings if not setting.environment]
    variables = [setting for setting in of_nccl if not setting.at_start]
    conf = template("nccl/nccl.conf.j2").render(version=nccl.version, variables=variables)
    path = PARTS_OF_CONF if has_partition else NCCL_CONF
    files = [(path.removeprefix("/"), conf.encode(), 0o644)]
    units = []
    if has_partition:
        files += _partition_files(plan, node_group, wiring)
        units.append(PARTITION_UNIT)
    if nccl.flight_recorder is not None:
        line = template("nccl/tmpfiles.conf.j2").render(folder=nccl.flight_recorder.folder)
        files.append(("etc/tmpfiles.d/clusterwright-nccl.conf", line.encode(), 0o644))
    if nccl.tuner is not None:
        table = template("nccl/tuner.csv.j2").render(lines=[tuner_line(row) for row in nccl.tuner.rows])
        files.append((TUNER_TABLE.removeprefix("/"), table.encode(), 0o644))
    topology_files: list[SharedFile] = []
    if has_topology(plan, node_group):
        topology_files += _topology_files(plan, model, nccl)
    if topology_files:
        files += topology_files
        units.append(_TOPOLOGY_UNIT)
    if units:
        wants = template("nccl/wants.conf.j2").render(units=" ".join(units))
        files.append(("etc/systemd/system/multi-user.target.d/50-clusterwright-nccl.conf", wants.encode(), 0o644))
    return tuple(files)


def _partition_files(plan: Plan, node_group: str, wiring: NcclCabling) -> Iterator[SharedFile]:
    """Program to find the partition's index at a node's start, and to complete nccl.conf with it."""
    partition = nccl_partition(plan, node_group)
    if partition is None:
        return
    devices = " ".join(name for name, _ in wiring.hcas)
    words = template("nccl/partition.conf.j2").render(name=partition.name, key=port_key(partition), devices=devices)
    yield PARTITION_CONF.removeprefix("/"), words.encode(), 0o644
    script = template("nccl/nccl-partition.sh.j2").render(
        parts=PARTS_OF_CONF, conf=NCCL_CONF, wanted=PARTITION_CONF, made=MADE_CONF
    )
    yield "usr/local/sbin/nccl-partition", script.encode(), 0o755
    unit = template("nccl/nccl-partition.service.j2").render()
    yield f"etc/systemd/system/{PARTITION_UNIT}", unit.encode(), 0o644


def _job_files(plan: Plan, nccl: NcclProfile, node_group: str, image: Image) -> Iterator[File]:
    """The environment of shells, of Slurm's tasks and of containers, and the node's files inside containers."""
    environment = job_environment(plan, node_group)
    fixed = [setting for setting in environment if not setting.file_of_job]
    folder = nccl.flight_recorder.folder if nccl.flight_recorder is not None else ""
    words = {"fixed": fixed, "paths": job_paths(plan, node_group), "folder": folder}
    if environment:
        of_job = [(setting.name, setting.file_of_job) for setting in environment if setting.file_of_job]
        yield SCRIPT, template("nccl/environment.sh.j2").render(pytorch=nccl.pytorch or "", **words), 0o644
        task = template("nccl/task-environment.sh.j2").render(of_job=of_job, **words)
        yield TASK_ENVIRONMENT.removeprefix("/"), task, 0o755
    if uses_enroot(image):
        yield "etc/enroot/environ.d/50-clusterwright-nccl.env", template("nccl/enroot.env.j2").render(**words), 0o644
        yield "etc/enroot/mounts.d/50-clusterwright-nccl.fstab", template("nccl/enroot.fstab.j2").render(**words), 0o644
    if image.containers is not None:
        yield _CONTAINERS, template("nccl/containers.conf.j2").render(**words), 0o644


def _topology_files(plan: Plan, model: str, nccl: NcclProfile) -> Iterator[SharedFile]:
    """The model's topology, and the unit to enable it only on a machine with all of its devices."""
    view = topology(plan.spec.catalogue[model], plan.spec.fabric(nccl.fabric))
    if view is None:
        return
    file = f"{FOLDER.removeprefix('/')}/topology-{model}.xml"
    yield file, template("nccl/topology.xml.j2").render(system=view).encode(), 0o644
    script = template("nccl/nccl-topology.sh.j2").render(
        model=model, file=f"/{file}", link=TOPOLOGY_LINK, addresses=" ".join(addresses_of(view))
    )
    yield "usr/local/sbin/nccl-topology", script.encode(), 0o755
    unit = template("nccl/nccl-topology.service.j2").render(model=model)
    yield f"etc/systemd/system/{_TOPOLOGY_UNIT}", unit.encode(), 0o644
