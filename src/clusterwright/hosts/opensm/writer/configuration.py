"""The subnet manager's files: opensm.conf, root and compute-node GUIDs, partitions, names.

Only options of upstream opensm are written. ``no_fallback`` follows the routing engine, so that a fabric that is not
cabled as planned is reported instead of quietly routed in another way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from clusterwright.artifact import Artifact
from clusterwright.hosts.opensm.writer.qos import QosView, qos_view
from clusterwright.intent.partitions import partition_views
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.subnet_sizes import SubnetSizes, subnet_sizes
from clusterwright.plan.chips import chips_of
from clusterwright.plan.model import Device, Plan, fabric_of, format_guid
from clusterwright.plan.service import ACTIVE, OUT_OF_SERVICE, cabled
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.infiniband import OPENSM, ManagementKey
from clusterwright.text.templates import template

KIND = "opensm"
FOLDER = "etc/opensm"
FOLDER_OF_UFM = "opt/ufm/files/conf/opensm"  # where UFM starts opensm
HIGHEST_PRIORITY = 15
# The M_Key alone, which root alone reads; not part of opensm.conf, whose check would show it.
M_KEY_FILE = f"{FOLDER}/m-key"
CONFIG_WITH_KEY = "/run/opensm/opensm.conf"


@dataclass(frozen=True, slots=True)
class ManagerView:
    """Values of one host's opensm.conf. ``guid`` is its port, ``priority`` decides the election of the master.

    ``program_config`` is opensm's configuration file: opensm.conf itself, or a copy with the M_Key added by the start
    script.
    """

    fabric: str
    guid: str
    priority: int
    subnet_prefix: str
    routing_engine: str
    folder: str
    has_storage: bool
    program_config: str
    m_key: ManagementKey | None
    qos: QosView | None
    sizes: SubnetSizes


def applies(plan: Plan, device: Device) -> bool:
    """The hosts of a fabric's subnet manager."""
    return managed_fabric(plan, device) is not None


def managed_fabric(plan: Plan, device: Device) -> Fabric | None:
    """The fabric of a host's subnet manager (opensm): the first one with it; None for other devices."""
    if device.kind != "node":
        return None
    return next(
        (
            fabric
            for fabric in plan.spec.fabrics
            if fabric.subnet_manager
            and fabric.subnet_manager.kind == OPENSM
            and device.name in manager_hosts(plan, fabric.name)
        ),
        None,
    )


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """All files of the subnet manager on one host. A host manages the first fabric with it."""
    for fabric in plan.spec.fabrics:
        hosts = manager_hosts(plan, fabric.name)
        if device.name not in hosts or fabric.subnet_manager is None:
            continue
        view = ManagerView(
            fabric=fabric.name,
            guid=format_guid(manager_guids(plan, fabric.name).get(device.name, 0)),
            priority=HIGHEST_PRIORITY - min(hosts.index(device.name), HIGHEST_PRIORITY),
            subnet_prefix=format_guid(fabric.subnet_manager.subnet_prefix),
            routing_engine=routing_engines(fabric.subnet_manager.routing_engine),
            folder=f"/{FOLDER}",
            has_storage=bool(storage_guids(plan, fabric.name)),
            program_config=f"/{FOLDER}/opensm.conf" if fabric.subnet_manager.m_key is None else CONFIG_WITH_KEY,
            m_key=fabric.subnet_manager.m_key,
            qos=qos_view(fabric),
            sizes=subnet_sizes(plan, fabric.name),
        )
        yield Artifact(
            device=device.name,
            path=f"{FOLDER}/opensm.conf",
            source=template("opensm/opensm.conf.j2").render(view=view).encode(),
            kind=KIND,
        )
        for path, name in (
            ("opensm.service", "opensm.service.j2"),
            ("multi-user.target.d/91-opensm.conf", "boot.conf.j2"),
        ):
            content = template(f"opensm/{name}").render(view=view).encode()
            yield Artifact(device=device.name, path=f"etc/systemd/system/{path}", source=content, kind=KIND)
        if view.m_key is not None:
            script = template("opensm/add-m-key.sh.j2").render(
                view=view, source=f"/{M_KEY_FILE}", target=CONFIG_WITH_KEY
            )
            yield Artifact(
                device=device.name, path=f"{FOLDER}/add-m-key.sh", source=script.encode(), kind=KIND, mode=0o755
            )
        for path, content in fabric_files(plan, fabric.name, FOLDER):
            yield Artifact(device=device.name, path=path, source=content, kind=KIND)
        return


