"""Every variable of NCCL and PyTorch on a node, with its origin and its reason.

Values follow from the plan and from the profile's keys; only names known to the profile's release are written, and
defaults moved by NCCL between releases are spelt out (NCCL 2.30, user guide and source, compared with older tags).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.intent.device_kind import NodeKind
from clusterwright.intent.gpu_services import gpu_vendor, memory_exchange
from clusterwright.intent.nccl_torch import OF_JOB, torch_settings
from clusterwright.intent.partitions import FULL_MEMBER, nccl_partition
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.traffic_classes import data_class_of, traffic_class_byte
from clusterwright.plan.model import Plan
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.infiniband import Partition
from clusterwright.spec.job import NcclProfile
from clusterwright.spec.runtime.names import known_names
from clusterwright.spec.text.document import Path

STAGGERED_RANKS = 256  # NCCL_UID_STAGGER_THRESHOLD's default: jobs above it meet at the root in waves
TOPOLOGY_LINK = "/run/nccl/topology.xml"
NCCL_CONF = "/etc/nccl.conf"
# The parts of an nccl.conf that is completed at a node's start with the index of a partition.
PARTS_OF_CONF = "/etc/nccl/nccl.conf"
PARTITION_CONF = "/etc/nccl/partition.conf"
PARTITION_UNIT = "nccl-partition.service"
TASK_ENVIRONMENT = "/usr/local/libexec/clusterwright/task-environment"
FOLDER = "/etc/nccl"
TUNER_TABLE = "/etc/nccl/tuner.csv"


@dataclass(frozen=True, slots=True)
class Setting:
    """A variable, its value, its origin in the spec, and the reason in one sentence.

    ``environment``: PyTorch or a plugin reads it, so it has to be in a job's environment; else NCCL itself reads it
    from nccl.conf. ``at_start``: a node finds the value when it starts, and ``value`` describes it.
    """

    name: str
    value: str
    origin: Path
    reason: str
    environment: bool = False
    at_start: bool = False

    @property
    def written_to(self) -> str:
        """Place of the setting on a node, for people."""
        if self.environment:
            return "environment"
        return f"nccl.conf, by {PARTITION_UNIT}" if self.at_start else "nccl.conf"

    @property
    def file_of_job(self) -> str:
        """Name of the file in a job's folder with the value; "" for a value common to all jobs."""
        return self.value.partition(OF_JOB)[2]


@dataclass(frozen=True, slots=True)
class NcclCabling:
    """A node's cables for NCCL.

    Adapters as (verbs name, PCI address) in rail order, interfaces of sockets, and the number of bottom switches.
    """

    hcas: tuple[tuple[str, str | None], ...]
    sockets: tuple[str, ...]
    switches: int


def wiring_of(kind: NodeKind, nccl: NcclProfile) -> NcclCabling:
    """The wiring of nodes of a kind, from the plan's cables."""
    by_fabric = kind.by_fabric()
    data = by_fabric.get(nccl.fabric, ())
    return NcclCabling(
        hcas=tuple((nic.rdma_device, nic.pci) for nic in data if nic.rdma_device is not None),
        sockets=tuple(nic.interface for nic in by_fabric.get(nccl.sockets, ())),
        switches=len({nic.switch for nic in data}),
    )


@per_plan
def settings(plan: Plan, node_group: str, wiring: NcclCabling) -> tuple[Setting, ...]:
    """Every variable of a node group by name; its profile's own ``variables`` win over derived ones."""
    nccl = plan.spec.nccl(node_group)
    fabric = plan.spec.fabric(nccl.fabric) if nccl is not None else None
    if nccl is None or fabric is None:
        return ()
    names = known_names("nccl", nccl.version)
    derived = [*_common(plan, nccl, fabric, node_group, wiring), *_start(plan, nccl, names)]
    if fabric.technology == "roce":
        derived += _roce(plan, nccl, fabric, node_group)
    else:
        derived += _infiniband(plan, nccl, fabric, node_group)
    derived += _nvlink_domain(plan, nccl, node_group)
    by_name = {setting.name: setting for setting in derived if names is None or setting.name in names}
    for name, value in _vendor_environment(plan, node_group).items():
        reason = "the collective library of the GPUs' vendor reads no /etc/nccl.conf by itself"
        by_name[name] = Setting(name=name, value=value, origin=nccl.path, reason=reason, environment=True)
    for name, value, origin, reason in torch_settings(nccl):
        by_name[name] = Setting(name=name, value=value, origin=origin, reason=reason, environment=True)
    if nccl.tuner is not None:
        reason = "the example tuner looks for its table under this name; NCCL itself does not know the variable"
        by_name["NCCL_TUNER_CONFIG_FILE"] = Setting(
            name="NCCL_TUNER_CONFIG_FILE", value=TUNER_TABLE, origin=nccl.tuner.path, reason=reason, environment=True
        )
    for name, value in nccl.variables.items():
        path = (*nccl.path, "variables", name)
        by_name[name] = Setting(
            name=name,
            value=value,
            origin=path,
            reason="written by hand in the spec",
            environment=not is_read_by_nccl(nccl, name),
        )
    return tuple(by_name[name] for name in sorted(by_name))


