"""The hardware catalogue's types: the properties of a model of switch, node or storage system.

They are independent of clusters. Every figure in the catalogue files has its source; here are only the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any

from clusterwright.spec.hardware.cages import PortBlock, PortMode
from clusterwright.spec.hardware.platform_ports import MachinePorts, PlatformPort, PlatformPortError
from clusterwright.spec.structuring import By, Key, Structuring, one_or_several
from clusterwright.spec.text.document import Path

IMAGE_ARCH = "x86_64"
"""The processor architecture of images."""
DEVICE = "device"
"""The kind of model with only management ports: a switch tray of NVLink, a power shelf, a PDU."""


@dataclass(frozen=True, slots=True)
class OutOfBandPort:
    """An out-of-band port of a device (a switch's management port, a node's BMC)."""

    name: str
    speed_gbps: int


@dataclass(frozen=True, slots=True)
class Nic:
    """One port of a node towards a fabric."""

    interface: str
    rdma_device: str | None
    """Verbs name (``mlx5_0``)."""
    pci: str | None
    """PCI address."""
    gpu: int | None
    """Local index of the GPU on its PCIe switch; None without one."""
    numa: int | None
    """NUMA node."""
    cage: str | None = None
    """The cage shared with other ports; None for a cage of its own."""


@dataclass(frozen=True, slots=True)
class NicGroup:
    """NICs of a node on the same fabric, in rail order."""

    name: Annotated[str, Key("group")]
    speed_gbps: int
    nics: Annotated[tuple[Nic, ...], Key("devices")]
    lanes: int | None = None
    """Electrical lanes of each at that speed; None if unknown."""


def _by_format(_: Structuring, tflops: Mapping[str, float], __: Path) -> tuple[tuple[str, float], ...]:
    return tuple(tflops.items())


@dataclass(frozen=True, slots=True)
class Nvlink:
    """The NVLinks of an accelerator."""

    generation: int
    links: int
    """NVLinks of each accelerator."""
    switches: str
    """``node``: NVLink switches in the node; ``domain``: switch trays shared by several nodes."""
    domain_gpus: int | None = None
    """The most accelerators joined by switch trays; None if unknown."""


@dataclass(frozen=True, slots=True)
class Gpus:
    """The accelerators of a node: number, model, memory of each, and name in NVML, None if unknown.

    ``peak_tflops`` is the peak of each by number format, in 10^12 operations a second.
    """

    count: int
    model: str
    memory_gb: int
    nvml_name: str | None = None
    nvlink: Nvlink | None = None
    """None without NVLink, or if only ``pcie`` counts the links."""
    vendor: str | None = None
    """A file of inventory/accelerators; None if the model's name identifies the vendor."""
    peak_tflops: Annotated[tuple[tuple[str, float], ...], Key("peak", "tflops"), By(_by_format)] = ()


@dataclass(frozen=True, slots=True)
class Host:
    """The processors and memory of a node; ``memory_gb`` in powers of ten, ``arch`` None if unknown."""

    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_gb: int
    arch: str | None = None