@per_plan
def manager_hosts(plan: Plan, fabric_name: str) -> tuple[str, ...]:
    """Names of the hosts of a fabric's subnet manager, the intended master first.

    They are taken from as many outermost groups as there are, one each in turn, so that no pod takes all of them down.
    """
    fabric = plan.spec.fabric(fabric_name)
    if fabric is None or fabric.subnet_manager is None:
        return ()
    manager = fabric.subnet_manager
    by_pod: dict[str, list[str]] = {}
    for device in plan.devices:
        if device.kind == "node" and device.node_group == manager.nodes and device.state == "active":
            by_pod.setdefault(device.pod, []).append(device.name)
    hosts: list[str] = []
    turn = 0
    while len(hosts) < manager.count and any(turn < len(names) for names in by_pod.values()):
        hosts.extend(names[turn] for names in by_pod.values() if turn < len(names))
        turn += 1
    return tuple(hosts[: manager.count])


def routing_engines(engine: str) -> str:
    """The spec's engine, with falling back to another one forbidden."""
    return engine if "no_fallback" in engine.split(",") else f"{engine},no_fallback"


def root_guids(plan: Plan, fabric_name: str) -> tuple[int, ...]:
    """Node GUIDs of the top tier's switches; of a director its spine chips, the roots for a subnet manager.

    A drained switch is none: ftree and updn lead every path up to a root and down again, so they pass by a switch below
    the leaves, while its links stay up and it stays managed (tried with opensm 3.3.23).
    """
    top = max((d.tier for d in _switches(plan, fabric_name)), default=0)
    guids: list[int] = []
    for device in _switches(plan, fabric_name):
        if device.tier == top and device.state == ACTIVE:
            guids.extend(chip.guid for chip in chips_of(plan, device) if chip.kind != "leaf")
    return tuple(guids)


def compute_guids(plan: Plan, fabric_name: str) -> tuple[int, ...]:
    """Port GUIDs of the adapters of nodes with GPUs, in rank and rail order."""
    return tuple(
        cable.a.guid
        for cable in cabled(plan, fabric_name)
        if cable.a.guid is not None and plan.by_name[cable.a.device].rank is not None
    )


def switch_names(plan: Plan, fabric_name: str) -> list[tuple[str, str]]:
    """Node GUID and name of every switch chip. Adapters say their host's name themselves, switches only their model."""
    chips = chain.from_iterable(chips_of(plan, device) for device in _switches(plan, fabric_name))
    return [(format_guid(chip.guid), chip.name) for chip in chips]


@per_plan
def storage_guids(plan: Plan, fabric_name: str) -> tuple[int, ...]:
    """Port GUIDs of the adapters of nodes without GPUs: storage and services, outside ftree's balance."""
    return tuple(
        cable.a.guid
        for cable in cabled(plan, fabric_name)
        if cable.a.guid is not None and plan.by_name[cable.a.device].rank is None
    )


@per_plan
def fabric_files(plan: Plan, fabric_name: str, folder: str) -> tuple[tuple[str, bytes], ...]:
    """The files common to every manager of a fabric, as path below ``folder`` and content."""
    fabric = fabric_of(plan, fabric_name)
    roots = [format_guid(guid) for guid in root_guids(plan, fabric_name)]
    nodes = [format_guid(guid) for guid in compute_guids(plan, fabric_name)]
    managers = [format_guid(guid) for guid in manager_guids(plan, fabric_name).values()]
    storage = [format_guid(guid) for guid in storage_guids(plan, fabric_name)]
    partitions = partition_views(plan, fabric_name)
    default = fabric.subnet_manager.default_membership if fabric.subnet_manager else "limited"
    texts = (
        ("root_guids.conf", template("opensm/guids.conf.j2").render(guids=roots)),
        ("cn_guids.conf", template("opensm/guids.conf.j2").render(guids=nodes)),
        (
            "partitions.conf",
            template("opensm/partitions.conf.j2").render(managers=managers, partitions=partitions, default=default),
        ),
        ("ib-node-name-map", template("opensm/ib-node-name-map.j2").render(names=switch_names(plan, fabric_name))),
    )
    files_found = tuple((f"{folder}/{name}", text.encode()) for name, text in texts)
    if not storage:  # opensm refuses to route with an empty file
        return files_found
    return (*files_found, (f"{folder}/io_guids.conf", template("opensm/guids.conf.j2").render(guids=storage).encode()))


@per_plan
def manager_guids(plan: Plan, fabric_name: str) -> dict[str, int]:
    """The port of each subnet manager, by host: its first adapter with a cable.

    All of them are full members of the default partition, master or not.
    """
    first: dict[str, int] = {}
    for cable in cabled(plan, fabric_name):
        if cable.a.guid is not None:
            first.setdefault(cable.a.device, cable.a.guid)
    return {host: first[host] for host in manager_hosts(plan, fabric_name) if host in first}


@per_plan
def _switches(plan: Plan, fabric_name: str) -> tuple[Device, ...]:
    """The installed switches; those out of service are not."""
    return tuple(
        d
        for d in plan.devices
        if d.kind == "switch" and d.fabric == fabric_name and d.guid is not None and d.state != OUT_OF_SERVICE
    )
