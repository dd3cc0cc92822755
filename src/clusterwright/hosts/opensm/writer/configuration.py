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
from clusterwright.plan.model import Device, IbSubnet, Plan, format_guid
from clusterwright.plan.service import ACTIVE, OUT_OF_SERVICE, cabled
from clusterwright.spec.infiniband import OPENSM, UFM, ManagementKey
from clusterwright.text.templates import template

KIND = "opensm"
FOLDER = "etc/opensm"
FOLDER_OF_UFM = "opt/ufm/files/conf/opensm"  # where UFM starts opensm
HIGHEST_PRIORITY = 15
# The M_Key alone, which root alone reads; not part of opensm.conf, whose check would show it.
M_KEY = "m-key"
UNIT_FOLDER, UNIT = "etc/systemd/system", "opensm.service"


@dataclass(frozen=True, slots=True)
class ManagerPlace:
    """Where the files of one subnet manager are on its host: the only one there, or one instance of several."""

    folder: str
    unit: str
    """The name of the unit that runs it."""
    logs: str
    cache: str
    """Where opensm keeps the LIDs that it gave; "" for its default."""
    runtime: str
    """Where the start script writes options with the M_Key."""


@dataclass(frozen=True, slots=True)
class ManagerView:
    """Values of one host's opensm.conf. ``guid`` is its port, ``priority`` decides the election of the master.

    ``program_config`` is opensm's configuration file: opensm.conf itself, or a copy with the M_Key added by the start
    script.
    """

    subnet: str
    place: ManagerPlace
    guid: str
    priority: int
    subnet_prefix: str
    routing_engine: str
    has_storage: bool
    program_config: str
    m_key: ManagementKey | None
    qos: QosView | None
    sizes: SubnetSizes


def applies(plan: Plan, device: Device) -> bool:
    """The hosts that a fabric's subnet manager runs on."""
    return bool(subnets_managed(plan, device))


def subnets_managed(plan: Plan, device: Device) -> tuple[IbSubnet, ...]:
    """The subnets that opensm manages on a host, in the plan's order; none for other devices."""
    if device.kind != "node":
        return ()
    return tuple(
        subnet for subnet in _subnets_of_opensm(plan) if device.name in manager_hosts(plan, subnet.fabric.name)
    )


@per_plan
def _subnets_of_opensm(plan: Plan) -> tuple[IbSubnet, ...]:
    subnets = []
    for subnet in plan.ib_subnets.values():
        manager = subnet.fabric.subnet_manager
        if manager is not None and manager.kind == OPENSM:
            subnets.append(subnet)
    return tuple(subnets)


def subnet_of_ufm(plan: Plan, device: Device) -> IbSubnet | None:
    """The subnet that UFM manages on a host; None for other devices.

    Of several subnets, which lint refuses (CW650), it has the first; a plane has no UFM at all.
    """
    if device.kind != "node":
        return None
    for subnet in plan.ib_subnets.values():
        manager = subnet.fabric.subnet_manager
        if manager is None or manager.kind != UFM or subnet.plane is not None:
            continue
        if device.name in manager_hosts(plan, subnet.fabric.name):
            return subnet
    return None


def place_of(plan: Plan, subnet: IbSubnet) -> ManagerPlace:
    """Where a host has the files of a subnet's manager: several on one host share no file."""
    if not _is_instance(plan, subnet.fabric.name):
        return ManagerPlace(folder=FOLDER, unit=UNIT, logs="/var/log", cache="", runtime="opensm")
    return ManagerPlace(
        folder=f"{FOLDER}/{subnet.name}",
        unit=f"opensm@{subnet.name}.service",
        logs=f"/var/log/opensm/{subnet.name}",
        cache=f"/var/cache/opensm/{subnet.name}",
        runtime=f"opensm/{subnet.name}",
    )


@per_plan
def _is_instance(plan: Plan, fabric_name: str) -> bool:
    """Whether a host of a fabric's managers runs several: all managers of a subnet then have the same places."""
    hosts = manager_hosts(plan, fabric_name)
    return any(len(subnets_managed(plan, plan.by_name[host])) > 1 for host in hosts)


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """All files of the subnet managers on one host: an instance for each of several subnets."""
    subnets = subnets_managed(plan, device)
    for subnet in subnets:
        yield from _manager(plan, device, subnet)
    if not subnets:
        return
    names = [place_of(plan, subnet).unit for subnet in subnets]
    units = [("multi-user.target.d/91-opensm.conf", "boot.conf.j2")]
    if UNIT not in names:
        units.append((UNIT, "instances.service.j2"))
    for path, name in units:
        content = template(f"opensm/{name}").render(units=names).encode()
        yield Artifact(device=device.name, path=f"{UNIT_FOLDER}/{path}", source=content, kind=KIND)


