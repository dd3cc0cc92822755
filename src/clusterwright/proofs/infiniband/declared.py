"""The planned InfiniBand subnets and their managers, derived from the plan without the renderers' code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from clusterwright.plan.chips import chips_of
from clusterwright.plan.model import Cable, Device, IbSubnet, Plan
from clusterwright.plan.service import ACTIVE, OUT_OF_SERVICE, cabled
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.infiniband import SubnetManager
from clusterwright.spec.job import NcclProfile
from clusterwright.spec.zone_reach import data_partitions

LEVELS = 16
_FULL_BIT = 0x8000  # of a P_Key in a port's table
_LANES = (1, 2, 4, 8)  # possible numbers of a port's data lanes (PortInfo has powers of two)


@dataclass(frozen=True, slots=True)
class DeclaredLanes:
    """The planned virtual lanes."""

    lanes: int
    """The number of data lanes."""
    lane_of_level: tuple[int, ...]
    """The lane of each service level."""
    high: Mapping[int, int]
    """Weights by lane in the high-priority arbitration table."""
    low: Mapping[int, int]
    """Weights by lane in the low-priority arbitration table."""


@dataclass(frozen=True, slots=True)
class DeclaredSubnet:
    """A planned subnet: a fabric, or one of its planes."""

    kind: str
    engine: str
    prefix: int
    adaptive: bool
    sharp: bool
    m_key: tuple[int, int] | None
    """The key's protection level and lease in seconds."""
    qos: DeclaredLanes | None
    chips: Mapping[int, str]
    """Names of switch chips by GUID."""
    roots: frozenset[int]
    """GUIDs of the chips at the top of up–down paths."""
    compute: frozenset[int]
    """Port GUIDs of cabled adapters of nodes with GPUs."""
    storage: frozenset[int]
    """Port GUIDs of cabled adapters of nodes without GPUs."""
    radix: int
    """Ports of the largest chip."""
    sharp_level: int
    """Service level of the data reduced by SHARP."""
    planes: int
    """Planes inside its switches, 1 for ordinary ones."""
    is_plane: bool
    """Whether the fabric has other subnets, connected to this one only in the nodes."""


@dataclass(frozen=True, slots=True)
class DeclaredNccl:
    """The planned NCCL settings of a node on InfiniBand."""

    fabric: str
    devices: frozenset[str]
    """RDMA devices cabled to the fabric."""
    level: int
    """The service level of its data."""
    key: str | None
    """The P_Key as a full member's port has it; None for the default partition."""
    planes: int = 1
    """The number of the fabric's subnets at the node; NCCL must not send from one to another."""
    index: int | None = None
    """The index in the P_Key table set by a provider; None if NCCL's index is looked up or is 0."""


def declared_nccl(plan: Plan) -> Mapping[str, DeclaredNccl]:
    """By node with an image and an NCCL profile on InfiniBand, its planned settings."""
    by_node: dict[str, DeclaredNccl] = {}
    alike: dict[DeclaredNccl, DeclaredNccl] = {}
    for node in plan.devices:
        nccl = plan.spec.nccl(node.node_group) if node.image is not None else None
        fabric = plan.spec.fabric(nccl.fabric) if nccl is not None else None
        if nccl is None or fabric is None or fabric.technology != "infiniband":
            continue
        ports = {cable.a.port for cable in plan.cables_of[node.name] if cable.fabric == fabric.name}
        nic_groups = plan.spec.catalogue[node.model].nic_groups
        all_nics = chain.from_iterable(group.nics for group in nic_groups)
        nics = [nic for nic in all_nics if nic.interface in ports]
        declared = DeclaredNccl(
            fabric=fabric.name,
            devices=frozenset(nic.rdma_device for nic in nics if nic.rdma_device),
            level=_data_level(nccl, fabric),
            key=_partition_key(plan, nccl, node.node_group),
            planes=_planes_at(plan, node, fabric),
            index=fabric.pkey_index,
        )
        by_node[node.name] = alike.setdefault(declared, declared)
    return by_node


def _planes_at(plan: Plan, node: Device, fabric: Fabric) -> int:
    """The number of a fabric's subnets with adapters of the node."""
    switches = {cable.b.device for cable in plan.cables_of[node.name] if cable.fabric == fabric.name}
    subnets = [subnet for subnet in plan.ib_subnets.values() if subnet.fabric.name == fabric.name]
    return sum(not switches.isdisjoint(subnet.switches) for subnet in subnets)


