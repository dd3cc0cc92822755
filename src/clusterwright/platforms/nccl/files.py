"""NCCL's files on a node: /etc/nccl.conf, what jobs need in their environment, the tuner's table, the topology.

NCCL reads each line of nccl.conf as it stands: no quotes, no blanks, no comment behind a value, and ``#`` only in the
first column.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.artifact import Artifact
from clusterwright.intent.nccl_settings import TOPOLOGY_LINK, TUNER_TABLE, NcclCabling, Setting, settings, wiring_of
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan
from clusterwright.platforms.nccl.topology import addresses_of, topology
from clusterwright.platforms.templates import template
from clusterwright.spec.job import NcclProfile, TunerRow

KIND = "nccl"
FOLDER = "etc/nccl"


def applies(plan: Plan, device: Device) -> bool:
    """Nodes of the profile's group that run an image."""
    nccl = plan.spec.nccl
    return nccl is not None and is_managed(device) and device.node_group == nccl.nodes


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """nccl.conf; a profile script, the record folder, the tuner's table and the topology where the spec has them."""
    nccl = plan.spec.nccl
    if nccl is None:
        return
    for path, content, mode in _files(plan, device.node_group, device.model, wiring_of(plan, device, nccl)):
        yield Artifact(device.name, path, content, KIND, mode)


def settings_by_node(plan: Plan) -> dict[tuple[Setting, ...], str]:
    """The profile's distinct sets of settings, each with the first node that has it: one, unless cabling differs."""
    nccl = plan.spec.nccl
    found: dict[tuple[Setting, ...], str] = {}
    for device in plan.devices:
        if nccl is not None and applies(plan, device):
            found.setdefault(settings(plan, device.node_group, wiring_of(plan, device, nccl)), device.name)
    return found


def tuner_line(row: TunerRow) -> str:
    """A line of the example tuner's table; -1 stands for any number."""
    numbers = (-1 if number is None else number for number in (row.channels, row.nodes, row.ranks))
    fields = (row.collective, row.min_bytes, row.max_bytes, row.algorithm, row.protocol, *numbers)
    return ",".join(str(field) for field in fields)


@per_plan
def _files(plan: Plan, node_group: str, model: str, wiring: NcclCabling) -> tuple[tuple[str, bytes, int], ...]:
    nccl = plan.spec.nccl
    if nccl is None:
        return ()
    every = settings(plan, node_group, wiring)
    conf = template("nccl/nccl.conf.j2").render(
        version=nccl.version, variables=[each for each in every if not each.environment]
    )
    found = [("etc/nccl.conf", conf.encode(), 0o644)]
    exported = [each for each in every if each.environment]
    if exported:
        script = template("nccl/environment.sh.j2").render(pytorch=nccl.pytorch or "", variables=exported)
        found.append(("etc/profile.d/clusterwright-nccl.sh", script.encode(), 0o644))
    if nccl.flight_recorder is not None:
        line = template("nccl/tmpfiles.conf.j2").render(folder=nccl.flight_recorder.folder)
        found.append(("etc/tmpfiles.d/clusterwright-nccl.conf", line.encode(), 0o644))
    if nccl.tuner is not None:
        table = template("nccl/tuner.csv.j2").render(lines=[tuner_line(row) for row in nccl.tuner.rows])
        found.append((TUNER_TABLE.removeprefix("/"), table.encode(), 0o644))
    if nccl.topology_file:
        found += _topology_files(plan, model, nccl)
    return tuple(found)


def _topology_files(plan: Plan, model: str, nccl: NcclProfile) -> Iterator[tuple[str, bytes, int]]:
    """The model's topology, and the unit that hands it to NCCL only on a machine that has all of its devices."""
    view = topology(plan.spec.catalogue[model], plan.spec.fabric(nccl.fabric))
    if view is None:
        return
    file = f"{FOLDER}/topology-{model}.xml"
    yield file, template("nccl/topology.xml.j2").render(system=view).encode(), 0o644
    script = template("nccl/nccl-topology.sh.j2").render(
        model=model, file=f"/{file}", link=TOPOLOGY_LINK, addresses=" ".join(addresses_of(view))
    )
    yield "usr/local/sbin/nccl-topology", script.encode(), 0o755
    unit = template("nccl/nccl-topology.service.j2").render(model=model)
    yield "etc/systemd/system/nccl-topology.service", unit.encode(), 0o644
    wants = template("nccl/wants.conf.j2").render(unit="nccl-topology.service")
    yield "etc/systemd/system/multi-user.target.d/50-clusterwright-nccl.conf", wants.encode(), 0o644