def _manager(plan: Plan, device: Device, subnet: IbSubnet) -> Iterator[Artifact]:
    """The files of one subnet's manager on a host, with the unit that starts it."""
    manager = subnet.fabric.subnet_manager
    if manager is None:
        return
    place = place_of(plan, subnet)
    rank = managers_by_priority(plan, subnet.name).index(device.name)
    view = ManagerView(
        subnet=subnet.name,
        place=place,
        guid=format_guid(manager_guids(plan, subnet.name).get(device.name, 0)),
        priority=max(0, HIGHEST_PRIORITY - rank),
        subnet_prefix=format_guid(subnet.prefix),
        routing_engine=routing_engines(manager.routing_engine),
        has_storage=bool(storage_guids(plan, subnet.name)),
        program_config=f"/{place.folder}/opensm.conf" if manager.m_key is None else f"/run/{place.runtime}/opensm.conf",
        m_key=manager.m_key,
        qos=qos_view(subnet.fabric),
        sizes=subnet_sizes(plan, subnet.name),
    )
    yield Artifact(
        device=device.name,
        path=f"{place.folder}/opensm.conf",
        source=template("opensm/opensm.conf.j2").render(view=view).encode(),
        kind=KIND,
    )
    unit = template("opensm/opensm.service.j2").render(view=view, is_instance=place.unit != UNIT).encode()
    yield Artifact(device=device.name, path=f"{UNIT_FOLDER}/{place.unit}", source=unit, kind=KIND)
    if view.m_key is not None:
        script = template("opensm/add-m-key.sh.j2").render(
            folder=f"/{place.folder}", source=f"/{place.folder}/{M_KEY}", target=view.program_config
        )
        yield Artifact(
            device=device.name, path=f"{place.folder}/add-m-key.sh", source=script.encode(), kind=KIND, mode=0o755
        )
    for path, content in subnet_files(plan, subnet.name, place.folder):
        yield Artifact(device=device.name, path=path, source=content, kind=KIND)


@per_plan
def manager_hosts(plan: Plan, fabric_name: str) -> tuple[str, ...]:
    """Names of the hosts of a fabric's subnet manager, the intended master first.

    They are taken from all outermost groups in turn, so that no failed pod takes all of them down.
    A drained host keeps its manager: another node would have to start one that it does not run, with a GUID that no
    partition file knows yet. Nor does it change its priority: opensm 3.3.23 hands over by HUP to a standby that is
    master then and never sweeps (tried over ibsim), while a master that stops is followed by one that does.
    """
    fabric = plan.spec.fabric(fabric_name)
    if fabric is None or fabric.subnet_manager is None:
        return ()
    manager = fabric.subnet_manager
    by_pod: dict[str, list[str]] = {}
    for device in plan.devices:
        if device.kind == "node" and device.node_group == manager.nodes and device.state != OUT_OF_SERVICE:
            by_pod.setdefault(device.pod, []).append(device.name)
    hosts: list[str] = []
    longest = max(map(len, by_pod.values()), default=0)
    for turn in range(longest):
        hosts.extend(names[turn] for names in by_pod.values() if turn < len(names))
    return tuple(hosts[: manager.count])


@per_plan
def managers_by_priority(plan: Plan, subnet_name: str) -> tuple[str, ...]:
    """The hosts of a subnet's manager, the intended master first.

    Planes have their masters on hosts in turn, so that no single failure moves the masters of all planes at once.
    """
    subnet = plan.ib_subnets[subnet_name]
    hosts = manager_hosts(plan, subnet.fabric.name)
    first = (subnet.plane or 0) % len(hosts) if hosts else 0
    return (*hosts[first:], *hosts[:first])


def routing_engines(engine: str) -> str:
    """The spec's engine, without fallback to another one."""
    if "no_fallback" in engine.split(","):
        return engine
    return f"{engine},no_fallback"


