"""Vendors of accelerators, as data: one file of inventory/accelerators each, with the source of every figure.

The files have the driver, device files, services and programs of accelerators. Nothing is rendered for a missing entry;
no code depends on a vendor's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated

from clusterwright import data_files
from clusterwright.finding import SpecError
from clusterwright.spec.hardware.models import Gpus, HardwareModel
from clusterwright.spec.schema.check import check
from clusterwright.spec.structuring import Key, Structuring, Text
from clusterwright.spec.text.reader import read_document

BY_NODE, BY_NODE_WITH_NVLSM, BY_SWITCH_TRAYS = "node", "node-with-nvlsm", "switch-trays"
# Generations of NVLink: NVIDIA's Fabric Manager User Guide has NVLSM since the switches of B200, NVML the state of a
# fabric since Hopper.
_FIRST_WITH_NVLSM, _FIRST_WITH_STATE = 5, 4


@dataclass(frozen=True, slots=True)
class Generation:
    """Similar accelerators. ``fabric_manager`` is the place of the software for NVSwitches, None without NVSwitches."""

    models: tuple[str, ...]
    fabric_manager: str | None
    fabric_state: bool


@dataclass(frozen=True, slots=True)
class FabricManager:
    """The service for NVSwitches on nodes; ``packages`` is a pattern of its packages' names."""

    unit: str
    packages: str
    subnet_manager: Annotated[str, Key("subnet_manager", "package")]
    """NVLink's subnet manager, started by it since the fourth generation of NVSwitches."""
    modules: Annotated[tuple[str, ...], Key("subnet_manager", "modules")]
    """Kernel modules required by the subnet manager."""


@dataclass(frozen=True, slots=True)
class MemoryExchange:
    """The service for shared memory in an NVLink domain; ``packages`` is a pattern of its packages' names."""

    unit: str
    packages: str
    port: int
    """The TCP port between its instances."""
    command_port: int
    """The TCP port for status requests to an instance."""


@dataclass(frozen=True, slots=True)
class DeviceFiles:
    """The device files of accelerators: ``before`` and a number, starting with ``first``."""

    before: str
    first: int


@dataclass(frozen=True, slots=True)
class FirstDriver:
    """The driver of a first spec; ``fabric_manager`` is a package of the same version, None without one."""

    name: str
    version: str
    packages: tuple[str, ...]
    fabric_manager: str | None
    modules: tuple[str, ...]
    blacklist: tuple[str, ...]
    assumed: str


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor of accelerators; None, or an empty list, for missing entries."""

    name: str
    title: str
    modules: tuple[str, ...]
    generations: tuple[Generation, ...]
    fabric_manager: FabricManager | None
    memory_exchange: MemoryExchange | None
    device_files: DeviceFiles | None
    persistence_unit: str | None
    container_toolkit: bool
    container_devices: tuple[str, ...]
    metrics_units: tuple[str, ...]
    held_by: Annotated[str | None, Key("held_by", "command")]
    held_on: Annotated[str | None, Key("held_by", "command_of_gpus")]
    """The same for some GPUs, with their numbers in place of ``{}``; None if it reports only on all together."""
    node_check: str | None
    fatal_xids: Annotated[tuple[int, ...], Key("fatal_xids", "numbers")]
    """Numbers of the driver's messages about broken hardware."""
    topology_file: bool
    """True if the rendered topology has the form of its collective library."""
    job_environment: Annotated[Mapping[str, Text], Key("job_environment", "variables")]
    kubernetes_resource: Annotated[str | None, Key("kubernetes_resource", "name")]
    first_driver: FirstDriver | None

    @property
    def unwritten(self) -> tuple[str, ...]:
        """Required software for nodes with accelerators that is not rendered."""
        wanted = {
            "their device files for Slurm": self.device_files,
            "who holds them after a job": self.held_by,
            "the node check": self.node_check,
            "their resource in Kubernetes": self.kubernetes_resource,
        }
        return tuple(words for words, value in wanted.items() if value is None)


@cache
def vendors() -> Mapping[str, Vendor]:
    """Every vendor in the package's data, by name. Raises SpecError for an invalid file."""
    by_name = {}
    for path in sorted((data_files.folder("inventory") / "accelerators").glob("*.yaml")):
        document = read_document(path)
        findings = check(document, "accelerator")
        if findings:
            raise SpecError(findings)
        by_name[document.data["name"]] = Structuring("accelerator").typed(Vendor, document.data, ())
    return MappingProxyType(by_name)


def vendor_of(gpus: Gpus) -> Vendor | None:
    """The vendor named by the catalogue, or one with accelerators of this name; else None."""
    if gpus.vendor is not None:
        return vendors().get(gpus.vendor)
    for vendor in vendors().values():
        if _generation(vendor, gpus.model) is not None:
            return vendor
    return None


def vendor_of_module(module: str) -> Vendor | None:
    """The vendor of a kernel module; None for one of something else."""
    for vendor in vendors().values():
        if module in vendor.modules:
            return vendor
    return None


def fabric_manager_of(model: HardwareModel) -> str | None:
    """The place of the software for a model's NVSwitches; None without NVSwitches, or if it is unknown."""
    gpus = model.gpus
    if gpus is None or not model.nvlinks:
        return None
    if gpus.nvlink is None:
        generation = _generation_of(gpus)
        return generation.fabric_manager if generation is not None else None
    if gpus.nvlink.switches == "domain":
        return BY_SWITCH_TRAYS
    if gpus.nvlink.switches != "node":
        return None
    return BY_NODE_WITH_NVLSM if gpus.nvlink.generation >= _FIRST_WITH_NVLSM else BY_NODE


def is_fabric_manager_known(model: HardwareModel) -> bool:
    """Whether ``fabric_manager_of`` has a definite answer, including models without NVSwitches."""
    gpus = model.gpus
    if gpus is None or not model.nvlinks or gpus.nvlink is not None:
        return True
    return fabric_manager_of(model) is not None


def runs_fabric_manager(model: HardwareModel) -> bool:
    """True if nodes of a model set up their NVSwitches themselves."""
    return fabric_manager_of(model) in (BY_NODE, BY_NODE_WITH_NVLSM)


def knows_fabric_state(model: HardwareModel) -> bool:
    """True if the driver reports the state of each accelerator in the fabric of NVSwitches."""
    if model.gpus is None or fabric_manager_of(model) is None:
        return False
    if model.gpus.nvlink is not None:
        return model.gpus.nvlink.generation >= _FIRST_WITH_STATE
    generation = _generation_of(model.gpus)
    return generation is not None and generation.fabric_state


def _generation_of(gpus: Gpus) -> Generation | None:
    vendor = vendor_of(gpus)
    return _generation(vendor, gpus.model) if vendor is not None else None


def _generation(vendor: Vendor, model: str) -> Generation | None:
    for generation in vendor.generations:
        for name in generation.models:
            if re.match(rf"{re.escape(name)}(?![A-Za-z0-9])", model, re.IGNORECASE):
                return generation
    return None
