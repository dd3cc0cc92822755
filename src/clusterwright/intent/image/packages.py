"""Packages of an image: the spec's own, and those of the rendered files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from clusterwright.intent.gpu_services import ENROOT, PODMAN, sees_gpus_in_containers
from clusterwright.intent.image.mounts import mounts_of, options_of
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.scheduling import is_controller, keeps_accounts, slurm_of_login, works_for_slurm
from clusterwright.plan.model import Plan
from clusterwright.spec.distribution import Distribution, SlurmPackages, slurm_number
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.image import Image, Package
from clusterwright.spec.model import Mount


def all_packages(plan: Plan, image: Image, distribution: Distribution) -> tuple[Package, ...]:
    """The packages of an image by name: kernel, rendered files', drivers', and the spec's own.

    A version fixed by the spec also holds for a package needed by rendered files.
    """
    kernel = image.kernel or Package(distribution.family.kernel.package, None)
    packages = {package.name: package for package in _needed(plan, image, distribution, kernel)}
    drivers = chain.from_iterable(driver.packages for driver in image.drivers)
    metrics = image.gpu_metrics.packages if image.gpu_metrics is not None else ()
    for package in (kernel, *drivers, *metrics, *image.packages):
        packages[package.name] = package
    return tuple(packages[name] for name in sorted(packages))


def installed(package: Package, distribution: Distribution) -> str:
    """A package as apt (``name=version``) or dnf (``name-version``) is asked for it."""
    if package.version is None:
        return package.name
    separator = "-" if distribution.family.package_program == "dnf" else "="
    return f"{package.name}{separator}{package.version}"


def groups_of(plan: Plan, image: str) -> tuple[str, ...]:
    """The node groups with nodes of ``image``, in plan order."""
    return tuple(dict.fromkeys(device.node_group for device in plan.devices if device.image == image))


def has_direct_paths(plan: Plan, image: str) -> bool:
    """True for an image of nodes with GPUs and RDMA adapters connected over PCIe."""
    rdma_fabrics = [fabric for fabric in plan.spec.fabrics if fabric.technology != "ethernet"]
    attachments = chain.from_iterable(fabric.attach for fabric in rdma_fabrics)
    groups_on_rdma = {attach.nodes for attach in attachments}
    for name in groups_of(plan, image):
        group = plan.spec.node_group(name)
        if group is not None and group.model.gpus is not None and name in groups_on_rdma:
            return True
    return False


@per_plan
def package_needs(plan: Plan, image_name: str) -> tuple[str, ...]:
    """Functions of an image's nodes with packages or kernel settings, by the names of inventory/distributions."""
    spec = plan.spec
    groups = groups_of(plan, image_name)
    mounts: list[Mount] = []
    for group in groups:
        mounts.extend(mount for mount in mounts_of(plan, group) if mount.type.startswith("nfs"))
    fabrics = [fabric for fabric in spec.fabrics if not _attached_groups(fabric).isdisjoint(groups)]
    managers = [fabric.subnet_manager.nodes for fabric in spec.fabrics if fabric.subnet_manager]
    image = spec.image(image_name)
    boots = spec.boot is not None and spec.boot.servers in groups
    runtime = image.containers.runtime if image is not None and image.containers is not None else None
    boot_version = spec.boot_network[1].hosts.version if spec.boot_network is not None else 0
    devices = [device for device in plan.devices if device.image == image_name]
    models = [spec.catalogue[name] for name in {device.model for device in devices}]
    wanted = {
        "time": bool(spec.site.ntp),
        "names": bool(spec.site.dns),
        "logs": bool(spec.site.syslog),
        "verbs": any(fabric.technology != "ethernet" for fabric in fabrics),
        "nfs": bool(mounts),
        "nfs-tls": any("xprtsec=" in options_of(mount) for mount in mounts),
        "jobs": any(works_for_slurm(plan, group) for group in groups),
        "jobs-controller": any(is_controller(plan, device) for device in devices),
        "jobs-accounting": any(keeps_accounts(plan, device) for device in devices),
        "jobs-login": any(slurm_of_login(spec, group) is not None for group in groups),
        "pmix": any(works_for_slurm(plan, group) or slurm_of_login(spec, group) is not None for group in groups),
        "built-drivers": image is not None and any(driver.is_built for driver in image.drivers),
        "kernel-parameters": image is not None and bool(image.kernel_parameters),
        "administrators": image is not None and any(user.becomes_root for user in image.users),
        "direct-paths": has_direct_paths(plan, image_name),
        "subnet-manager": any(name in groups for name in managers),
        "boot-server": boots,
        PODMAN: runtime == PODMAN,
        f"{PODMAN}-gpus": image is not None and sees_gpus_in_containers(image, PODMAN),
        ENROOT: runtime == ENROOT,
        f"{ENROOT}-gpus": image is not None and sees_gpus_in_containers(image, ENROOT),
        "disks": True,
        "power-supplies": any(bool(model.management) for model in models),
        "memory-modules": any(_counts_memory_modules(model) for model in models),
        "boot-server-4": boots and boot_version == 4,
        "boot-server-6": boots and boot_version == 6,
    }
    return tuple(need for need, is_wanted in wanted.items() if is_wanted)


def _attached_groups(fabric: Fabric) -> set[str | None]:
    return {attach.nodes for attach in fabric.attach}


def _counts_memory_modules(model: HardwareModel) -> bool:
    return model.parts is not None and model.parts.memory_modules is not None


def changed_slurm_number(plan: Plan, image: Image, distribution: Distribution) -> int | None:
    """New number of the user slurm after installation; None if packages take it, or without Slurm."""
    runs_slurm = any(need.startswith("jobs") for need in package_needs(plan, image.name))
    return slurm_number() if runs_slurm and distribution.family.slurm_number is None else None


def _needed(plan: Plan, image: Image, distribution: Distribution, kernel: Package) -> list[Package]:
    """The packages of rendered files and drivers, with versions from the spec's."""
    names = {*distribution.family.base}
    needs = package_needs(plan, image.name)
    for need in needs:
        names.update(distribution.packages_for(need))
    packages = list(_as_slurm_comes(names, image, distribution))
    headers = distribution.headers_of(kernel.name)
    if "built-drivers" in needs and headers is not None:
        packages.append(Package(headers, kernel.version))
    return packages


def _as_slurm_comes(names: Iterable[str], image: Image, distribution: Distribution) -> Iterator[Package]:
    """Packages by name; Slurm's by its maker's names if the image names one of these."""
    other = other_slurm(image, distribution)
    if other is None:
        yield from (Package(name, None) for name in names)
        return
    replacing_packages = set(chain.from_iterable(other.packages.values()))
    version = None
    for package in image.packages:
        if package.name in replacing_packages and package.version and version is None:
            version = package.version
    for name in names:
        if name not in other.packages:
            yield Package(name, None)
        for replacing in other.packages.get(name, ()):
            yield Package(replacing, version)


def other_slurm(image: Image, distribution: Distribution) -> SlurmPackages | None:
    """Maker of an image's Slurm packages, by their names; None for the distribution's."""
    named = {package.name for package in image.packages}
    for other in distribution.family.other_slurm:
        if any(not named.isdisjoint(names) for names in other.packages.values()):
            return other
    return None
