"""Vendors of accelerators, as data: one file of inventory/accelerators for each, every figure with its source.

Which driver, device files, services and programs go with an accelerator stands there. What a file leaves out is not
written for its vendor; nothing else asks for a vendor by its name.
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
    """Accelerators that are alike. ``fabric_manager`` says who sets up NVSwitches, None where there are none."""

    models: tuple[str, ...]
    fabric_manager: str | None
    fabric_state: bool


@dataclass(frozen=True, slots=True)
class FabricManager:
    """The service that sets up NVSwitches on nodes; ``packages`` is a pattern of its packages' names."""

    unit: str
    packages: str
    subnet_manager: Annotated[str, Key("subnet_manager", "package")]
    """NVLink's subnet manager, which it starts since the fourth generation of NVSwitches."""
    modules: Annotated[tuple[str, ...], Key("subnet_manager", "modules")]
    """Kernel modules that the subnet manager asks for."""


@dataclass(frozen=True, slots=True)
class MemoryExchange:
    """The service by which nodes of an NVLink domain share memory; ``packages`` is a pattern of its packages' names."""

    unit: str
    packages: str
    port: int
    """The TCP port that its instances meet at."""
    command_port: int
    """The TCP port at which an instance tells how it is."""


@dataclass(frozen=True, slots=True)
class DeviceFiles:
    """The device files of accelerators: ``before`` and a number, that of the first one ``first``."""

    before: str
    first: int


@dataclass(frozen=True, slots=True)
class FirstDriver:
    """The driver that a first spec names; ``fabric_manager`` is a package of the same version, None without one."""

    name: str
    version: str
    packages: tuple[str, ...]
    fabric_manager: str | None
    modules: tuple[str, ...]
    blacklist: tuple[str, ...]
    assumed: str


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor of accelerators: None, or an empty list, for what is not written for it."""

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
    """The same of some GPUs, whose numbers follow for ``{}``; None where it tells of all together alone."""
    node_check: str | None
    fatal_xids: Annotated[tuple[int, ...], Key("fatal_xids", "numbers")]
    """Numbers of the driver's messages that mean broken hardware."""
    topology_file: bool
    """Whether the topology that is rendered is in the form of its collective library."""
    job_environment: Annotated[Mapping[str, Text], Key("job_environment", "variables")]
    kubernetes_resource: Annotated[str | None, Key("kubernetes_resource", "name")]
    first_driver: FirstDriver | None

    @property
    def unwritten(self) -> tuple[str, ...]:
        """Software that a node with accelerators needs and that is not rendered."""
        wanted = {
            "their device files for Slurm": self.device_files,
            "who holds them after a job": self.held_by,
            "the node check": self.node_check,
            "their resource in Kubernetes": self.kubernetes_resource,
        }
        return tuple(words for words, value in wanted.items() if value is None)


@cache
def vendors() -> Mapping[str, Vendor]:
    """Every vendor that travels with the package, by name. Raises SpecError for a file that does not read."""
    by_name = {}
    for path in sorted((data_files.folder("inventory") / "accelerators").glob("*.yaml")):
        document = read_document(path)
        findings = check(document, "accelerator")
        if findings:
            raise SpecError(findings)
        by_name[document.data["name"]] = Structuring("accelerator").typed(Vendor, document.data, ())
    return MappingProxyType(by_name)


def vendor_of(gpus: Gpus) -> Vendor | None:
    """The vendor that a model of the catalogue names, or the one that has accelerators of this name; else None."""
    if gpus.vendor is not None:
        return vendors().get(gpus.vendor)
    for vendor in vendors().values():
        if _generation(vendor, gpus.model) is not None:
            return vendor
    return None


def vendor_of_module(module: str) -> Vendor | None:
    """The vendor whose drivers have a kernel module; None for one of something else."""
    for vendor in vendors().values():
        if module in vendor.modules:
            return vendor
    return None


def fabric_manager_of(model: HardwareModel) -> str | None:
    """Who sets up the NVSwitches of a model; None where it has none, or where that is not known."""
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
    """Whether it is known who sets up the NVSwitches of a model, or that it has none."""
    gpus = model.gpus
    if gpus is None or not model.nvlinks or gpus.nvlink is not None:
        return True
    return fabric_manager_of(model) is not None


def runs_fabric_manager(model: HardwareModel) -> bool:
    """Whether nodes of a model set up their NVSwitches themselves."""
    return fabric_manager_of(model) in (BY_NODE, BY_NODE_WITH_NVLSM)


def knows_fabric_state(model: HardwareModel) -> bool:
    """Whether the driver knows how far each accelerator of a model has joined the fabric of NVSwitches."""
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
