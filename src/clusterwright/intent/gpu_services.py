"""What runs beside jobs on nodes with GPUs: what their driver asks for, metrics, and what containers see of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clusterwright.spec.hardware.accelerators import (
    FabricManager,
    MemoryExchange,
    Vendor,
    runs_fabric_manager,
    vendor_of,
    vendor_of_module,
)
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.image import Driver, Image, Package
from clusterwright.spec.model import NodeGroup

CONTAINER_DEVICES, ENROOT_FOLDERS = "nvidia-cdi.service", "enroot-folders.service"
PODMAN, ENROOT = "podman", "enroot"


def gpu_driver(image: Image) -> Driver | None:
    """The driver of GPUs that an image brings, of whichever vendor."""
    for driver in image.drivers:
        if any(vendor_of_module(module) is not None for module in driver.modules):
            return driver
    return None


def driven_vendor(image: Image) -> Vendor | None:
    """The vendor of whose GPUs an image brings the driver."""
    for driver in image.drivers:
        for module in driver.modules:
            vendor = vendor_of_module(module)
            if vendor is not None:
                return vendor
    return None


def gpu_vendor(model: HardwareModel, image: Image | None) -> Vendor | None:
    """The vendor of a model's GPUs: by the catalogue, or else by the driver of the image; None where neither tells."""
    if model.gpus is None:
        return None
    by_name = vendor_of(model.gpus)
    if by_name is not None or image is None:
        return by_name
    return driven_vendor(image)


def all_packages_named(image: Image) -> tuple[Package, ...]:
    """The packages that a spec names for an image: those of drivers and its own."""
    return (*(package for driver in image.drivers for package in driver.packages), *image.packages)


def fabric_managers(image: Image, manager: FabricManager) -> tuple[Package, ...]:
    """The packages of an image that are fabric managers."""
    name = re.compile(manager.packages)
    return tuple(package for package in all_packages_named(image) if name.fullmatch(package.name))


def memory_exchange(group: NodeGroup, image: Image | None) -> MemoryExchange | None:
    """The service by which nodes of a group share memory inside their NVLink domain; None where they have no domain."""
    if group.nvlink_domain is None:
        return None
    vendor = gpu_vendor(group.model, image)
    return vendor.memory_exchange if vendor is not None else None


def memory_exchanges(image: Image, exchange: MemoryExchange) -> tuple[Package, ...]:
    """The packages of an image that hold that service."""
    name = re.compile(exchange.packages)
    return tuple(package for package in all_packages_named(image) if name.fullmatch(package.name))


def sees_gpus_in_containers(image: Image, runtime: str) -> bool:
    """Whether a program of the vendor shows containers of ``runtime`` their GPUs."""
    vendor = driven_vendor(image)
    is_started = image.containers is not None and image.containers.runtime == runtime
    return is_started and vendor is not None and vendor.container_toolkit


def uses_enroot(image: Image) -> bool:
    """Whether containers are started by enroot, or can be: beside podman it is a package of the image."""
    chosen = image.containers is not None and image.containers.runtime == ENROOT
    return chosen or any(package.name.startswith("enroot") for package in image.packages)


def metrics_units(image: Image) -> tuple[str, ...]:
    """The units that tell what GPUs do, where the image brings them and their driver."""
    vendor = driven_vendor(image)
    return vendor.metrics_units if image.gpu_metrics is not None and vendor is not None else ()


def gpu_units(image: Image, groups: Iterable[NodeGroup]) -> Iterator[str]:
    """The units that start at boot on nodes of ``groups`` for their GPUs and containers, by what the image brings."""
    groups = tuple(groups)
    exchanges = (memory_exchange(group, image) for group in groups)
    yield from dict.fromkeys(exchange.unit for exchange in exchanges if exchange is not None)
    if image.containers is not None and image.containers.runtime == ENROOT:
        yield ENROOT_FOLDERS
    vendor = driven_vendor(image)
    if vendor is None:
        return
    if vendor.fabric_manager is not None and any(runs_fabric_manager(group.model) for group in groups):
        yield vendor.fabric_manager.unit
    yield from metrics_units(image)
    if sees_gpus_in_containers(image, PODMAN):
        yield CONTAINER_DEVICES