def root_guids(plan: Plan, subnet_name: str) -> tuple[int, ...]:
    """Node GUIDs of the top tier's switches; those of its spine chips for a director.

    A drained switch is no root: ftree and updn lead every path up to a root and down again, so none crosses it, while
    its links stay up and it stays managed (tried with opensm 3.3.23).
    """
    switches = _switches(plan, subnet_name)
    top_tier = max((device.tier for device in switches), default=0)
    guids: list[int] = []
    for device in switches:
        if device.tier == top_tier and device.state == ACTIVE:
            guids.extend(chip.guid for chip in chips_of(plan, device) if chip.kind != "leaf")
    return tuple(guids)


def compute_guids(plan: Plan, subnet_name: str) -> tuple[int, ...]:
    """Port GUIDs of the adapters of nodes with GPUs, in rank and rail order."""
    adapters = _adapter_guids(plan, subnet_name)
    return tuple(guid for device, guid in adapters if plan.by_name[device].rank is not None)


def switch_names(plan: Plan, subnet_name: str) -> list[tuple[str, str]]:
    """Node GUID and name of every switch chip. Adapters say their host's name themselves, switches only their model."""
    chips = chain.from_iterable(chips_of(plan, device) for device in _switches(plan, subnet_name))
    return [(format_guid(chip.guid), chip.name) for chip in chips]


@per_plan
def storage_guids(plan: Plan, subnet_name: str) -> tuple[int, ...]:
    """Port GUIDs of the adapters of nodes without GPUs: storage and services, which ftree keeps out of its balance."""
    adapters = _adapter_guids(plan, subnet_name)
    return tuple(guid for device, guid in adapters if plan.by_name[device].rank is None)


def _adapter_guids(plan: Plan, subnet_name: str) -> Iterator[tuple[str, int]]:
    """The node and port GUID of each cabled adapter."""
    for cable in cabled(plan, subnet_name):
        if cable.a.guid is not None:
            yield cable.a.device, cable.a.guid


@per_plan
def subnet_files(plan: Plan, subnet_name: str, folder: str) -> tuple[tuple[str, bytes], ...]:
    """The files that are the same on every manager of a subnet, as path below ``folder`` and content."""
    fabric = plan.ib_subnets[subnet_name].fabric
    roots = [format_guid(guid) for guid in root_guids(plan, subnet_name)]
    nodes = [format_guid(guid) for guid in compute_guids(plan, subnet_name)]
    managers = [format_guid(guid) for guid in manager_guids(plan, subnet_name).values()]
    storage = [format_guid(guid) for guid in storage_guids(plan, subnet_name)]
    partitions = partition_views(plan, subnet_name)
    default = fabric.subnet_manager.default_membership if fabric.subnet_manager else "limited"
    texts = (
        ("root_guids.conf", template("opensm/guids.conf.j2").render(guids=roots)),
        ("cn_guids.conf", template("opensm/guids.conf.j2").render(guids=nodes)),
        (
            "partitions.conf",
            template("opensm/partitions.conf.j2").render(managers=managers, partitions=partitions, default=default),
        ),
        ("ib-node-name-map", template("opensm/ib-node-name-map.j2").render(names=switch_names(plan, subnet_name))),
    )
    files = [(f"{folder}/{name}", text.encode()) for name, text in texts]
    if storage:  # opensm refuses to route with an empty file
        text = template("opensm/guids.conf.j2").render(guids=storage)
        files.append((f"{folder}/io_guids.conf", text.encode()))
    return tuple(files)


@per_plan
def manager_guids(plan: Plan, subnet_name: str) -> dict[str, int]:
    """The port that each subnet manager runs on, by host: the first of its adapters that is plugged in.

    All of them are full members of the default partition, master or not.
    """
    first_guid: dict[str, int] = {}
    for device, guid in _adapter_guids(plan, subnet_name):
        first_guid.setdefault(device, guid)
    hosts = manager_hosts(plan, plan.ib_subnets[subnet_name].fabric.name)
    return {host: first_guid[host] for host in hosts if host in first_guid}


@per_plan
def _switches(plan: Plan, subnet_name: str) -> tuple[Device, ...]:
    """The switches of a subnet, without those out of service."""
    names = plan.ib_subnets[subnet_name].switches
    switches = [device for device in plan.devices if device.name in names and device.guid is not None]
    return tuple(device for device in switches if device.state != OUT_OF_SERVICE)
