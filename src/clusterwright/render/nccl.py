"""/etc/nccl.conf, derived from the plan: which adapters in which order, traffic classes, the wiring's consequences.

NCCL reads each line as it stands: no quotes, no blanks, no comment behind a value, and ``#`` only in the first column.
Values that NCCL changed the defaults of between versions are always written.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.artifact import Artifact
from clusterwright.plan.model import Device, Plan
from clusterwright.render.node_nics import is_managed, nics_by_fabric
from clusterwright.render.node_qos import data_class_of, traffic_class_byte
from clusterwright.render.opensm_partitions import partition_indexes
from clusterwright.render.per_plan import per_plan
from clusterwright.render.templates import template
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.job import NcclProfile

KIND = "nccl"
Variables = tuple[tuple[str, str], ...]


def applies(plan: Plan, device: Device) -> bool:
    """Nodes of the profile's group that run an image."""
    nccl = plan.spec.nccl
    return nccl is not None and is_managed(device) and device.node_group == nccl.nodes


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """/etc/nccl.conf, and a profile script with PyTorch's own variables where the spec has any."""
    by_fabric = nics_by_fabric(plan, device)
    nccl = plan.spec.nccl
    if nccl is None:
        return
    hcas = tuple(nic.rdma_device for nic in by_fabric.get(nccl.fabric, ()) if nic.rdma_device is not None)
    sockets = tuple(nic.interface for nic in by_fabric.get(nccl.sockets, ()))
    switches = len({nic.switch for nic in by_fabric.get(nccl.fabric, ())})
    yield Artifact(device.name, "etc/nccl.conf", _file(plan, device.node_group, hcas, sockets, switches), KIND)
    shell = [(name, value) for name, value in sorted(nccl.variables.items()) if not name.startswith("NCCL_")]
    if shell:
        text = template("nccl/torch.sh.j2").render(variables=shell)
        yield Artifact(device.name, "etc/profile.d/clusterwright-torch.sh", text.encode(), KIND)


def variables(plan: Plan, node_group: str, hcas: tuple[str, ...], sockets: tuple[str, ...], switches: int) -> Variables:
    """Every variable of /etc/nccl.conf, by name; the spec's own ``variables`` win over what is derived.

    ``hcas`` are verbs devices in rail order, ``sockets`` the interfaces for bootstrap, ``switches`` counts the bottom
    switches that one node's adapters are cabled to.
    """
    nccl = plan.spec.nccl
    fabric = plan.spec.fabric(nccl.fabric) if nccl is not None else None
    if nccl is None or fabric is None:
        return ()
    found: dict[str, str] = {
        "NCCL_IB_QPS_PER_CONNECTION": str(nccl.qps_per_connection),
        "NCCL_IB_SPLIT_DATA_ON_QPS": "1" if nccl.split_data_on_qps else "0",
        "NCCL_IB_TIMEOUT": str(nccl.timeout),
        "NCCL_IB_RETRY_CNT": str(nccl.retry_count),
        "NCCL_CROSS_NIC": str(cross_nic(nccl, switches)),
    }
    if hcas:
        found["NCCL_IB_HCA"] = "=" + ",".join(hcas)
    if sockets:
        found["NCCL_SOCKET_IFNAME"] = "=" + ",".join(sockets)
    bootstrap = plan.spec.fabric(nccl.sockets)
    if bootstrap is not None and bootstrap.addressing is not None:
        found["NCCL_SOCKET_FAMILY"] = _family(bootstrap)
    if fabric.technology == "roce":
        if nccl.service_level is not None:
            found["NCCL_IB_SL"] = str(nccl.service_level)
        found.update(_roce(plan, nccl, fabric))
    else:
        found.update(_infiniband(plan, nccl, fabric, node_group))
    found.update({name: value for name, value in nccl.variables.items() if name.startswith("NCCL_")})
    return tuple(sorted(found.items()))


def cross_nic(nccl: NcclProfile, switches: int) -> int:
    """NCCL_CROSS_NIC: 1 where all adapters of a node share a switch, else 0; the spec may fix it."""
    if nccl.cross_nic is not None:
        return nccl.cross_nic
    return 1 if switches == 1 else 0


def _roce(plan: Plan, nccl: NcclProfile, fabric: Fabric) -> dict[str, str]:
    found = {"NCCL_IB_ROCE_VERSION_NUM": "2"}
    if fabric.addressing is not None:
        found["NCCL_IB_ADDR_FAMILY"] = _family(fabric)
        found["NCCL_IB_ADDR_RANGE"] = str(fabric.addressing.hosts)
    data = data_class_of(plan, fabric)
    if data is not None and data.dscp:
        found["NCCL_IB_TC"] = str(traffic_class_byte(data.dscp[0]))
    if nccl.control_dscp is not None:
        found["NCCL_IB_FIFO_TC"] = str(traffic_class_byte(nccl.control_dscp))
    return found


def _infiniband(plan: Plan, nccl: NcclProfile, fabric: Fabric, node_group: str) -> dict[str, str]:
    """Service level, P_Key index, and the switches' features: NCCL takes adaptive routing for granted on InfiniBand."""
    found: dict[str, str] = {}
    level = nccl.service_level
    if level is None:
        level = next((item.service_level for item in fabric.classes if item.name == nccl.data_class), None)
    if level is not None:
        found["NCCL_IB_SL"] = str(level)
    index = partition_indexes(plan, fabric.name).get(node_group)
    if index is not None:
        found["NCCL_IB_PKEY"] = str(index)
    manager = fabric.subnet_manager
    if manager is not None:
        found["NCCL_IB_ADAPTIVE_ROUTING"] = "1" if manager.adaptive_routing else "0"
        if manager.sharp:
            found["NCCL_COLLNET_ENABLE"] = "1"
    return found


def _family(fabric: Fabric) -> str:
    return "AF_INET6" if fabric.addressing is not None and fabric.addressing.hosts.version == 6 else "AF_INET"


@per_plan
def _file(plan: Plan, node_group: str, hcas: tuple[str, ...], sockets: tuple[str, ...], switches: int) -> bytes:
    nccl = plan.spec.nccl
    return (
        template("nccl/nccl.conf.j2")
        .render(
            version=nccl.version if nccl is not None else "",
            variables=variables(plan, node_group, hcas, sockets, switches),
        )
        .encode()
    )
