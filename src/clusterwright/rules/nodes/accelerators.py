"""CW356 to CW358, CW428, CW439 and CW440: GPU drivers and services, by vendor."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.gpu_services import (
    all_packages_named,
    driven_vendor,
    fabric_managers,
    gpu_driver,
    gpu_vendor,
    metrics_units,
)
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.accelerators import (
    BY_NODE_WITH_NVLSM,
    FabricManager,
    Vendor,
    fabric_manager_of,
    is_fabric_manager_known,
    runs_fabric_manager,
)
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.image import Driver, Image
from clusterwright.spec.model import ClusterSpec, NodeGroup


@rule("CW356", Severity.WARNING)
def gpus_without_driver(subject: Subject) -> Iterator[Problem]:
    """Images of nodes with GPUs without a GPU driver."""
    for image, groups in _images_with_gpus(subject.spec):
        if driven_vendor(image) is not None or image.driver_by_site is not None or image.is_existing:
            continue
        group = groups[0]
        vendor = gpu_vendor(group.model, image)
        if vendor is not None:
            whose, hint = vendor.title, f"Add it to `drivers`, with `modules: [{vendor.modules[0]}]`."
        else:
            whose = "their vendor"
            hint = f"State their vendor (`gpus.vendor` of {group.model.name}), and add their driver to `drivers`."
        message = f"Nodes of {group.name} have GPUs, and {image.name} does not install the driver of {whose}."
        path = (*image.path, "drivers") if "drivers" in subject.spec.document.at(image.path) else (*image.path, "name")
        yield Problem(path, message, hint)


@rule("CW357", Severity.ERROR)
def unwritten_accelerators(subject: Subject) -> Iterator[Problem]:
    """GPUs without support, drivers of another vendor, and containers without device files."""
    for image, groups in _images_with_gpus(subject.spec):
        driver, driven = gpu_driver(image), driven_vendor(image)
        for group in groups:
            vendor = gpu_vendor(group.model, image)
            if vendor is None:
                continue
            if vendor.unwritten:
                lacking = ", ".join(vendor.unwritten)
                message = f"Nothing is written for {vendor.title}'s GPUs of {group.model.name}: {lacking}."
                hint = "Choose another model, or give these nodes no `image` of this spec."
                yield Problem((*group.path, "model"), message, hint)
            if driver is not None and driven is not None and driven is not vendor:
                message = f"{driver.name} is {driven.title}'s driver, and {group.name} has {vendor.title}'s GPUs."
                yield Problem((*driver.path, "modules"), message, "Give these nodes an image of their own.")
            yield from _containers(image, vendor)


def _containers(image: Image, vendor: Vendor) -> Iterator[Problem]:
    """Device files missing in containers, for a vendor without a program adding them."""
    if image.containers is None:
        return
    missing = [device for device in vendor.container_devices if device not in image.containers.devices]
    if missing:
        names = ", ".join(missing)
        message = f"Containers see {vendor.title}'s GPUs by device files, and {names} are not among theirs."
        yield Problem((*image.containers.path, "devices"), message, f"Add {names}.")


@rule("CW358", Severity.WARNING)
def missing_topology(subject: Subject) -> Iterator[Problem]:
    """`topology_file` for nodes of a model without a topology."""
    spec = subject.spec
    for nccl in spec.nccl_profiles:
        if not nccl.topology_file:
            continue
        for group in spec.node_groups:
            if group.name not in nccl.nodes or group.model.gpus is None:
                continue
            vendor = gpu_vendor(group.model, spec.image(group.image or ""))
            if group.model.pcie is None:
                reason = "the catalogue has no `pcie` of it"
            elif vendor is not None and not vendor.topology_file:
                reason = f"{vendor.title}'s library reads another format"
            else:
                continue
            message = f"No topology file is rendered for {group.model.name} of {group.name}: {reason}."
            hint = "Describe `pcie` in the catalogue, or write `topology_file: false`: the library then detects it."
            yield Problem((*nccl.path, "topology_file"), message, hint)


@rule("CW439", Severity.ERROR)
def fabric_manager(subject: Subject) -> Iterator[Problem]:
    """Images for GPUs behind NVSwitches: a fabric manager of the driver's version, and its dependencies."""
    for image, groups in _images_with_gpus(subject.spec):
        driver, vendor = gpu_driver(image), driven_vendor(image)
        if driver is None or vendor is None or vendor.fabric_manager is None:
            continue
        models = [group.model for group in groups if runs_fabric_manager(group.model)]
        if models:
            yield from _versions(image, driver, vendor.fabric_manager, models[0])
        with_nvlsm = [model for model in models if fabric_manager_of(model) == BY_NODE_WITH_NVLSM]
        if with_nvlsm:
            yield from _subnet_manager(image, driver, vendor.fabric_manager, with_nvlsm[0])
        for group in groups:
            if not is_fabric_manager_known(group.model):
                message = f"Whether nodes configure the NVSwitches of {group.model.name} is not known."
                hint = "Write `nvlink: {generation: ..., links: ..., switches: ...}` under `gpus` of the model."
                yield Problem((*group.path, "model"), message, hint)


