"""The lossless class on a node's RoCE NICs: trust in DSCP, its priority, PFC, and DCQCN off on it.

The NIC's own map takes a packet's priority from the upper three bits of its DSCP (DSCP 50 is priority 6), which is
almost never its class on the switches. So every DSCP gets the number of its class, also one without a named class.
``mlnx_qos`` has no ECN option: DCQCN is switched in sysfs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from math import ceil

from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.intent.device_kind import NodeKind, kind_of
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.traffic_classes import (
    DSCPS,
    NUMBERS,
    class_numbers,
    data_class_of,
    has_several_classes,
    lossless_numbers,
    marked_numbers,
    traffic_class_byte,
)
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.fabric import Fabric
from clusterwright.text.templates import template

KIND = "node-qos"
DSCPS_PER_NUMBER = DSCPS // NUMBERS
# NVIDIA's Spectrum-X: the adapter's RoCE accelerations. Packets may be routed adaptively, what is lost is sent again
# without waiting for order, and a connection starts at full rate. mstreg (mstflint) has the register by these names.
ADAPTIVE = (
    "roce_adp_retrans_en=0x1,roce_tx_window_en=0x1,roce_slow_restart_en=0x0,roce_slow_restart_idle_en=0x0,"
    "adaptive_routing_forced_en=0x1"
)


@dataclass(frozen=True, slots=True)
class NicQos:
    """One fabric's share of the script: NICs and their verbs names, PFC by priority, DSCP moves, traffic class.

    ``cable_m`` is the longest cable of a NIC, by which the NIC sizes its headroom; ``unmarked`` and ``marked`` are the
    lossless priorities without and with DCQCN. ``forced``: all verbs traffic gets the traffic class, because no
    application chooses between several.
    """

    fabric: str
    interfaces: str
    rdma_devices: str
    pfc: str
    cable_m: int
    unmarked: str
    marked: str
    moves: tuple[tuple[int, str], ...]
    moved: str
    traffic_class: int | None
    forced: bool
    adaptive: str
    """Fields of the register ROCE_ACCL where switches route adaptively, "" where they do not."""


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with an image and NICs on a fabric with a lossless class."""
    return is_managed(device) and has_lossless_nics(plan, kind_of(plan, device))


def has_lossless_nics(plan: Plan, kind: NodeKind) -> bool:
    """True for nodes with NICs on a fabric with a lossless class."""
    return any(is_lossless(plan, nic.fabric) for nic in kind.nics)


def shared(plan: Plan, kind: NodeKind) -> tuple[SharedFile, ...]:
    """The script, the unit to run it before NICs are used, and the rule to run it again for returning ones."""
    shape = []
    for name, nics in kind.by_fabric().items():
        if is_lossless(plan, name):
            shape.append((name, tuple((nic.interface, nic.rdma_device, nic.pci) for nic in nics)))
    return _files(plan, kind.node_group, tuple(shape)) if shape else ()


WRITER = Writer(KIND, applies, shared=shared)


@per_plan
def is_lossless(plan: Plan, fabric_name: str) -> bool:
    """True for an Ethernet fabric with a class with a PFC priority."""
    fabric = plan.spec.fabric(fabric_name)
    return fabric is not None and fabric.technology != "infiniband" and bool(lossless_numbers(fabric))


def nic_priorities(fabric: Fabric) -> tuple[int, ...]:
    """A NIC's priority for each of the 64 DSCPs: the number of its class.

    A DSCP without a class keeps the NIC's default (DSCP / 8), except for the lossless priorities.
    """
    lossless = lossless_numbers(fabric)
    lowest_lossy = next(number for number in range(NUMBERS) if number not in lossless)
    priorities = []
    for dscp, number in enumerate(class_numbers(fabric)):
        default = dscp // DSCPS_PER_NUMBER
        if number is not None:
            priorities.append(number)
        elif default in lossless:
            priorities.append(lowest_lossy)
        else:
            priorities.append(default)
    return tuple(priorities)


def dscp_moves(fabric: Fabric) -> dict[int, tuple[int, ...]]:
    """Priority to DSCPs, for every DSCP with another priority by the NIC's default."""
    moves: dict[int, list[int]] = {}
    for dscp, priority in enumerate(nic_priorities(fabric)):
        if priority != dscp // DSCPS_PER_NUMBER:
            moves.setdefault(priority, []).append(dscp)
    return {priority: tuple(dscps) for priority, dscps in sorted(moves.items())}


Nic = tuple[str, str | None, str | None]
"""Interface, verbs name and PCI address."""
Shape = tuple[tuple[str, tuple[Nic, ...]], ...]


def _files(plan: Plan, node_group: str, shape: Shape) -> tuple[SharedFile, ...]:
    views = []
    for name, nics in shape:
        fabric = plan.spec.fabric(name)
        if fabric is not None:
            views.append(_view(plan, fabric, node_group, nics))
    all_nics = list(chain.from_iterable(nics for _, nics in shape))
    devices = [f"sys-subsystem-net-devices-{interface}.device" for interface, _, _ in all_nics]
    addresses = [pci for _, _, pci in all_nics if pci is not None]
    texts = (
        ("usr/local/sbin/roce-qos", template("node/roce-qos.sh.j2").render(views=views), 0o755),
        ("etc/systemd/system/roce-qos.service", template("node/roce-qos.service.j2").render(devices=devices), 0o644),
        ("usr/local/sbin/roce-qos-again", template("node/roce-qos-again.sh.j2").render(), 0o755),
        ("etc/systemd/system/roce-qos-again.service", template("node/roce-qos-again.service.j2").render(), 0o644),
        ("etc/udev/rules.d/85-roce-qos.rules", template("node/roce-qos.rules.j2").render(addresses=addresses), 0o644),
    )
    return tuple((path, text.encode(), mode) for path, text, mode in texts)


def _view(plan: Plan, fabric: Fabric, node_group: str, nics: tuple[Nic, ...]) -> NicQos:
    lossless, marked = lossless_numbers(fabric), marked_numbers(fabric)
    moves = dscp_moves(fabric)
    data = data_class_of(plan, fabric, node_group)
    return NicQos(
        fabric=fabric.name,
        interfaces=" ".join(interface for interface, _, _ in nics),
        rdma_devices=" ".join(rdma for _, rdma, _ in nics if rdma is not None),
        pfc=pfc_vector(fabric),
        cable_m=ceil(_cable_length_m(plan, fabric.name)),
        unmarked=" ".join(str(priority) for priority in lossless if priority not in marked),
        marked=" ".join(str(priority) for priority in lossless if priority in marked),
        moves=tuple((priority, " ".join(map(str, dscps))) for priority, dscps in moves.items()),
        moved=" ".join(map(str, chain.from_iterable(moves.values()))),
        traffic_class=traffic_class_byte(data.dscp[0]) if data is not None and data.dscp else None,
        forced=not has_several_classes(plan, fabric, node_group),
        adaptive=ADAPTIVE if fabric.is_adaptive else "",
    )


def pfc_vector(fabric: Fabric) -> str:
    """PFC by priority as mlnx_qos takes it: ``0,0,0,1,0,0,0,0``."""
    lossless = lossless_numbers(fabric)
    return ",".join(str(int(priority in lossless)) for priority in range(NUMBERS))


@per_plan
def _cable_length_m(plan: Plan, fabric: str) -> float:
    cables_to_hosts = [cable for cable in plan.cables if cable.a.side == "host"]
    return max((cable.headroom_m for cable in cables_to_hosts if cable.fabric == fabric), default=0)
