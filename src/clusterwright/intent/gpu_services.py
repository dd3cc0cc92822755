"""Services on nodes with GPUs: those of the driver, metrics, and the containers' view."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

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
    """The GPU driver in an image, of any vendor."""
    for driver in image.drivers:
        if any(vendor_of_module(module) is not None for module in driver.modules):
            return driver
    return None


def driven_vendor(image: Image) -> Vendor | None:
    """The vendor of an image's GPU driver."""
    for driver in image.drivers:
        for module in driver.modules:
            vendor = vendor_of_module(module)
            if vendor is not None:
                return vendor
    return None


def gpu_vendor(model: HardwareModel, image: Image | None) -> Vendor | None:
    """The vendor of a model's GPUs: by the catalogue, else by the image's driver; None without both."""
    if model.gpus is None:
        return None
    by_name = vendor_of(model.gpus)
    if by_name is not None or image is None:
        return by_name
    return driven_vendor(image)


def all_packages_named(image: Image) -> tuple[Package, ...]:
    """The packages named by a spec for an image: those of drivers and its own."""
    return (*chain.from_iterable(driver.packages for driver in image.drivers), *image.packages)


def fabric_managers(image: Image, manager: FabricManager) -> tuple[Package, ...]:
    """An image's packages of fabric managers."""
    name = re.compile(manager.packages)
    return tuple(package for package in all_packages_named(image) if name.fullmatch(package.name))


def memory_exchange(group: NodeGroup, image: Image | None) -> MemoryExchange | None:
    """The service for shared memory in an NVLink domain (IMEX); None for a group without a domain."""
    if group.nvlink_domain is None:
        return None
    vendor = gpu_vendor(group.model, image)
    return vendor.memory_exchange if vendor is not None else None


def memory_exchanges(image: Image, exchange: MemoryExchange) -> tuple[Package, ...]:
    """An image's packages of that service."""
    name = re.compile(exchange.packages)
    return tuple(package for package in all_packages_named(image) if name.fullmatch(package.name))


def sees_gpus_in_containers(image: Image, runtime: str) -> bool:
    """Whether a program of the vendor shows containers of ``runtime`` their GPUs."""
    vendor = driven_vendor(image)
    is_started = image.containers is not None and image.containers.runtime == runtime
    return is_started and vendor is not None and vendor.container_toolkit


def uses_enroot(image: Image) -> bool:
    """Whether enroot can start containers: as the image's runtime, or by a package beside podman."""
    is_runtime = image.containers is not None and image.containers.runtime == ENROOT
    return is_runtime or any(package.name.startswith("enroot") for package in image.packages)


def metrics_units(image: Image) -> tuple[str, ...]:
    """The units for GPU metrics, if the image brings them and their driver."""
    vendor = driven_vendor(image)
    if image.gpu_metrics is None or vendor is None:
        return ()
    return vendor.metrics_units


def gpu_units(image: Image, groups: Iterable[NodeGroup]) -> Iterator[str]:
    """The units started at boot on nodes of ``groups`` for GPUs and containers, by the image's packages."""
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