def _versions(image: Image, driver: Driver, manager: FabricManager, model: HardwareModel) -> Iterator[Problem]:
    path, packages = (*driver.path, "packages"), fabric_managers(image, manager)
    fix = f"Install it in version {driver.version}."
    if not packages:
        message = f"GPUs of {model.name} are connected by NVSwitches, and {image.name} installs no fabric manager."
        yield Problem(path, message, fix)
    for package in packages:
        if package.version is None or package.version.split("-")[0] != driver.version:
            held = f"is of version {package.version}" if package.version is not None else "may be of any version"
            yield Problem(path, f"{package.name} {held}, and the driver is {driver.version}.", fix)


def _subnet_manager(image: Image, driver: Driver, manager: FabricManager, model: HardwareModel) -> Iterator[Problem]:
    """NVLink's subnet manager, required by the fabric manager of newer NVSwitches."""
    path, wanted = (*driver.path, "packages"), manager.subnet_manager
    if all(package.name != wanted for package in all_packages_named(image)):
        message = f"The fabric manager of {model.name} starts NVLink's subnet manager, which {image.name} lacks."
        yield Problem(path, message, f"Add {wanted}.")
    missing = [module for module in manager.modules if module not in image.modules]
    if missing:
        names = ", ".join(missing)
        message = f"NVLink's subnet manager of {model.name} needs {names}, which {image.name} does not load."
        yield Problem(path, message, f"Add {names} to `modules` of the image.")


@rule("CW428", Severity.WARNING)
def fabric_manager_of_others(subject: Subject) -> Iterator[Problem]:
    """Images with a fabric manager for nodes with their NVSwitches set up elsewhere."""
    for image, groups in _images_with_gpus(subject.spec):
        driver, vendor = gpu_driver(image), driven_vendor(image)
        if driver is None or vendor is None or vendor.fabric_manager is None:
            continue
        packages = fabric_managers(image, vendor.fabric_manager)
        if not packages or any(runs_fabric_manager(group.model) for group in groups):
            continue
        group = groups[0]
        where = "in its switch trays" if group.model.nvlinks else "nowhere: it has no NVSwitches"
        message = f"{packages[0].name} does nothing on {group.model.name}, whose fabric manager runs {where}."
        yield Problem((*driver.path, "packages"), message, "Remove it: its unit is not started.")


@rule("CW440", Severity.ERROR)
def metrics_without_gpus(subject: Subject) -> Iterator[Problem]:
    """Images with `gpu_metrics` without a GPU driver, or without nodes with GPUs."""
    for image in subject.spec.images:
        if image.gpu_metrics is None:
            continue
        groups = [group for group in subject.spec.node_groups if group.image == image.name]
        path = (*image.path, "gpu_metrics")
        driver, vendor = gpu_driver(image), driven_vendor(image)
        if driver is None or vendor is None:
            message = f"{image.name} installs no driver with the module nvidia, which DCGM needs."
            yield Problem(path, message, "Add the driver to `drivers`, or remove `gpu_metrics`.", key=True)
        elif not metrics_units(image):
            message = f"DCGM does not read {vendor.title}'s GPUs, whose driver {image.name} installs."
            yield Problem(path, message, "Remove `gpu_metrics`.", key=True)
        elif groups and all(group.model.gpus is None for group in groups):
            yield Problem(path, f"No node that runs {image.name} has GPUs.", "Remove `gpu_metrics`.", key=True)


def _images_with_gpus(spec: ClusterSpec) -> Iterator[tuple[Image, list[NodeGroup]]]:
    """Images, each with its node groups with GPUs."""
    for image in spec.images:
        groups = [group for group in spec.node_groups if group.image == image.name and group.model.gpus is not None]
        if groups:
            yield image, groups