def _partition_key(plan: Plan, nccl: NcclProfile, node_group: str) -> str | None:
    """The P_Key of the data partition in the form of a full member's port."""
    named = data_partitions(plan.spec, nccl, node_group)
    return f"0x{named[0].pkey | _FULL_BIT:04x}" if named else None


def declared_subnets(plan: Plan) -> Mapping[str, DeclaredSubnet]:
    """The planned subnets with a manager, by name."""
    subnets: dict[str, DeclaredSubnet] = {}
    for name, subnet in plan.ib_subnets.items():
        manager = subnet.fabric.subnet_manager
        if manager is not None:
            subnets[name] = _subnet(plan, subnet, manager)
    return subnets


def _subnet(plan: Plan, subnet: IbSubnet, manager: SubnetManager) -> DeclaredSubnet:
    fabric = subnet.fabric
    present = [device for device in plan.devices if device.state != OUT_OF_SERVICE]
    switches = [device for device in present if device.name in subnet.switches]
    top = len(fabric.tiers) - 1
    chips = list(chain.from_iterable(chips_of(plan, device) for device in switches))
    roots: set[int] = set()
    for device in switches:
        if device.tier == top and device.state == ACTIVE:
            roots.update(chip.guid for chip in chips_of(plan, device) if chip.kind != "leaf")
    ports = [(c.a.guid, plan.by_name[c.a.device].rank) for c in cabled(plan, subnet.name) if c.a.guid is not None]
    return DeclaredSubnet(
        kind=manager.kind,
        engine=manager.routing_engine,
        prefix=subnet.prefix,
        adaptive=manager.adaptive_routing,
        sharp=manager.sharp,
        m_key=(manager.m_key.protection, manager.m_key.lease_s) if manager.m_key is not None else None,
        qos=_qos(fabric),
        chips={chip.guid: chip.name for chip in chips},
        roots=frozenset(roots),
        compute=frozenset(guid for guid, rank in ports if rank is not None),
        storage=frozenset(guid for guid, rank in ports if rank is None),
        radix=max((chip.ports for chip in chips), default=0),
        planes=max((plan.spec.catalogue[device.model].planes for device in switches), default=1),
        is_plane=subnet.plane is not None,
        sharp_level=min((_data_level(nccl_profile, fabric) for nccl_profile in plan.spec.nccl_profiles), default=0),
    )


def _data_level(nccl: NcclProfile, fabric: Fabric) -> int:
    levels = {traffic_class.name: traffic_class.service_level for traffic_class in fabric.classes}
    return nccl.service_level or levels.get(nccl.data_class or "") or 0


def _qos(fabric: Fabric) -> DeclaredLanes | None:
    """The planned lanes; a level without a class has the lane of level 0, or else of the first class."""
    classes = [item for item in fabric.classes if item.service_level is not None]
    if not classes:
        return None
    lane_of = {item.service_level: item.queue for item in classes}
    rest = lane_of.get(0, classes[0].queue)
    highest_lane = max(item.queue for item in classes)
    return DeclaredLanes(
        lanes=next(count for count in _LANES if count > highest_lane),
        lane_of_level=tuple(lane_of.get(level, rest) for level in range(LEVELS)),
        high={item.queue: item.weight for item in classes if item.arbitration == "high"},
        low={item.queue: item.weight for item in classes if item.arbitration == "low"},
    )


Ends = tuple[str, str, str, str]
"""The device and port at both ends of a cable, those of the lesser end first."""


def declared_ib_cables(plan: Plan) -> Mapping[str, frozenset[Ends]]:
    """By InfiniBand subnet its cables in service, with ibdm's names of ports: a P before a bare number."""
    return {name: frozenset(map(_ends, cabled(plan, name))) for name in plan.ib_subnets}


def _ends(cable: Cable) -> Ends:
    near, far = cable.a, cable.b
    near_port = f"P{near.port}" if near.port[0].isdigit() else near.port
    far_port = f"P{far.port}" if far.port[0].isdigit() else far.port
    if (near.device, near_port) < (far.device, far_port):
        return near.device, near_port, far.device, far_port
    return far.device, far_port, near.device, near_port