@dataclass(frozen=True, slots=True)
class PartCounts:
    """Numbers of parts for a node's check; None if unknown."""

    power_supplies: int | None
    power_supply_sensors: int | None
    """Sensors of each power supply in the BMC's list."""
    memory_modules: int | None
    disks: int | None
    """NVMe controllers."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """Identification of a processor: CPUID on x86_64; others have only an architecture."""

    arch: str
    vendor: str | None
    family: int | None
    model: int | None


@dataclass(frozen=True, slots=True)
class Pcie:
    """Placement of a node's GPUs on PCI.

    ``numa_cpus`` are the hardware threads of each NUMA node (``0-55,112-167``), ``gpus`` the PCI address of each GPU by
    local index. ``gpus_per_switch`` GPUs, each with its NIC, share one PCI switch; each GPU has ``nvlinks`` NVLinks to
    NVLink switches.
    """

    cpu: Cpu
    numa_cpus: tuple[str, ...]
    link_speed_gts: float
    link_width: int
    gpus: tuple[str, ...]
    gpus_per_switch: int
    nvlinks: int


@dataclass(frozen=True, slots=True)
class Chips:
    """The switch chips inside a director: a two-level Clos of its own, visible to the subnet manager.

    ``leaves`` chips carry ``external`` front ports each and one internal link to every one of ``spines`` chips. They
    stand on ``modules`` boards, the same number on each; each spine chip has a separate board.
    """

    leaves: int
    external: int
    spines: int
    modules: int

    @classmethod
    def read(cls, typing: Structuring, data: Mapping[str, Any], path: Path) -> Chips:
        """Read the chips; by default every leaf chip has a separate board."""
        return typing.fields(cls, {"modules": data["leaves"], **data}, path)


@dataclass(frozen=True, slots=True)
class Buffer:
    """The packet buffer of a switch, divided into cells of ``cell_bytes``.

    ``pool_cells`` is the limit of one pool of shared memory and headroom, if it is lower than all cells.
    """

    size_bytes: Annotated[int, Key("bytes")]
    cell_bytes: int
    pool_cells: int

    @classmethod
    def read(cls, typing: Structuring, data: Mapping[str, Any], path: Path) -> Buffer:
        """Read a buffer; by default a pool may have every cell."""
        return typing.fields(cls, {"pool_cells": data["bytes"] // data["cell_bytes"], **data}, path)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.size_bytes // self.cell_bytes


@dataclass(frozen=True, slots=True)
class HardwareModel:
    """One entry of the catalogue."""

    name: str
    kind: str
    manufacturer: str
    part: str
    technology: tuple[str, ...]
    network_os: str | None
    """``eos``, ``fboss``, ``mlnx-os``, ... or ``unmanaged``; None for nodes and storage."""
    platform: str | None
    """The machine in the network OS."""
    asic: str | None
    """The switch chip (``tomahawk4``)."""
    units: Annotated[float, Key("units", "value")]
    """Height in rack units; 0 for a device with its own cabinet."""
    power_w: Annotated[int, Key("power_w", "value")]
    weight_kg: Annotated[float, Key("weight_kg", "value")]
    blocks: tuple[PortBlock, ...]
    management: Annotated[tuple[OutOfBandPort, ...], one_or_several(OutOfBandPort)]
    """Its out-of-band ports, the first of which is used by other devices; empty without one."""
    nic_groups: Annotated[tuple[NicGroup, ...], Key("nics")]
    gpus: Gpus | None
    chips: Chips | None
    assumed: tuple[str, ...]
    """Figures without a source, each as ``figure: reason``."""
    capacity_tb: Annotated[float, Key("capacity_tb", "value")] = 0
    """Usable storage of one device."""
    buffer: Buffer | None = None
    macsec: Annotated[tuple[str, ...], Key("macsec", "ciphers")] = ()
    """Cipher suites of its ports."""
    host: Host | None = None
    parts: PartCounts | None = None
    pcie: Pcie | None = None
    platform_ports: MachinePorts | None = None
    """The network OS's names of its ports; None if unknown."""
    planes: Annotated[int, Key("planes", "value")] = 1
    """Separate networks inside a switch, each with a part of every port; the plan counts them as one."""
    release: str | None = None
    """The release of the network OS; None if tiers or the system set it."""

    @property
    def has_power(self) -> bool:
        """True if its power is known: 0 W is a figure of a device that only passes power on."""
        return self.power_w > 0 or self.kind == DEVICE

    @property
    def nics(self) -> tuple[Nic, ...]:
        """NICs of all groups."""
        return tuple(chain.from_iterable(group.nics for group in self.nic_groups))

    @property
    def port_modes(self) -> tuple[PortMode, ...]:
        """Modes of all blocks."""
        return tuple(chain.from_iterable(block.modes for block in self.blocks))

    @property
    def port_names(self) -> frozenset[str]:
        """Names of all ports: of cages in every mode, of NICs, and of management ports."""
        names = {nic.interface for nic in self.nics}
        names.update(self.management_names)
        for block in self.blocks:
            for mode in block.modes:
                names.update(block.port_names(mode))
        return frozenset(names)

    @property
    def management_names(self) -> tuple[str, ...]:
        """Names of the out-of-band ports."""
        return tuple(port.name for port in self.management)

    @property
    def arch(self) -> str | None:
        """The architecture of a node's processors, ``x86_64``, ``arm64`` or ``ppc64``; None if unknown."""
        if self.host is not None and self.host.arch is not None:
            return self.host.arch
        return self.pcie.cpu.arch if self.pcie is not None else None

    @property
    def runs_images(self) -> bool:
        """Whether nodes can run images, built for x86_64; true for an unknown architecture."""
        return self.arch in (None, IMAGE_ARCH)

    @property
    def nvlink_domain_nodes(self) -> int | None:
        """Number of nodes with common NVLink switch trays; None for nodes with switches inside, or without NVLink."""
        nvlink = self.gpus.nvlink if self.gpus is not None else None
        if self.gpus is None or nvlink is None or nvlink.domain_gpus is None:
            return None
        return nvlink.domain_gpus // self.gpus.count

    @property
    def nvlinks(self) -> int:
        """NVLinks of each GPU."""
        if self.gpus is not None and self.gpus.nvlink is not None:
            return self.gpus.nvlink.links
        return self.pcie.nvlinks if self.pcie is not None else 0

    def platform_port(self, name: str, mode: PortMode | None) -> PlatformPort:
        """The network OS's name of the port ``name`` in a mode. Raises PlatformPortError if it is unknown."""
        if self.platform_ports is None:
            of = f"the platform {self.platform}" if self.platform else "a model without `platform`"
            raise PlatformPortError(
                f"{self.network_os} knows ports by more than their names, and nothing is known of {of}; name a"
                " platform of the catalogue, or its vendor's files under `platform_file`"
            )
        return self.platform_ports.port(name, mode)

    def nic_group(self, name: str) -> NicGroup | None:
        """The NIC group ``name``, or None."""
        for group in self.nic_groups:
            if group.name == name:
                return group
        return None

    def block(self, name: str) -> PortBlock | None:
        """The port block ``name``, or None."""
        for block in self.blocks:
            if block.name == name:
                return block
        return None


Catalogue = Mapping[str, HardwareModel]