def _vendor_environment(plan: Plan, node_group: str) -> Mapping[str, str]:
    """Environment of jobs for the collective library of the GPUs' vendor."""
    group = plan.spec.node_group(node_group)
    if group is None:
        return {}
    vendor = gpu_vendor(group.model, plan.spec.image(group.image or ""))
    return vendor.job_environment if vendor is not None else {}


@per_plan
def job_environment(plan: Plan, node_group: str) -> tuple[Setting, ...]:
    """Environment variables of jobs on a node group, by name: the same for every cabling of a node."""
    return tuple(setting for setting in settings(plan, node_group, NcclCabling((), (), 1)) if setting.environment)


def job_paths(plan: Plan, node_group: str) -> tuple[tuple[str, str], ...]:
    """Paths for a job's container, each with ``file``, ``files``, ``topology`` or (written to) ``records``."""
    nccl, is_described = plan.spec.nccl(node_group), has_topology(plan, node_group)
    if nccl is None:
        return ()
    paths = [(NCCL_CONF, "file")]
    if nccl.tuner is not None or is_described:
        paths.append((FOLDER, "files"))
    if is_described:
        paths.append((TOPOLOGY_LINK.rpartition("/")[0], "topology"))
    if nccl.flight_recorder is not None:
        paths.append((nccl.flight_recorder.folder, "records"))
    return tuple(paths)


def is_read_by_nccl(nccl: NcclProfile, name: str) -> bool:
    """Whether the profile's NCCL reads a variable; for a release without known names, by the name's form."""
    names = known_names("nccl", nccl.version)
    if names is not None:
        return name in names
    names_of_torch = known_names("torch", nccl.pytorch) if nccl.pytorch is not None else None
    return name.startswith("NCCL_") and name not in (names_of_torch or ())


def cross_nic(nccl: NcclProfile, switches: int) -> int:
    """NCCL_CROSS_NIC: 1 if all adapters of a node share a switch, else 0; the spec may fix it."""
    if nccl.cross_nic is not None:
        return nccl.cross_nic
    return 1 if switches == 1 else 0


def _key(nccl: NcclProfile, key: str) -> Path:
    return (*nccl.path, key)


def has_topology(plan: Plan, node_group: str) -> bool:
    """Whether nodes of a group are given the topology of their model: the spec asks for it and the catalogue has it."""
    nccl, group = plan.spec.nccl(node_group), plan.spec.node_group(node_group)
    if nccl is None or group is None or not nccl.topology_file or group.model.pcie is None:
        return False
    vendor = gpu_vendor(group.model, plan.spec.image(group.image or ""))
    return vendor is not None and vendor.topology_file


