"""Names of a node's RDMA devices by PCI address: mlx5_0 is the first rail in any order of the kernel's.

The kernel numbers adapters in the order of their discovery, and rdma-core's udev rule renames them by rules of its own.
That rule is masked, and a unit gives the planned names. It renames through names that the kernel never gives, since two
devices with exchanged names cannot be renamed one after the other.

Names do not change the kernel's order of adapters, and by that order NCCL pairs the ports of a GPU on two nodes (NCCL
2.27.7, src/graph/topo.cc, src/transport/net_ib.cc). If the ports are in separate planes, the unit fails on another
order.
"""

from __future__ import annotations

from itertools import chain

from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.linux.writer.qos import has_lossless_nics
from clusterwright.intent.device_kind import NodeKind, kind_of
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan, fabric_of
from clusterwright.plan.skeleton import planes_of_tiers
from clusterwright.text.templates import template

KIND = "node-rdma"
Names = tuple[tuple[str, str], ...]


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with an image and an RDMA device on a RoCE or InfiniBand fabric."""
    return is_managed(device) and _has_rdma(plan, kind_of(plan, device))


def _has_rdma(plan: Plan, kind: NodeKind) -> bool:
    ports = chain.from_iterable(nic.ports for nic in kind.nics)
    rdma_ports = (port for port in ports if port.rdma_device is not None)
    return any(fabric_of(plan, port.fabric).technology != "ethernet" for port in rdma_ports)


def shared(plan: Plan, kind: NodeKind) -> tuple[SharedFile, ...]:
    """The script, its unit, the link to start the unit, and the rule against renaming by rdma-core."""
    if not _has_rdma(plan, kind):
        return ()
    return _files(plan, names_of(kind), ports_apart(plan, kind), has_lossless_nics(plan, kind))


WRITER = Writer(KIND, applies, shared=shared)


def names_of(kind: NodeKind) -> Names:
    """PCI address and planned name of each RDMA device with a cable."""
    ports = chain.from_iterable(nic.ports for nic in kind.nics)
    return tuple((port.pci, port.rdma_device) for port in ports if port.pci and port.rdma_device)


def ports_apart(plan: Plan, kind: NodeKind) -> tuple[tuple[str, ...], ...]:
    """The RDMA devices of each GPU with several on a fabric in planes, in the order of their PCI addresses.

    The kernel finds them in that order.
    """
    groups = plan.spec.catalogue[kind.model].nic_groups
    gpu_of = {nic.interface: nic.gpu for nic in chain.from_iterable(group.nics for group in groups)}
    ports_by_gpu: dict[tuple[str, int], list[tuple[str, str]]] = {}
    for port in chain.from_iterable(nic.ports for nic in kind.nics):
        gpu = gpu_of.get(port.interface)
        if gpu is not None and port.pci and port.rdma_device:
            ports_by_gpu.setdefault((port.fabric, gpu), []).append((port.pci, port.rdma_device))
    ports_in_order = []
    for (fabric, _), ports in ports_by_gpu.items():
        planes = planes_of_tiers(plan.spec, fabric_of(plan, fabric))[-1]
        if len(ports) > 1 and planes > 1:
            ports_in_order.append(tuple(name for _, name in sorted(ports)))
    return tuple(ports_in_order)


@per_plan
def _files(plan: Plan, names: Names, apart: tuple[tuple[str, ...], ...], has_qos: bool) -> tuple[SharedFile, ...]:
    script = template("node/rdma-names.sh.j2").render(names=names, apart=apart)
    unit = template("node/rdma-names.service.j2").render(qos=has_qos)
    wants = template("node/rdma-names-wants.conf.j2").render()
    rule = template("node/rdma-naming.rules.j2").render()
    return (
        ("usr/local/sbin/rdma-names", script.encode(), 0o755),
        ("etc/systemd/system/rdma-names.service", unit.encode(), 0o644),
        ("etc/systemd/system/multi-user.target.d/50-clusterwright-rdma.conf", wants.encode(), 0o644),
        ("etc/udev/rules.d/60-rdma-persistent-naming.rules", rule.encode(), 0o644),
    )
