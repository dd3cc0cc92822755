"""What runs beside jobs on nodes with GPUs: what their driver asks for, metrics, and what containers see of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.image import Driver, Image, Package

FABRIC_MANAGER = "nvidia-fabricmanager.service"
CONTAINER_DEVICES, ENROOT_FOLDERS = "nvidia-cdi.service", "enroot-folders.service"
# NVIDIA's DCGM and dcgm-exporter repositories: packaging/config-files/systemd.
METRICS = ("nvidia-dcgm.service", "nvidia-dcgm-exporter.service")
PODMAN, ENROOT = "podman", "enroot"
# As Debian's, Ubuntu's and Red Hat's repositories of NVIDIA call it, up to R570 with the branch of the driver.
_FABRIC_MANAGER = re.compile(r"nvidia-fabric-?manager(-\d+)?")


def gpu_driver(image: Image) -> Driver | None:
    """The driver of NVIDIA's GPUs that an image brings."""
    return next((driver for driver in image.drivers if "nvidia" in driver.modules), None)


def fabric_managers(image: Image) -> tuple[Package, ...]:
    """The packages of an image that are fabric managers."""
    packages = (*(package for driver in image.drivers for package in driver.packages), *image.packages)
    return tuple(package for package in packages if _FABRIC_MANAGER.fullmatch(package.name))


def sees_gpus_in_containers(image: Image, runtime: str) -> bool:
    """Whether containers of ``runtime`` are to see GPUs."""
    return image.containers is not None and image.containers.runtime == runtime and gpu_driver(image) is not None


def uses_enroot(image: Image) -> bool:
    """Whether containers are started by enroot, or can be: beside podman it is a package of the image."""
    chosen = image.containers is not None and image.containers.runtime == ENROOT
    return chosen or any(package.name.startswith("enroot") for package in image.packages)


def gpu_units(image: Image, models: Iterable[HardwareModel]) -> Iterator[str]:
    """The units that start at boot on nodes of ``models`` for their GPUs and containers, by what the image brings."""
    if image.containers is not None and image.containers.runtime == ENROOT:
        yield ENROOT_FOLDERS
    if gpu_driver(image) is None:
        return
    if any(model.has_nvlink_switches for model in models):
        yield FABRIC_MANAGER
    if image.gpu_metrics is not None:
        yield from METRICS
    if sees_gpus_in_containers(image, PODMAN):
        yield CONTAINER_DEVICES