def _common(plan: Plan, nccl: NcclProfile, fabric: Fabric, node_group: str, wiring: NcclCabling) -> Iterator[Setting]:
    turn = "split each message over them" if nccl.split_data_on_qps else "whole messages in turn"
    yield Setting(
        name="NCCL_IB_QPS_PER_CONNECTION",
        value=str(nccl.qps_per_connection),
        origin=_key(nccl, "qps_per_connection"),
        reason="queue pairs of a connection: each is hashed to a path of its own",
    )
    yield Setting(
        name="NCCL_IB_SPLIT_DATA_ON_QPS",
        value="1" if nccl.split_data_on_qps else "0",
        origin=_key(nccl, "split_data_on_qps"),
        reason=f"{turn}; the default moved from 1 to 0 in NCCL 2.20",
    )
    yield Setting(
        name="NCCL_IB_TIMEOUT",
        value=str(nccl.timeout),
        origin=_key(nccl, "timeout"),
        reason=f"an unanswered packet is sent again after 4.096 µs × 2^{nccl.timeout} = {_seconds(nccl.timeout)}; "
        "the default moved from 14 to 18 in 2.14 and to 20 in 2.23",
    )
    yield Setting(
        name="NCCL_IB_RETRY_CNT",
        value=str(nccl.retry_count),
        origin=_key(nccl, "retry_count"),
        reason="times that it is sent again",
    )
    if nccl.cross_nic is not None:
        why = "fixed in the spec"
    elif wiring.switches == 1:
        why = "all adapters of a node end at one switch, so another rail is as near as its own"
    else:
        why = f"the adapters of a node end at {wiring.switches} switches: changing rails means climbing to the spine"
    yield Setting(
        name="NCCL_CROSS_NIC", value=str(cross_nic(nccl, wiring.switches)), origin=_key(nccl, "cross_nic"), reason=why
    )
    if wiring.hcas:
        places = ", ".join(f"{name} at {pci}" for name, pci in wiring.hcas if pci)
        value = "=" + ",".join(name for name, _ in wiring.hcas)
        why = f"whole names (=) of the adapters cabled to {fabric.name}, in rail order: {places or 'addresses unknown'}"
        yield Setting(name="NCCL_IB_HCA", value=value, origin=_key(nccl, "fabric"), reason=why)
    if wiring.sockets:
        why = f"whole names (=) of the interfaces on {nccl.sockets}, which carries the bootstrap"
        yield Setting(
            name="NCCL_SOCKET_IFNAME", value="=" + ",".join(wiring.sockets), origin=_key(nccl, "sockets"), reason=why
        )
    bootstrap = plan.spec.fabric(nccl.sockets)
    if bootstrap is not None and bootstrap.addressing is not None:
        why = f"{bootstrap.name} is addressed from {bootstrap.addressing.hosts}"
        yield Setting(
            name="NCCL_SOCKET_FAMILY",
            value=_family(bootstrap),
            origin=(*bootstrap.path, "addressing", "hosts"),
            reason=why,
        )
    if has_topology(plan, node_group):
        why = "set by nccl-topology.service where every PCI address of the model's file exists; else NCCL looks itself"
        yield Setting(name="NCCL_TOPO_FILE", value=TOPOLOGY_LINK, origin=_key(nccl, "topology_file"), reason=why)
    if nccl.tuner is not None:
        yield Setting(
            name="NCCL_TUNER_PLUGIN",
            value=nccl.tuner.plugin,
            origin=nccl.tuner.path,
            reason="the tuner that reads the table",
        )


def _start(plan: Plan, nccl: NcclProfile, names: frozenset[str] | None) -> Iterator[Setting]:
    """Defaults for the start of thousands of ranks, written so that a new release keeps them."""
    groups = [group for group in plan.spec.node_groups if group.name in nccl.nodes]
    ranks = sum(group.count * group.model.gpus.count for group in groups if group.model.gpus is not None)
    yield Setting(
        name="NCCL_IB_RETURN_ASYNC_EVENTS",
        value="1",
        origin=nccl.path,
        reason="a port that goes down fails the collective, which else hangs",
    )
    yield Setting(
        name="NCCL_OOB_NET_ENABLE",
        value="0",
        origin=_key(nccl, "sockets"),
        reason="the bootstrap stays off the data fabric",
    )
    if ranks > STAGGERED_RANKS:
        group_path = groups[0].path if len(groups) == 1 else nccl.path
        many = f"{ranks:,} ranks may meet at one root"
        yield Setting(
            name="NCCL_UID_STAGGER_THRESHOLD",
            value=str(STAGGERED_RANKS),
            origin=group_path,
            reason=f"{many}: above this they come in waves",
        )
        yield Setting(
            name="NCCL_UID_STAGGER_RATE",
            value="7000",
            origin=group_path,
            reason=f"{many}: messages a second that it takes",
        )
    if names is None or "NCCL_RUNTIME_CONNECT" in names:
        yield Setting(
            name="NCCL_RUNTIME_CONNECT",
            value="1",
            origin=nccl.path,
            reason="connections are made at first use, not all at the start",
        )


def _nvlink_domain(plan: Plan, nccl: NcclProfile, node_group: str) -> Iterator[Setting]:
    """NVLink between nodes: found by NCCL itself, with the network for jobs larger than a domain."""
    group = plan.spec.node_group(node_group)
    if group is None or memory_exchange(group, plan.spec.image(group.image or "")) is None:
        return
    origin: Path = (*group.path, "nvlink_domain")
    why = f"nodes of a {group.nvlink_domain} share NVLink; 1 would end jobs that also have a node elsewhere"
    yield Setting(name="NCCL_MNNVL_ENABLE", value="2", origin=origin, reason=why)


