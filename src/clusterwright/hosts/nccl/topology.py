"""A machine model's PCI topology in the form of NCCL_TOPO_FILE.

NCCL knows the elements system, cpu, pci, gpu, nic, net, nvlink and c2c; its reader takes double quotes and single
blanks only, at most 16 attributes an element and 32 elements in one (NCCL, src/graph/xml.cc). It fills in missing parts
from the machine. Bridges get unused addresses of their own, as in the files published by clouds: NCCL needs to know
what they join, not which they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.models import HardwareModel, Nic, Pcie

BRIDGE_CLASS = "0x060400"
GPU_CLASS = "0x030200"
INFINIBAND_CLASS = "0x020700"
ETHERNET_CLASS = "0x020000"
NVLINK_SWITCHES = "fffffff:ff:ff.0"  # the one target that NCCL folds all NVLink switches of a machine into
NVLINK_SWITCH_CLASS = "0x068000"
_WORD_BITS = 32


@dataclass(frozen=True, slots=True)
class PciView:
    """A GPU or NIC below a bridge: PCI class and address, and a GPU's number of NVLinks to switches."""

    busid: str
    pci_class: str
    nvlinks: int = 0


@dataclass(frozen=True, slots=True)
class BridgeView:
    """A PCI switch and the devices below it."""

    busid: str
    devices: tuple[PciView, ...]


@dataclass(frozen=True, slots=True)
class CpuView:
    """A NUMA node: its threads as a mask, and its bridges."""

    numaid: int
    affinity: str
    bridges: tuple[BridgeView, ...]


@dataclass(frozen=True, slots=True)
class SystemView:
    """The whole machine; attributes of processors and links as NCCL writes them."""

    model: str
    arch: str
    vendor: str | None
    """None, as the two numbers, where NCCL asks for the architecture alone."""
    familyid: int | None
    modelid: int | None
    bridge_class: str
    nvlink_target: str
    nvlink_class: str
    link_speed: str
    link_width: int
    cpus: tuple[CpuView, ...]


def topology(model: HardwareModel, fabric: Fabric | None) -> SystemView | None:
    """The topology of a model with ``pcie`` in its catalogue entry, with its adapters on ``fabric``; else None."""
    layout = model.pcie
    if layout is None or fabric is None:
        return None
    served = {attach.nics for attach in fabric.attach}
    served_nics = chain.from_iterable(group.nics for group in model.nic_groups if group.name in served)
    nics = [nic for nic in served_nics if nic.pci is not None]
    nic_class = INFINIBAND_CLASS if fabric.technology == "infiniband" else ETHERNET_CLASS
    devices_by_switch: dict[tuple[int, int], list[PciView]] = {}
    for number, nic in enumerate(nics):
        gpu = number if nic.gpu is None else nic.gpu
        place = nic.numa or 0, gpu // layout.gpus_per_switch
        devices_by_switch.setdefault(place, []).extend(_devices(layout, model.nvlinks, nic, nic_class))
    bridges_by_numa: dict[int, list[BridgeView]] = {}
    for (numa, switch), devices in devices_by_switch.items():
        bridge = BridgeView(busid=f"ffff:ff:{switch + 1:02x}.0", devices=tuple(devices))
        bridges_by_numa.setdefault(numa, []).append(bridge)
    cpus = []
    for numa, bridges in sorted(bridges_by_numa.items(), key=itemgetter(0)):
        affinity = cpu_mask(layout.numa_cpus[numa], _threads(layout))
        cpus.append(CpuView(numaid=numa, affinity=affinity, bridges=tuple(bridges)))
    return SystemView(
        model=model.name,
        arch=layout.cpu.arch,
        vendor=layout.cpu.vendor,
        familyid=layout.cpu.family,
        modelid=layout.cpu.model,
        bridge_class=BRIDGE_CLASS,
        nvlink_target=NVLINK_SWITCHES,
        nvlink_class=NVLINK_SWITCH_CLASS,
        link_speed=f"{layout.link_speed_gts:.1f} GT/s PCIe",
        link_width=layout.link_width,
        cpus=tuple(cpus),
    )


def addresses_of(system: SystemView) -> tuple[str, ...]:
    """The required PCI addresses of a machine of this model, GPUs and adapters, in order of the file."""
    bridges = chain.from_iterable(cpu.bridges for cpu in system.cpus)
    devices = chain.from_iterable(bridge.devices for bridge in bridges)
    return tuple(device.busid for device in devices)


def cpu_mask(ranges: str, threads: int) -> str:
    """``0-3,8`` of 40 threads as the kernel writes a mask: ``00,0000010f``, 32 bits a group, highest first."""
    mask = 0
    for part in ranges.split(","):
        low, _, high = part.partition("-")
        for thread in range(int(low), int(high or low) + 1):
            mask |= 1 << thread
    groups = []
    remaining_threads = threads
    while remaining_threads > 0:
        digits = (min(remaining_threads, _WORD_BITS) + 3) // 4
        groups.append(f"{mask & 0xFFFFFFFF:0{digits}x}")
        mask >>= _WORD_BITS
        remaining_threads -= _WORD_BITS
    return ",".join(reversed(groups))


def _threads(layout: Pcie) -> int:
    return 1 + max(map(int, re.findall(r"\d+", " ".join(layout.numa_cpus))))


def _devices(layout: Pcie, nvlinks: int, nic: Nic, nic_class: str) -> list[PciView]:
    """A NIC, after its GPU if it has one."""
    devices = []
    if nic.gpu is not None:
        devices.append(PciView(busid=layout.gpus[nic.gpu], pci_class=GPU_CLASS, nvlinks=nvlinks))
    devices.append(PciView(busid=nic.pci or "", pci_class=nic_class))
    return devices