def _roce(plan: Plan, nccl: NcclProfile, fabric: Fabric, node_group: str) -> Iterator[Setting]:
    yield Setting(
        name="NCCL_IB_ROCE_VERSION_NUM",
        value="2",
        origin=(*fabric.path, "technology"),
        reason="the fabric routes RoCE version 2",
    )
    yield Setting(
        name="NCCL_IB_GID_INDEX",
        value="-1",
        origin=(*fabric.path, "technology"),
        reason="indexes move; family, range and version choose the GID (the default moved from 0 to -1 in 2.21)",
    )
    if fabric.is_adaptive:
        why = f"switches of {fabric.name} choose a path for each packet, and adapters take packets in any order"
        yield Setting(
            name="NCCL_IB_ADAPTIVE_ROUTING", value="1", origin=(*fabric.path, "balancing", "kind"), reason=why
        )
    else:
        why = "NCCL's default on RoCE: packets stay in order"
        yield Setting(name="NCCL_IB_ADAPTIVE_ROUTING", value="0", origin=(*fabric.path, "technology"), reason=why)
    if fabric.addressing is not None:
        pool: Path = (*fabric.path, "addressing", "hosts")
        yield Setting(
            name="NCCL_IB_ADDR_FAMILY",
            value=_family(fabric),
            origin=pool,
            reason=f"the family of {fabric.name}'s host pool",
        )
        yield Setting(
            name="NCCL_IB_ADDR_RANGE",
            value=str(fabric.addressing.hosts),
            origin=pool,
            reason=f"{fabric.name}'s host pool",
        )
    if nccl.service_level is not None:
        yield Setting(
            name="NCCL_IB_SL",
            value=str(nccl.service_level),
            origin=_key(nccl, "service_level"),
            reason="fixed in the spec",
        )
    data = data_class_of(plan, fabric, node_group)
    if data is not None and data.dscp:
        why = f"DSCP {data.dscp[0]} of class {data.name}, shifted past the two ECN bits"
        yield Setting(
            name="NCCL_IB_TC", value=str(traffic_class_byte(data.dscp[0])), origin=(*data.path, "dscp"), reason=why
        )
    if nccl.control_dscp is not None:
        why = f"clear-to-send messages travel as DSCP {nccl.control_dscp}, shifted past the two ECN bits"
        value = str(traffic_class_byte(nccl.control_dscp))
        yield Setting(name="NCCL_IB_FIFO_TC", value=value, origin=_key(nccl, "control_dscp"), reason=why)


def _infiniband(plan: Plan, nccl: NcclProfile, fabric: Fabric, node_group: str) -> Iterator[Setting]:
    """Service level, partition, and the switches' features: NCCL takes adaptive routing for granted on InfiniBand."""
    classes = {traffic_class.name: traffic_class for traffic_class in fabric.classes}
    data = classes.get(nccl.data_class) if nccl.data_class is not None else None
    if nccl.service_level is not None:
        why = "the service level that data travels in"
        yield Setting(name="NCCL_IB_SL", value=str(nccl.service_level), origin=_key(nccl, "service_level"), reason=why)
    elif data is not None and data.service_level is not None:
        why = f"the service level of class {data.name}"
        yield Setting(
            name="NCCL_IB_SL", value=str(data.service_level), origin=(*data.path, "service_level"), reason=why
        )
    partition = nccl_partition(plan, node_group)
    if partition is not None:
        why = f"where the port's table has partition {partition.name}: the subnet manager decides that, and keeps it"
        value = f"index of {port_key(partition)}"
        yield Setting(name="NCCL_IB_PKEY", value=value, origin=partition.path, reason=why, at_start=True)
    if fabric.pkey_index is not None:
        why = "the entry of the P_Key table that the provider has given"
        origin: Path = (*fabric.path, "pkey_index")
        yield Setting(name="NCCL_IB_PKEY", value=str(fabric.pkey_index), origin=origin, reason=why)
    manager = fabric.subnet_manager
    if manager is not None:
        base: Path = (*fabric.path, "subnet_manager")
        why = f"the subnet manager's switches {'have' if manager.adaptive_routing else 'do not have'} it on"
        value = "1" if manager.adaptive_routing else "0"
        yield Setting(name="NCCL_IB_ADAPTIVE_ROUTING", value=value, origin=(*base, "adaptive_routing"), reason=why)
        why = "SHARP is on: switches reduce, given its plugin" if manager.sharp else "SHARP is off in the fabric"
        yield Setting(
            name="NCCL_COLLNET_ENABLE", value="1" if manager.sharp else "0", origin=(*base, "sharp"), reason=why
        )


def port_key(partition: Partition) -> str:
    """A partition's P_Key as a full member's port has it, in the form of /sys."""
    return f"0x{partition.pkey | FULL_MEMBER:04x}"


def _family(fabric: Fabric) -> str:
    return "AF_INET6" if fabric.addressing is not None and fabric.addressing.hosts.version == 6 else "AF_INET"


def _seconds(exponent: int) -> str:
    seconds: float = 4.096e-6 * (1 << exponent)
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.0f} ms"
